"""Events: one frozen class per event, named in the past tense. Events carry ids and small facts, never the
text of a post.

A new field gets a default. A field is never renamed; a new meaning is a new event. The stream keys are public
interface.
"""

from telegram_assistant.events.albums import AlbumAssembled, AlbumParsed
from telegram_assistant.events.envelope import Event
from telegram_assistant.events.posts import (
    PostCrawlRequested,
    PostEnriched,
    PostIndexed,
    PostParsed,
    PostTagged,
    PostVisionAnalyzed,
    PostVisionUploaded,
    Trigger,
    VisionStatus,
)
from telegram_assistant.events.stories import PostGrouped, StoryChanged

EVENTS: tuple[type[Event], ...] = tuple(Event.__subclasses__())
"""All of them, in the order in which they are defined."""

__all__ = [
    "EVENTS",
    "AlbumAssembled",
    "AlbumParsed",
    "Event",
    "PostCrawlRequested",
    "PostEnriched",
    "PostGrouped",
    "PostIndexed",
    "PostParsed",
    "PostTagged",
    "PostVisionAnalyzed",
    "PostVisionUploaded",
    "StoryChanged",
    "Trigger",
    "VisionStatus",
]
