"""Closes complete albums, and finds albums that have waited too long for their summary."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.posts.albums import Albums
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.outages import OutageLog

PART = "albums"
LOOK_SECONDS = 5.0


async def close_albums(stopping: asyncio.Event, *, albums: Albums, clock: Callable[[], datetime]) -> None:
    """Run until `stopping` is set. Several instances may run at once: each album is closed by one of them."""
    outage = OutageLog(PART)
    while not stopping.is_set():
        try:
            closed_count = await albums.close(clock())
            await albums.announce_overdue(clock())
            outage.log_recovery()
        except Busy as busy:
            outage.log_failure(busy)
            closed_count = 0
        if not closed_count:
            await sleep_unless(stopping, LOOK_SECONDS)
