"""Counts posts whose commit was never confirmed, because PostgreSQL became unreachable at that moment."""

import asyncio
from contextlib import suppress

from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.posts.landing import Landing
from telegram_assistant.supervision import sleep_unless

PART = "recounting"
EVERY_SECONDS = 2.0


async def recount(stopping: asyncio.Event, *, landing: Landing) -> None:
    """Run until `stopping` is set, and once more then."""
    while True:
        with suppress(Busy):
            await landing.count_unanswered()
        if stopping.is_set():
            return
        await sleep_unless(stopping, EVERY_SECONDS)
