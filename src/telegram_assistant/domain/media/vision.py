"""Rules that decide which files of a post are analysed, and whether a provider may see them."""

from dataclasses import dataclass
from enum import StrEnum

from telegram_assistant.domain.media.files import MediaKind
from telegram_assistant.domain.understanding.policy import AiPolicy

PICTURES = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp", "image/tiff"})
PAPERS = frozenset({"application/pdf"})
FILMS = frozenset({MediaKind.VIDEO, MediaKind.ROUND, MediaKind.ANIMATION})
SOUNDS = frozenset({MediaKind.AUDIO, MediaKind.VOICE})
MAX_BYTES = 20_000_000
MIN_SIDE = 48
"""The shortest side of a picture in pixels; smaller ones are icons or tracking pixels."""


class VisionDecision(StrEnum):
    """The decision about a file, with its reason; stored, and shown to people verbatim."""

    LOOK = "it is looked at"
    HERE_ONLY = "it is read on this machine only: nobody who follows the channel lets it go to a provider"
    PROTECTED = "it is read on this machine only: its channel protects what it shows"
    OFF = "who follows the channel does not want its posts understood (ai_policy off)"
    NO_PLACE = "there is no place for files: set S3_ENDPOINT or FILES_DIR"
    ABSENT = "its bytes are not kept here"
    FILM = "it is a film, and no picture of it is kept"
    SOUND = "there is nothing to see in it"
    PAPER = "it is a paper, and papers are not read"
    NO_PICTURE = "it is no picture"
    TOO_LARGE = "it is larger than 20 MB"
    TOO_SMALL = "it is too small to show anything"

    @property
    def is_seen(self) -> bool:
        """Whether the file is analysed, at least locally."""
        return self in {VisionDecision.LOOK, VisionDecision.HERE_ONLY, VisionDecision.PROTECTED}


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
