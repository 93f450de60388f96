"""Translates the formatting entities of a text."""

from collections.abc import Callable
from typing import Any

from telethon.tl import types

from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.domain.posts.text import storable

_KINDS = {
    types.MessageEntityUrl: "url",
    types.MessageEntityTextUrl: "text_url",
    types.MessageEntityMention: "mention",
    types.MessageEntityMentionName: "mention_name",
    types.MessageEntityHashtag: "hashtag",
    types.MessageEntityCashtag: "cashtag",
    types.MessageEntityBotCommand: "bot_command",
    types.MessageEntityEmail: "email",
    types.MessageEntityPhone: "phone",
    types.MessageEntityBankCard: "bank_card",
    types.MessageEntityBold: "bold",
    types.MessageEntityItalic: "italic",
    types.MessageEntityUnderline: "underline",
    types.MessageEntityStrike: "strike",
    types.MessageEntitySpoiler: "spoiler",
    types.MessageEntityCode: "code",
    types.MessageEntityPre: "pre",
    types.MessageEntityBlockquote: "blockquote",
    types.MessageEntityCustomEmoji: "custom_emoji",
    types.MessageEntityFormattedDate: "formatted_date",
    types.MessageEntityDiffInsert: "diff_insert",
    types.MessageEntityDiffReplace: "diff_replace",
    types.MessageEntityDiffDelete: "diff_delete",
}

_DETAILS: dict[type, Callable[[Any], str | int | None]] = {
    types.MessageEntityMentionName: lambda entity: int(entity.user_id),
    types.MessageEntityCustomEmoji: lambda entity: int(entity.document_id),
    types.MessageEntityPre: lambda entity: storable(entity.language) or None,
    types.MessageEntityBlockquote: lambda entity: "collapsed" if entity.collapsed else None,
    types.MessageEntityFormattedDate: lambda entity: str(entity.date.isoformat()),
    types.MessageEntityDiffReplace: lambda entity: storable(entity.old_text),
}


def entity_of(entity: types.TypeMessageEntity) -> TextEntity:
    kind = type(entity)
    name = _KINDS.get(kind, "other")
    if kind is types.MessageEntityTextUrl:
        return TextEntity(name, entity.offset, entity.length, storable(entity.url))
    detail = _DETAILS.get(kind)
    return (
        TextEntity(name, entity.offset, entity.length)
        if detail is None
        else TextEntity(name, entity.offset, entity.length, None, detail(entity))
    )
