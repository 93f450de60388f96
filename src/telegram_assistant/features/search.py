"""Finding posts."""

from dataclasses import dataclass

from telegram_assistant.domain.links import link_to
from telegram_assistant.stores.postgres.rows import StoredPost
from telegram_assistant.stores.postgres.stores import TenantStores


@dataclass(frozen=True, slots=True)
class Found:
    """A post that was looked for, and where it is."""

    stored: StoredPost
    channel: str
    link: str


async def find(words: str, *, stores: TenantStores, limit: int = 20) -> tuple[Found, ...]:
    """By words, newest first, among the channels that the tenant follows."""
    channels = {channel.channel_id: channel for channel in await stores.followed.channels()}
    posts = await stores.words.find(words, limit=limit)
    return tuple(Found(one, channels[one.post.channel_id].title, link_to(one.post.id, channels[one.post.channel_id].username)) for one in posts)
