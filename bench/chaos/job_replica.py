"""One replica of the chaos bench of periodic jobs: the clock of the real program with short periods. `python -m bench.chaos.job_replica`."""

import asyncio
import os
import random
import signal
from datetime import datetime, timedelta

from telegram_assistant.assembly import App, assemble
from telegram_assistant.clock import Job, clock_loop
from telegram_assistant.settings import read_settings
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.logging import configure_logging

EVERY = timedelta(seconds=3)
LEASE = timedelta(seconds=4)
LONGEST_SECONDS = 2.0


async def work(_app: App, _now: datetime) -> str:
    """Take a while, so that a kill often comes in the middle."""
    await asyncio.sleep(random.uniform(0, LONGEST_SECONDS))
    return "done"


JOBS = tuple(Job(f"chaos_{number}", EVERY, work, lease=LEASE) for number in range(3))


async def main() -> None:
    settings = read_settings(os.environ)
    configure_logging(settings.telemetry)
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with assemble(settings, needs_redis=False) as app:
        print("ready", flush=True)
        await clock_loop(app, Health(probes={}), jobs=JOBS).run(stopping)


if __name__ == "__main__":
    asyncio.run(main())
