"""Facts that travel: one class per event, past tense, ids and small facts only, never the text of a post.

Fields are added with defaults and never renamed; a new meaning is a new event. The streams they travel on are
public interface.
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

EVENTS: tuple[type[Event], ...] = (
    PostParsed,
    PostVisionUploaded,
    AlbumParsed,
    PostVisionAnalyzed,
    PostTagged,
    PostCrawlRequested,
    PostEnriched,
    PostIndexed,
    AlbumAssembled,
)

__all__ = [
    "EVENTS",
    "AlbumAssembled",
    "AlbumParsed",
    "Event",
    "PostCrawlRequested",
    "PostEnriched",
    "PostIndexed",
    "PostParsed",
    "PostTagged",
    "PostVisionAnalyzed",
    "PostVisionUploaded",
    "Trigger",
    "VisionStatus",
]
