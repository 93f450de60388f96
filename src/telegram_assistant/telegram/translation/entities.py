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
    types.MessageEntityMentionName: lambda one: int(one.user_id),
    types.MessageEntityCustomEmoji: lambda one: int(one.document_id),
    types.MessageEntityPre: lambda one: storable(one.language) or None,
    types.MessageEntityBlockquote: lambda one: "collapsed" if one.collapsed else None,
    types.MessageEntityFormattedDate: lambda one: str(one.date.isoformat()),
    types.MessageEntityDiffReplace: lambda one: storable(one.old_text),
}


def entity_of(one: types.TypeMessageEntity) -> TextEntity:
    kind = type(one)
    name = _KINDS.get(kind, "other")
    if kind is types.MessageEntityTextUrl:
        return TextEntity(name, one.offset, one.length, storable(one.url))
    detail = _DETAILS.get(kind)
    return (
        TextEntity(name, one.offset, one.length)
        if detail is None
        else TextEntity(name, one.offset, one.length, None, detail(one))
    )
