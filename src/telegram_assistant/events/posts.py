"""Events about posts."""

from enum import StrEnum
from typing import ClassVar

from telegram_assistant.events.envelope import Event


class Trigger(StrEnum):
    """Why a post was tagged."""

    INITIAL = "initial"
    VISION_RETAG = "vision_retag"
    PROVIDER_RETAG = "provider_retag"
    """A provider has answered later, after the first tagging."""


class VisionStatus(StrEnum):
    """How the analysis of a post's media ended.

    Every analysis ends with a status, so that albums can close.
    """

    ANALYZED = "analyzed"
    SKIPPED = "skipped"
    FAILED = "failed"


class PostParsed(Event):
    """A post's row is committed."""

    NAME: ClassVar[str] = "posts.parsed"


class PostVisionUploaded(Event):
    """Every wanted media file of a post is stored or given up."""

    NAME: ClassVar[str] = "posts.vision.uploaded"
    media: tuple[str, ...] = ()
    """SHA-256 of each stored file, in the order of the post."""


class PostVisionAnalyzed(Event):
    """The analysis of a post's media is finished."""

    NAME: ClassVar[str] = "posts.vision.analyzed"
    status: VisionStatus = VisionStatus.ANALYZED
    grouped_id: int | None = None


class PostTagged(Event):
    """A post is tagged. The list of tags may be empty."""

    NAME: ClassVar[str] = "posts.tagged"
    trigger: Trigger = Trigger.INITIAL
    tags: tuple[str, ...] = ()


class PostCrawlRequested(Event):
    """The links of a post that are worth reading."""

    NAME: ClassVar[str] = "posts.crawl"
    trigger: Trigger = Trigger.INITIAL
    urls: tuple[str, ...] = ()


class PostEnriched(Event):
    """Everything that could be learnt about a post is stored."""

    NAME: ClassVar[str] = "posts.enriched"
    trigger: Trigger = Trigger.INITIAL


class PostIndexed(Event):
    """Search can find the post."""

    NAME: ClassVar[str] = "posts.indexed"
    state_version: int = 1
