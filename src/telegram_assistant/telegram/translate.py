"""Telegram's messages in our words."""

from datetime import UTC, datetime
from typing import Any

from telethon.tl import types

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.post import Entity, Origin, Post, PostKind, fingerprint
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

_ENTITY_KINDS = {
    types.MessageEntityUrl: "url",
    types.MessageEntityTextUrl: "text_url",
    types.MessageEntityMention: "mention",
    types.MessageEntityMentionName: "mention_name",
    types.MessageEntityHashtag: "hashtag",
    types.MessageEntityCashtag: "cashtag",
    types.MessageEntityBotCommand: "bot_command",
    types.MessageEntityEmail: "email",
    types.MessageEntityPhone: "phone",
    types.MessageEntityBold: "bold",
    types.MessageEntityItalic: "italic",
    types.MessageEntityUnderline: "underline",
    types.MessageEntityStrike: "strike",
    types.MessageEntitySpoiler: "spoiler",
    types.MessageEntityCode: "code",
    types.MessageEntityPre: "pre",
    types.MessageEntityBlockquote: "blockquote",
    types.MessageEntityCustomEmoji: "custom_emoji",
}


def post_of(channel_id: ChannelId, message: Any) -> Post | None:  # noqa: ANN401 -- Telethon's messages have no common type
    """The post that a message of a channel is; None for an id that holds nothing. What we cannot read never fails its page."""
    if isinstance(message, types.MessageEmpty):
        return None
    try:
        return _post_of(channel_id, message)
    except Exception:
        log.exception("message_unreadable", post_id=f"{channel_id}/{message.id}", media=type(getattr(message, "media", None)).__name__)
        kind, moment = PostKind.UNREADABLE, _utc(message.date)
        return Post(channel_id=channel_id, message_id=MessageId(message.id), posted_at=moment, content_hash=fingerprint(""), kind=kind)


def _post_of(channel_id: ChannelId, message: Any) -> Post:  # noqa: ANN401 -- as above
    service = isinstance(message, types.MessageService)
    media = None if service else message.media
    text = "" if service else message.message or ""
    entities = () if service else tuple(_entity(one) for one in message.entities or ())
    return Post(
        channel_id=channel_id,
        message_id=MessageId(message.id),
        posted_at=_utc(message.date),
        content_hash=fingerprint(text, entities, _media_ids(media)),
        kind=PostKind.SERVICE if service else _kind(media),
        text=text,
        entities=entities,
        edited_at=None if service or message.edit_date is None or message.edit_hide else _utc(message.edit_date),
        reply_to=_reply_to(message.reply_to),
        forwarded_from=None if service else _origin(message.fwd_from),
        grouped_id=None if service else message.grouped_id,
        author=None if service else message.post_author,
    )


def _entity(one: Any) -> Entity:  # noqa: ANN401 -- any of Telethon's entity classes
    return Entity(_ENTITY_KINDS.get(type(one), "other"), one.offset, one.length, getattr(one, "url", None))


def _kind(media: Any) -> PostKind:  # noqa: ANN401 -- any of Telethon's media classes
    match media:
        case None | types.MessageMediaWebPage() | types.MessageMediaEmpty():
            return PostKind.TEXT
        case types.MessageMediaPhoto():
            return PostKind.PHOTO
        case types.MessageMediaPoll():
            return PostKind.POLL
        case types.MessageMediaUnsupported():
            return PostKind.UNREADABLE
        case types.MessageMediaDocument(document=types.Document(attributes=attributes)):
            return _kind_of_document(attributes)
    return PostKind.OTHER


def _kind_of_document(attributes: list[Any]) -> PostKind:
    kind = PostKind.DOCUMENT
    for one in attributes:
        match one:
            case types.DocumentAttributeSticker():
                return PostKind.STICKER
            case types.DocumentAttributeVideo():
                kind = PostKind.VIDEO
            case types.DocumentAttributeAudio(voice=voice):
                kind = PostKind.VOICE if voice else PostKind.AUDIO
    return kind


def _media_ids(media: Any) -> list[int]:  # noqa: ANN401 -- as above
    found = getattr(media, "photo", None) or getattr(media, "document", None) or getattr(media, "poll", None)
    number = getattr(found, "id", None)
    return [] if number is None else [number]


def _reply_to(header: Any) -> MessageId | None:  # noqa: ANN401 -- a header of messages or of stories
    if isinstance(header, types.MessageReplyHeader) and header.reply_to_msg_id is not None:
        return MessageId(header.reply_to_msg_id)
    return None


def _origin(header: types.MessageFwdHeader | None) -> Origin | None:
    if header is None or not isinstance(header.from_id, types.PeerChannel):
        return None
    message_id = None if header.channel_post is None else MessageId(header.channel_post)
    return Origin(ChannelId(header.from_id.channel_id), message_id)


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
