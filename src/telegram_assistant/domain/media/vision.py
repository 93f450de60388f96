"""Rules that decide which files of a post are analysed, and whether a provider may see them."""

from dataclasses import dataclass
from enum import StrEnum

from telegram_assistant.domain.media.files import NO_PLACE, MediaKind
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.reasons import Reason

PICTURES = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp", "image/tiff"})
PAPERS = frozenset({"application/pdf"})
FILMS = frozenset({MediaKind.VIDEO, MediaKind.ROUND, MediaKind.ANIMATION})
SOUNDS = frozenset({MediaKind.AUDIO, MediaKind.VOICE})
MAX_BYTES = 20_000_000
MIN_SIDE = 48
"""The shortest side of a picture in pixels; smaller ones are icons or tracking pixels."""


class VisionDecision(StrEnum):
    """The decision about a file."""

    LOOK = "look"
    HERE_ONLY = "here_only"
    PROTECTED = "protected"
    OFF = "off"
    NO_PLACE = "no_place"
    ABSENT = "absent"
    FILM = "film"
    SOUND = "sound"
    PAPER = "paper"
    NO_PICTURE = "no_picture"
    TOO_LARGE = "too_large"
    TOO_SMALL = "too_small"

    @property
    def words(self) -> Reason:
        """The decision for people, stored with the results."""
        return _WORDS[self]

    @property
    def is_seen(self) -> bool:
        """Whether the file is analysed, at least locally."""
        return self in {VisionDecision.LOOK, VisionDecision.HERE_ONLY, VisionDecision.PROTECTED}


_WORDS = {
    VisionDecision.LOOK: Reason("vision_looks", "it is being analysed"),
    VisionDecision.HERE_ONLY: Reason(
        "vision_here_only",
        "it is read on this server only: nobody who follows the channel allows sending it to a provider",
    ),
    VisionDecision.PROTECTED: Reason(
        "vision_protected", "it is read on this server only: its channel protects its content"
    ),
    VisionDecision.OFF: Reason("vision_off", "its followers do not want its posts analysed"),
    VisionDecision.NO_PLACE: NO_PLACE,
    VisionDecision.ABSENT: Reason("vision_absent", "its file is not stored here"),
    VisionDecision.FILM: Reason("vision_film", "it is a video without a stored preview picture"),
    VisionDecision.SOUND: Reason("vision_sound", "it is audio, not a picture"),
    VisionDecision.PAPER: Reason("vision_paper", "it is a document, and documents are not read"),
    VisionDecision.NO_PICTURE: Reason("vision_no_picture", "it is not a picture"),
    VisionDecision.TOO_LARGE: Reason("vision_too_large", "it is larger than 20 MB"),
    VisionDecision.TOO_SMALL: Reason("vision_too_small", "it is too small to show anything"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionFile:
    """A file of a post. `sha256` None: its bytes are not stored."""

    ordinal: int
    kind: MediaKind
    mime: str | None
    size_bytes: int
    width: int | None
    height: int | None
    sha256: bytes | None


def decide(file: VisionFile, *, policy: AiPolicy, is_protected: bool, has_place: bool) -> VisionDecision:
    """Decides about one file: first prohibitions by people, then the kind of file, then who may see it."""
    objections = (
        (policy is AiPolicy.OFF, VisionDecision.OFF),
        (file.kind in SOUNDS, VisionDecision.SOUND),
        (file.mime in PAPERS, VisionDecision.PAPER),
        (file.kind in FILMS and file.mime not in PICTURES, VisionDecision.FILM),
        (file.mime not in PICTURES, VisionDecision.NO_PICTURE),
        (file.size_bytes > MAX_BYTES, VisionDecision.TOO_LARGE),
        (is_too_small(file.width, file.height), VisionDecision.TOO_SMALL),
        (file.sha256 is None, VisionDecision.ABSENT),
        (not has_place, VisionDecision.NO_PLACE),
        (is_protected, VisionDecision.PROTECTED),
        (policy is AiPolicy.LOCAL, VisionDecision.HERE_ONLY),
    )
    return next((verdict for applies, verdict in objections if applies), VisionDecision.LOOK)


def is_too_small(width: int | None, height: int | None) -> bool:
    """Whether a known side is too short. Telegram does not always report the size of a picture."""
    return any(side is not None and 0 < side < MIN_SIDE for side in (width, height))
