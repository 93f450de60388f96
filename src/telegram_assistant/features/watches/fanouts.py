"""Writes the alerts of posts that very many watches ask for, a few hundred at a time: other posts and other
tenants do not wait for them.
"""

import asyncio
from typing import Final

from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.watches.matching import WatchMatching
from telegram_assistant.supervision import sleep_unless, wait_for_either
from telegram_assistant.telemetry.outages import OutageLog

LOOK_SECONDS: Final = 1.0
"""How often a worker looks for what another one has queued."""


async def keep_fanning_out(
    stopping: asyncio.Event, *, matching: WatchMatching, look_seconds: float = LOOK_SECONDS
) -> None:
    """Writes queued alerts until `stopping` is set.

    All workers do; a worker that is killed loses nothing, because what it had in hand stays queued.
    """
    outage = OutageLog("alert fan-out")
    while not stopping.is_set():
        matching.queued.clear()
        try:
            while not stopping.is_set() and await matching.fan_out() is not None:
                pass
        except Busy as busy:
            outage.log_failure(str(busy))
            await sleep_unless(stopping, busy.retry_after_seconds)
            continue
        outage.log_recovery()
        await wait_for_either(stopping, matching.queued, seconds=look_seconds)
