"""The bell: whoever lands posts rings, and relays wake up. A hint, no more: relays look by themselves every second.

It rings after the commit and over a connection of its own, many landings in one ring: a NOTIFY inside a writing
transaction would make all commits of the server wait for each other.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from telegram_assistant.settings import DatabaseSettings
from telegram_assistant.stores.postgres.database import OUTAGES
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

CHANNEL = "outbox"
GATHER_SECONDS = 0.003
RECONNECT_SECONDS = 5.0


class Wakeup:
    """Rung by landings, heard by relays, in this process or another."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._heard = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def heard(self, seconds: float) -> None:
        """Wait until it rings, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        except TimeoutError:
            return
        finally:
            self._heard.clear()

    async def carry(self, url: str) -> None:
        """Carry rings to and from PostgreSQL until cancelled."""
        while True:
            try:
                connection = await asyncpg.connect(url, timeout=10)
            except (*OUTAGES, asyncpg.PostgresError):
                await asyncio.sleep(RECONNECT_SECONDS)
                continue
            try:
                await connection.add_listener(CHANNEL, lambda *_: self._heard.set())
                await self._send_rings(connection)
            except (*OUTAGES, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.warning("bell_lost", why=type(error).__name__)
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
async def hung_bell(settings: DatabaseSettings) -> AsyncIterator[Wakeup]:
    """A bell that works until the block ends."""
    bell = Wakeup()
    task = asyncio.create_task(bell.carry(settings.url.get_secret_value()))
    try:
        yield bell
    finally:
        task.cancel()
        await asyncio.wait([task])
