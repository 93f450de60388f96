"""Reading channels through one account."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from telethon import TelegramClient
from telethon.tl import types

from telegram_assistant.domain.account import Lease
from telegram_assistant.domain.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.post import Post
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.telegram.client import open_client, telegrams_answer
from telegram_assistant.telegram.translate import post_of

PAGE = 100
BETWEEN_REQUESTS_SECONDS = 1.25
"""One account asks for history four times in five seconds at most: what Telegram lets pass for ever."""


@dataclass(frozen=True, slots=True)
class Readable:
    """A channel as this account may address it."""

    channel_id: ChannelId
    title: str
    access_hash: int


@dataclass(frozen=True, slots=True)
class Read:
    """One page, and the ids that it proves."""

    posts: tuple[Post, ...]
    proven: IdRange | None
    more: bool


class Reader:
    """One account's eyes."""

    def __init__(self, client: TelegramClient, lease: Lease) -> None:
        self._client = client
        self._lease = lease

    @property
    def connected(self) -> bool:
        """False once Telethon has given up: then only a new client helps."""
        return bool(self._client.is_connected())

    async def joined(self) -> tuple[Readable, ...]:
        """The broadcast channels that the account has joined."""
        self._lease.check()
        async with telegrams_answer():
            dialogs = await self._client.get_dialogs()
        return tuple(
            Readable(ChannelId(dialog.entity.id), dialog.entity.title, dialog.entity.access_hash)
            for dialog in dialogs
            if isinstance(dialog.entity, types.Channel) and dialog.entity.broadcast
        )

    async def after(self, channel: Readable, known: MessageId) -> Read:
        """The next posts above an id, oldest first."""
        await asyncio.sleep(BETWEEN_REQUESTS_SECONDS)
        self._lease.check()
        peer = types.InputPeerChannel(channel.channel_id, channel.access_hash)
        async with telegrams_answer():
            messages = await self._client.get_messages(peer, limit=PAGE, min_id=known, reverse=True)
        posts = tuple(post for message in messages if (post := post_of(channel.channel_id, message)) is not None)
        proven = IdRange(MessageId(known + 1), MessageId(max(message.id for message in messages))) if messages else None
        return Read(posts, proven, more=len(messages) == PAGE)


@asynccontextmanager
async def open_reader(settings: TelegramSettings, session: str, lease: Lease) -> AsyncIterator[Reader]:
    """A reader for one account. It asks nothing once the lease is over."""
    lease.check()
    async with open_client(settings, session) as client:
        yield Reader(client, lease)
