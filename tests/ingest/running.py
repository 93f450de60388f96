"""The loops of the ingest role against a simulator, beside what a test does."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from telegram_assistant import ingest_role
from telegram_assistant.assembly import assemble
from telegram_assistant.ingest.scheduler import PART as SCHEDULER
from telegram_assistant.settings import read_settings
from telegram_assistant.supervision import cancel_and_wait, keep_running
from telegram_assistant.telegram.vault import make_key
from telegram_assistant.telemetry.health import Health
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.world import HOME_DC


@asynccontextmanager
async def running_ingest(database: Mapping[str, str], sim: Simulator, **environ: str) -> AsyncIterator[None]:
    """Runs the loops of ingest without the scheduler: its log lines would mix with the output of commands."""
    own = {
        "SESSION_ENCRYPTION_KEY": make_key(),
        "TELEGRAM_DC_ADDR": sim.host,
        "TELEGRAM_DC_PORT": str(sim.ports[HOME_DC]),
    }
    stopping, health = asyncio.Event(), Health(probes={})
    async with assemble(read_settings({**database, **own, **environ}), with_accounts=True) as app:
        wanted = [loop for loop in ingest_role.loops(app, health) if loop.name != SCHEDULER]
        loops = [asyncio.create_task(keep_running(loop, stopping=stopping, health=health)) for loop in wanted]
        try:
            yield
        finally:
            stopping.set()
            await asyncio.wait(loops, timeout=10)
            await cancel_and_wait(loops)
