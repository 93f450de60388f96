"""Translates Telegram's messages into posts."""

from datetime import UTC, datetime

from telethon.tl import types

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Post, PostKind, fingerprint
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.telegram.translation.entities import entity_of
from telegram_assistant.telegram.translation.headers import header_facts, origin_of, reply_to_of
from telegram_assistant.telegram.translation.media import media_of
from telegram_assistant.telegram.translation.rich_messages import RichText, rich_text_of
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()


def post_of(channel_id: ChannelId, message: types.TypeMessage) -> Post | None:
    """Return the post of a channel message, or None for an empty id.

    A message that cannot be translated never fails its page.
    """
    if isinstance(message, types.MessageEmpty):
        return None
    try:
        return _post_of(channel_id, message)
    except Exception:
        log.exception(
            "message_unreadable", post_id=f"{channel_id}/{message.id}", media=type(message.media).__name__
        )
        kind, moment = PostKind.UNREADABLE, _utc(message.date)
        return Post(
            channel_id=channel_id,
            message_id=MessageId(message.id),
            posted_at=moment,
            content_hash=fingerprint(""),
            kind=kind,
        )


def _post_of(channel_id: ChannelId, message: types.TypeMessage) -> Post:
    """Translate a message. Telethon gives a service message the fields of every other message, empty."""
    media, text = media_of(message.media), _text_of(message)
    return Post(
        channel_id=channel_id,
        message_id=MessageId(message.id),
        posted_at=_utc(message.date),
        content_hash=fingerprint(text.text, text.entities, media.ids + text.ids),
        kind=media.kind if message.action is None else PostKind.SERVICE,
        text=text.text,
        entities=text.entities,
        edited_at=None if message.edit_date is None or message.edit_hide else _utc(message.edit_date),
        reply_to=None if message.reply_to is None else reply_to_of(channel_id, message.reply_to),
        forwarded_from=None if message.fwd_from is None else origin_of(message.fwd_from),
        grouped_id=message.grouped_id,
        author=None if message.post_author is None else storable(message.post_author),
        facts=media.facts | text.facts | header_facts(channel_id, message),
    )


def _text_of(message: types.TypeMessage) -> RichText:
    if message.rich_message is not None and not message.message:
        return rich_text_of(message.rich_message)
    entities = tuple([entity_of(entity) for entity in message.entities]) if message.entities else ()
    return RichText(storable(message.message or ""), entities, (), {})


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
