"""Files of posts: the files of a post, which of them are wanted, and why the others are skipped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.posts.post import Json, Post
from telegram_assistant.reasons import Reason

MAX_ATTEMPTS = 4
"""After so many attempts a file is given up."""
NO_PLACE = Reason("no_place_for_files", "this server stores no files; its operator can set up a storage")


class MediaKind(StrEnum):
    """The kind of a file, as Telegram reports it."""

    PHOTO = "photo"
    VIDEO = "video"
    ROUND = "round"
    ANIMATION = "animation"
    AUDIO = "audio"
    VOICE = "voice"
    DOCUMENT = "document"
    STICKER = "sticker"


class MediaState(StrEnum):
    """The state of a file."""

    WANTED = "wanted"
    STORED = "stored"
    SKIPPED = "skipped"
    GIVEN_UP = "given_up"


class SkipReason(StrEnum):
    """Why a file is not fetched. All reasons but the first three may change, and are checked again."""

    KIND = "kind"
    VANISHES = "vanishes"
    UNAVAILABLE = "unavailable"
    SIZE = "size"
    NO_PLACE = "no_place"
    NOT_WANTED = "not_wanted"
    PROTECTED = "protected"
    QUOTA = "quota"

    @property
    def words(self) -> Reason:
        """The reason for people, with what to do about it."""
        return _WORDS[self]


_WORDS = {
    SkipReason.KIND: Reason("media_kind_not_kept", "stickers are not stored"),
    SkipReason.VANISHES: Reason("media_vanishes", "its author set it to disappear"),
    SkipReason.UNAVAILABLE: Reason("media_unavailable", "Telegram does not give its location"),
    SkipReason.SIZE: Reason("media_too_large", "larger than this server stores"),
    SkipReason.NO_PLACE: NO_PLACE,
    SkipReason.NOT_WANTED: Reason("media_not_wanted", "nobody who follows the channel wants its files"),
    SkipReason.PROTECTED: Reason(
        "media_protected",
        "the channel is private or protects its content, and no follower has chosen to store its files "
        "anyway",
    ),
    SkipReason.QUOTA: Reason(
        "media_over_quota",
        "the quota of everyone who wants it is used up; it will be downloaded when there is space",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaFile:
    """One file of a post. The sender chose its name, which is never used as a path."""

    ordinal: int
    media_id: int
    kind: MediaKind
    size_bytes: int = 0
    mime: str | None = None
    file_name: str | None = None
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    dc_id: int | None = None
    vanishes: bool = False

    @property
    def is_photo(self) -> bool:
        """Telegram numbers photos and documents separately."""
        return self.kind is MediaKind.PHOTO


def files_of(post: Post) -> tuple[MediaFile, ...]:
    """The files of a post, without the pictures of link previews."""
    media = post.facts.get("media")
    media_facts = media if isinstance(media, Mapping) else {}
    items = media_facts.get("items")
    entries = items if isinstance(items, Sequence) and not isinstance(items, str) else [media_facts]
    return tuple(
        _file(ordinal, entry)
        for ordinal, entry in enumerate(entries)
        if isinstance(entry, Mapping) and _is_file(entry)
    )


def _is_file(facts: Mapping[str, Json]) -> bool:
    return facts.get("kind") in set(MediaKind) and isinstance(facts.get("id"), int)


def _file(ordinal: int, facts: Mapping[str, Json]) -> MediaFile:
    kind = MediaKind(str(facts["kind"]))
    duration_seconds, mime, name = (
        facts.get("duration_seconds"),
        facts.get("mime_type"),
        facts.get("file_name"),
    )
    return MediaFile(
        ordinal=ordinal,
        media_id=_number(facts, "id") or 0,
        kind=kind,
        size_bytes=_number(facts, "size_bytes") or 0,
        mime="image/jpeg" if kind is MediaKind.PHOTO else mime if isinstance(mime, str) else None,
        file_name=name if isinstance(name, str) else None,
        width=_number(facts, "width"),
        height=_number(facts, "height"),
        duration_seconds=float(duration_seconds) if isinstance(duration_seconds, int | float) else None,
        dc_id=_number(facts, "dc_id"),
        vanishes="ttl_seconds" in facts,
    )


def _number(facts: Mapping[str, Json], name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) else None


@dataclass(frozen=True, slots=True)
class MediaRules:
    """The installation's rules for storing files."""

    has_place: bool
    max_bytes: int
    quota_bytes: int
    """The quota of tenants without one of their own; 0 means no limit."""


@dataclass(slots=True)
class MediaSubscriber:
    """A tenant whose subscription wants the media of a channel.

    `room_bytes` is what is left of its quota; None means no limit.
    """

    tenant_id: TenantId
    keeps_protected: bool
    room_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms for the files of one channel."""

    is_closed: bool
    """Whether the channel is private or protects its content."""
    wanting: tuple[MediaSubscriber, ...] = field(default=())


def decide(file: MediaFile, *, is_protected: bool, terms: Terms, rules: MediaRules) -> SkipReason | None:
    """Returns None if the file is wanted and fits into a tenant's quota;
    it then counts in full for every tenant that wants it.
    """
    reason = _skip_reason(file, is_protected=is_protected, terms=terms, rules=rules)
    if reason is None:
        for subscriber in terms.wanting:
            if subscriber.room_bytes is not None:
                subscriber.room_bytes -= file.size_bytes
    return reason


CLOSED_TERMS = Terms(is_closed=True)
"""The terms of an unknown channel."""


def _skip_reason(
    file: MediaFile, *, is_protected: bool, terms: Terms, rules: MediaRules
) -> SkipReason | None:
    if (reason := _by_itself(file, rules)) is not None:
        return reason
    if not terms.wanting:
        return SkipReason.NOT_WANTED
    allowed_subscribers = [
        subscriber
        for subscriber in terms.wanting
        if subscriber.keeps_protected or not (is_protected or terms.is_closed)
    ]
    if not allowed_subscribers:
        return SkipReason.PROTECTED
    has_room = any(
        subscriber.room_bytes is None or subscriber.room_bytes >= file.size_bytes
        for subscriber in allowed_subscribers
    )
    return None if has_room else SkipReason.QUOTA


def _by_itself(file: MediaFile, rules: MediaRules) -> SkipReason | None:
    """A reason that holds for every tenant."""
    if file.kind is MediaKind.STICKER:
        return SkipReason.KIND
    if file.vanishes:
        return SkipReason.VANISHES
    if file.size_bytes <= 0:
        return SkipReason.UNAVAILABLE
    if not rules.has_place:
        return SkipReason.NO_PLACE
    return SkipReason.SIZE if file.size_bytes > rules.max_bytes else None
