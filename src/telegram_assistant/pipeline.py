"""All stages, in the order of the flow. A new stage is its file, its test, and an entry here.

landing -> outbox -> posts.parsed -> post_persistence
                                  -> tagging -> posts.tagged -> tag_persistence
            posts.vision.analyzed -> retagging ----^         -> crawl_trigger -> posts.enriched
                                      or, with links to read, -> posts.crawl -> enrichment -> posts.enriched
files   -> notices -> posts.vision.uploaded -> vision_analysis -> posts.vision.analyzed
albums  -> notices -> albums.parsed, posts.vision.analyzed -> album_assembler -> album.assembled
posts.enriched, album.assembled -> indexing -> posts.indexed -> stories -> posts.grouped -> alerts
                                                                        -> stories.changed
                                                             -> graph_indexing, if there is a graph
held by stories -> notices -> posts.grouped
"""

from telegram_assistant.settings import Settings
from telegram_assistant.stages.album_assembler import album_assembler
from telegram_assistant.stages.alerts import alerts
from telegram_assistant.stages.crawl_trigger import crawl_trigger
from telegram_assistant.stages.enrichment import enrichment
from telegram_assistant.stages.graph_indexing import graph_indexing
from telegram_assistant.stages.indexing import indexing
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stages.retagging import retagging
from telegram_assistant.stages.stories import stories
from telegram_assistant.stages.tag_persistence import tag_persistence
from telegram_assistant.stages.tagging import tagging
from telegram_assistant.stages.vision_analysis import vision_analysis
from telegram_assistant.streams.stage import AnyStage

PIPELINE: tuple[AnyStage, ...] = (
    post_persistence,
    vision_analysis,
    tagging,
    retagging,
    tag_persistence,
    crawl_trigger,
    enrichment,
    album_assembler,
    indexing,
    stories,
    alerts,
)

WITH_GRAPH: tuple[AnyStage, ...] = (*PIPELINE, graph_indexing)

ENDS: tuple[AnyStage, ...] = (post_persistence, indexing, stories, alerts)
"""The last stages of the flow's branches. A post's row leaves the outbox when it has passed all of these."""


def stages_of(settings: Settings) -> tuple[AnyStage, ...]:
    """Return the enabled stages. A disabled stage reads nothing and delays nothing."""
    return WITH_GRAPH if settings.graph.uri else PIPELINE
