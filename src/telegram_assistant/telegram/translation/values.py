"""Converts Telegram's values to facts: small JSON that every store accepts,
without keys that only open a file.
"""

import math
import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any

from telethon.tl import TLObject, types

from telegram_assistant.domain.posts.post import Facts, Json
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.telegram.translation.files import document_facts, photo_facts

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def snake_case_name(class_name: str, prefix: str) -> str:
    """Return `chat_edit_title` for MessageActionChatEditTitle, a MessageAction."""
    return _WORDS.sub("_", class_name.removeprefix(prefix)).lower()


def fact_of(value: Any) -> Json:
    """Convert a value. Returns None if it is absent, empty, false, or not a small fact."""
    convert = _CONVERTERS.get(type(value))
    return None if convert is None else convert(value)


def facts_of(tl_object: TLObject) -> Facts:
    """Convert every field that holds a small fact, under the schema's own name."""
    return {
        name: fact
        for name, value in vars(tl_object).items()
        if name not in _EXCLUDED and (fact := fact_of(value)) is not None
    }


_EXCLUDED = frozenset({"access_hash", "hash", "slug", "prepaid_upgrade_hash", "vcard"})
"""Keys to files, calls and gifts; and the vCard of a contact,
which repeats the other fields at any length.
"""


def pick_facts(tl_object: TLObject, names: tuple[str, ...]) -> Facts:
    """Convert only these fields, as far as they exist."""
    return {name: fact for name in names if (fact := fact_of(getattr(tl_object, name, None))) is not None}


def _all(tl_object: TLObject) -> Json:
    return facts_of(tl_object) or None


def _only(*names: str) -> Callable[[TLObject], Json]:
    return lambda tl_object: pick_facts(tl_object, names) or None


def _each(values: list[Any]) -> Json:
    return [fact for value in values if (fact := fact_of(value)) is not None] or None


_CONVERTERS: dict[type, Callable[[Any], Json]] = {
    bool: lambda value: value or None,
    int: lambda value: value,
    float: lambda value: value if math.isfinite(value) else None,
    str: lambda value: storable(value) or None,
    datetime: datetime.isoformat,
    list: _each,
    types.PeerUser: _all,
    types.PeerChat: _all,
    types.PeerChannel: _all,
    types.TextWithEntities: lambda value: storable(value.text) or None,
    types.Photo: photo_facts,
    types.Document: document_facts,
    types.WebDocument: _all,
    types.GeoPoint: _all,
    types.Game: _all,
    types.InputGroupCall: _all,
    types.StarsAmount: _all,
    types.StarsTonAmount: lambda value: {"nanotons": value.amount},
    types.StarGift: _only("id", "stars", "title"),
    types.StarGiftUnique: _only("id", "title", "num"),
    types.StoryItem: _only("date", "expire_date", "caption"),
    types.TodoList: _all,
    types.TodoItem: _all,
    types.TodoCompletion: _all,
    types.PollAnswer: _only("text"),
    types.ChatTheme: _all,
    types.Birthday: _all,
    types.FactCheck: _all,
    types.RestrictionReason: _all,
}
