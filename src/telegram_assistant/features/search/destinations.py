"""Destinations inside a tenant: channels, folders,
saved searches and tags whose name has the typed words.
"""

import asyncio
from dataclasses import dataclass

from telegram_assistant.stores.postgres.channels.channels import FollowedChannel
from telegram_assistant.stores.postgres.search.saved_searches import SavedSearch
from telegram_assistant.stores.postgres.stores import TenantStores

MAX_OF_EACH = 6


@dataclass(frozen=True, slots=True)
class Destinations:
    """The first few of each kind, by name."""

    channels: tuple[FollowedChannel, ...]
    folders: tuple[str, ...]
    searches: tuple[SavedSearch, ...]
    tags: tuple[str, ...]


async def find_destinations(typed_text: str, *, stores: TenantStores) -> Destinations:
    words = typed_text.casefold().removeprefix("@").split()

    def fits(*names: str | None) -> bool:
        name = " ".join(name for name in names if name).casefold()
        return all(word in name for word in words)

    everything, searches, vocabulary = await asyncio.gather(
        stores.followed.channels(), stores.saved_searches.all(), stores.tag_use.vocabulary()
    )
    followed_channels = [channel for channel in everything if channel.active]
    return Destinations(
        channels=tuple(
            sorted(
                (channel for channel in followed_channels if fits(channel.title, channel.username)),
                key=lambda channel: channel.title.casefold(),
            )
        )[:MAX_OF_EACH],
        folders=tuple(
            sorted(
                {channel.folder for channel in followed_channels if channel.folder and fits(channel.folder)}
            )
        )[:MAX_OF_EACH],
        searches=tuple(search for search in searches if fits(search.name, search.query))[:MAX_OF_EACH],
        tags=tuple(entry.tag for entry in vocabulary if words and not entry.is_retired and fits(entry.tag))[
            :MAX_OF_EACH
        ],
    )
