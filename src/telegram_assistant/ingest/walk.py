"""Following the channels that one account has joined: a walk over all of them, again and again.

Upward from the newest post that is stored, page by page, each landed before the next is read: a crash at any moment
leaves no hole, and the next walk goes on where this one was.
"""

import asyncio
import time
from datetime import UTC, datetime

from telegram_assistant.domain.ids import MessageId
from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.channels import Channels
from telegram_assistant.stores.postgres.landing import Claim, Landing, Page
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telegram.reader import Readable, Reader
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

PART = "channels"
BETWEEN_WALKS_SECONDS = 5.0
LIST_AGAIN_SECONDS = 600.0
"""How long it takes at most until a channel that was joined meanwhile is followed."""


async def walk(reader: Reader, *, channels: Channels, landing: Landing, health: Health, stopping: asyncio.Event) -> None:
    """Until told to stop."""
    joined: tuple[Readable, ...] = ()
    looked_at = -LIST_AGAIN_SECONDS
    while not stopping.is_set():
        try:
            if time.monotonic() - looked_at >= LIST_AGAIN_SECONDS:
                joined, looked_at = await reader.joined(), time.monotonic()
            for channel in joined:
                await follow(channel, reader=reader, channels=channels, landing=landing, stopping=stopping)
            health.report(PART, State.OK, f"follows {len(joined)}")
            await sleep_unless(stopping, BETWEEN_WALKS_SECONDS)
        except Busy as busy:
            health.report(PART, State.FAILING, f"waits {busy.retry_after_seconds:.0f} s: {busy}")
            log.info("ingest_waits", why=str(busy), seconds=round(busy.retry_after_seconds))
            if not reader.connected:
                raise
            await sleep_unless(stopping, busy.retry_after_seconds)


async def follow(channel: Readable, *, reader: Reader, channels: Channels, landing: Landing, stopping: asyncio.Event) -> None:
    """Read and land what is new in one channel, if anybody subscribes to it."""
    head = await channels.head(channel.channel_id)
    if head is None:
        return
    known, more = head.newest_message_id or MessageId(0), True
    while more and not stopping.is_set():
        read = await reader.after(channel, known)
        if read.proven is not None:
            page = Page(posts=read.posts, proven=read.proven, read_at=datetime.now(UTC), floor_id=MessageId(1))
            await landing.land(page, Claim(channel.channel_id, head.lease_epoch))
            known = read.proven.high
        more = read.more
