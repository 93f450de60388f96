"""Wakes relays after a landing, with NOTIFY. It is only a hint: relays also check the outbox every second.

The NOTIFY is sent after the commit, over a connection of its own, and one serves many landings: a NOTIFY
inside a writing transaction would make all commits of the server wait for each other.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from telegram_assistant.settings import DatabaseSettings
from telegram_assistant.stores.postgres.database import OUTAGES
from telegram_assistant.telemetry.outages import OutageLog

CHANNEL = "outbox"
GATHER_SECONDS = 0.003
RECONNECT_SECONDS = 5.0


class Wakeup:
    """Landings call `ring`, relays wait in `wait_for_wakeup`, in this process or another."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._heard = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait_for_wakeup(self, seconds: float) -> None:
        """Waits until a landing rings, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        except TimeoutError:
            return
        finally:
            self._heard.clear()

    async def carry(self, url: str) -> None:
        """Sends and receives notifications through PostgreSQL until cancelled."""
        outage = OutageLog("wakeup")
        while True:
            try:
                connection = await asyncpg.connect(url, timeout=10)
            except (*OUTAGES, asyncpg.PostgresError) as error:
                outage.log_failure(type(error).__name__)
                await asyncio.sleep(RECONNECT_SECONDS)
                continue
            try:
                await connection.add_listener(CHANNEL, lambda *_: self._heard.set())
                outage.log_recovery()
                await self._send_rings(connection)
            except (*OUTAGES, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                outage.log_failure(type(error).__name__)
                await asyncio.sleep(RECONNECT_SECONDS)
            finally:
                connection.terminate()

    async def _send_rings(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        while True:
            await self._rung.wait()
            self._rung.clear()
            await connection.execute(f"NOTIFY {CHANNEL}")
            await asyncio.sleep(GATHER_SECONDS)


@asynccontextmanager
async def open_wakeup(settings: DatabaseSettings) -> AsyncIterator[Wakeup]:
    """A wakeup that is connected until the block ends."""
    wakeup = Wakeup()
    task = asyncio.create_task(wakeup.carry(settings.session_url.get_secret_value()))
    try:
        yield wakeup
    finally:
        task.cancel()
        await asyncio.wait([task])
