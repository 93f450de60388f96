"""Showing files to people: the sizes of thumbnails, and why a file cannot be shown."""

from dataclasses import dataclass
from enum import StrEnum

from telegram_assistant.domain.media.files import MediaState, SkipReason
from telegram_assistant.errors import AssistantError, Conflicting
from telegram_assistant.reasons import Reason


class ThumbnailSize(StrEnum):
    """The sizes in which pictures are kept for pages."""

    SMALL = "s"
    MEDIUM = "m"

    @property
    def max_side(self) -> int:
        """Pixels of the longer side."""
        return _MAX_SIDES[self]


_MAX_SIDES = {ThumbnailSize.SMALL: 320, ThumbnailSize.MEDIUM: 1280}


@dataclass(frozen=True, slots=True)
class ThumbnailKey:
    """Names a thumbnail: the file that it shows, and its size."""

    sha256: bytes
    size: ThumbnailSize


class NoThumbnail(AssistantError):
    """A file has no thumbnail; the text says why."""

    def __init__(self, why: str, *, may_show_original: bool = False) -> None:
        """`may_show_original`: only its format was the matter.

        It exceeds no limit, and its reader has survived it.
        """
        super().__init__(why)
        self.may_show_original = may_show_original


class Unavailability(StrEnum):
    """Why a file cannot be shown."""

    WAITING = "waiting"
    SKIPPED = "skipped"
    GIVEN_UP = "given_up"
    NO_PLACE = "no_place"
    LOST = "lost"
    NO_THUMBNAIL = "no_thumbnail"


_WORDS = {
    Unavailability.WAITING: Reason("media_waiting", "this file has not been downloaded yet"),
    Unavailability.SKIPPED: Reason("media_skipped", "this file is not stored"),
    Unavailability.GIVEN_UP: Reason("media_given_up", "this file could not be downloaded from Telegram"),
    Unavailability.NO_PLACE: SkipReason.NO_PLACE.words,
    Unavailability.LOST: Reason(
        "media_lost", "this file is missing in the store; it will be downloaded again"
    ),
    Unavailability.NO_THUMBNAIL: Reason("media_no_thumbnail", "this file has no thumbnail"),
}

_BY_STATE = {
    MediaState.WANTED: Unavailability.WAITING,
    MediaState.SKIPPED: Unavailability.SKIPPED,
    MediaState.GIVEN_UP: Unavailability.GIVEN_UP,
}


class MediaUnavailable(Conflicting):
    """The caller may see this file, but its bytes cannot be shown now. Pages show a tile that says why."""

    def __init__(self, why: Unavailability, *, skip_reason: SkipReason | None = None) -> None:
        super().__init__(
            _WORDS[why]
            if skip_reason is None
            else Reason("media_skipped_because", "this file is not stored: {why}", why=skip_reason.words)
        )
        self.why = why
        self.skip_reason = skip_reason


def unavailable(state: MediaState, reason: str | None) -> MediaUnavailable:
    """The error for a file in any state but stored. `reason` is the one beside the state."""
    skip_reason = SkipReason(reason) if state is MediaState.SKIPPED and reason else None
    return MediaUnavailable(_BY_STATE[state], skip_reason=skip_reason)
