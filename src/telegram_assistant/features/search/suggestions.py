"""Suggestions while typing a search: operators, channels and tags that complete the last word."""

from dataclasses import dataclass

from telegram_assistant.domain.search.query import Has
from telegram_assistant.domain.understanding.policy import PostSort
from telegram_assistant.stores.postgres.stores import TenantStores

MAX_SUGGESTIONS = 8
OPERATORS = (
    "from:",
    "tag:",
    "since:",
    "until:",
    "on:",
    "has:",
    "lang:",
    "kind:",
    "edited:yes",
    "deleted:yes",
    "ads:yes",
    "channel:",
    "after:",
    "before:",
)
VALUES = {
    "has": tuple(Has),
    "lang": ("ru", "en"),
    "kind": tuple(PostSort),
    "since": ("today", "yesterday", "7d", "30d"),
    "until": ("today", "yesterday"),
    "on": ("today", "yesterday"),
    "after": ("yesterday", "7d", "30d"),
    "before": ("today", "yesterday"),
    "ads": ("yes",),
    "edited": ("yes",),
    "deleted": ("yes",),
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A query that completes the typed one; `completion` is the part that it adds."""

    query: str
    completion: str


async def suggest(typed_text: str, *, stores: TenantStores) -> tuple[Suggestion, ...]:
    """Completes the last word. After a space, offers the operators."""
    beginning, _, last_word = typed_text.rpartition(" ")
    before = f"{beginning} " if beginning else ""
    endings = await _endings(last_word.casefold(), stores) if last_word else list(OPERATORS)
    return tuple(Suggestion(before + ending, ending) for ending in endings[:MAX_SUGGESTIONS])


async def _endings(last_word: str, stores: TenantStores) -> list[str]:
    name, colon, value = last_word.partition(":")
    if not colon:
        return [
            operator for operator in OPERATORS if operator.startswith(last_word) and operator != last_word
        ]
    if name in {"from", "channel"}:
        return await _channels(value.removeprefix("@"), stores)
    if name == "tag":
        return await _tags(value.removeprefix('"'), stores)
    return [f"{name}:{option}" for option in VALUES.get(name, ()) if option.startswith(value)]


async def _channels(value: str, stores: TenantStores) -> list[str]:
    followed_channels = await stores.followed.channels()
    return [
        f"from:@{channel.username}"
        for channel in followed_channels
        if channel.username and value in channel.username.casefold()
    ]


async def _tags(value: str, stores: TenantStores) -> list[str]:
    tags = [
        entry.tag
        for entry in await stores.tag_use.vocabulary()
        if entry.tag.startswith(value) and not entry.is_retired
    ]
    return [f'tag:"{tag}"' if " " in tag else f"tag:{tag}" for tag in tags]
