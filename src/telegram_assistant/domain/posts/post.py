"""A post as it is stored, and the fingerprint that distinguishes a real edit from a changed counter."""

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pydantic_core import to_json

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId

type Json = str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None
type Facts = dict[str, Json]


class PostKind(StrEnum):
    """The kind of a post, by its main content."""

    TEXT = "text"
    PHOTO = "photo"
    VIDEO = "video"
    AUDIO = "audio"
    VOICE = "voice"
    DOCUMENT = "document"
    STICKER = "sticker"
    POLL = "poll"
    OTHER = "other"
    SERVICE = "service"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class TextEntity:
    """A formatted piece of text: a link, bold words, a mention. Offsets count UTF-16 units, as Telegram does.

    `detail` depends on the kind: the mentioned user, the custom emoji, the language of code.
    """

    kind: str
    offset: int
    length: int
    url: str | None = None
    detail: str | int | None = None

    def as_json(self) -> dict[str, Json]:
        plain: dict[str, Json] = {"kind": self.kind, "offset": self.offset, "length": self.length}
        if self.url is not None:
            plain["url"] = self.url
        if self.detail is not None:
            plain["detail"] = self.detail
        return plain


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a forwarded post; `message_id` is None if the channel hides it."""

    channel_id: ChannelId
    message_id: MessageId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One message of a channel. `content_hash` comes from fingerprint()."""

    channel_id: ChannelId
    message_id: MessageId
    posted_at: datetime
    content_hash: bytes
    kind: PostKind = PostKind.TEXT
    text: str = ""
    entities: tuple[TextEntity, ...] = ()
    edited_at: datetime | None = None
    reply_to: MessageId | None = None
    forwarded_from: Origin | None = None
    grouped_id: int | None = None
    lang: str | None = None
    author: str | None = None
    facts: Mapping[str, Json] = field(default_factory=dict)

    @property
    def id(self) -> PostId:
        return PostId(self.channel_id, self.message_id)


def fingerprint(text: str, entities: Sequence[TextEntity] = (), media_ids: Sequence[int] = ()) -> bytes:
    """SHA-256 of what a reader sees. Views, reactions and the edit date are excluded on purpose: they are no
    edit.

    An entity's detail is excluded too: posts stored before it was kept would all look edited. The text must
    be storable.
    """
    visible_content = [
        unicodedata.normalize("NFC", text),
        [[e.kind, e.offset, e.length, e.url] for e in entities],
        list(media_ids),
    ]
    return hashlib.sha256(to_json(visible_content)).digest()
