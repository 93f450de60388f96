"""One replica of the chaos bench of periodic jobs: clock and sender of the real program, with short periods.

`python -m bench.chaos.job_replica`.
"""

import asyncio
import os
import random
import signal
from datetime import datetime, timedelta
from ipaddress import ip_network

from telegram_assistant.assembly import App, assemble
from telegram_assistant.clock import clock_loop, period_start
from telegram_assistant.features.digests.digests import make_digest
from telegram_assistant.features.receivers.sending import keep_sending
from telegram_assistant.jobs import Job
from telegram_assistant.outbound.guard import Guard
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


async def make_digests(app: App, now: datetime) -> str:
    """Make the digests of everybody for this period, as the job of the program does for theirs."""
    people = await app.system.digest_plans.everybody()
    for person in people:
        stores, own = app.tenant(person.tenant_id), app.person(person.tenant_id, person.user_id)
        await make_digest(
            person.tenant_id,
            person.user_id,
            period_start(now, EVERY),
            stores=stores,
            own=own,
            now=now,
            is_planned=True,
        )
    return f"made {len(people)}"


JOBS = (
    *(Job(f"chaos_{number}", EVERY, work, lease=LEASE) for number in range(3)),
    Job("chaos_digests", EVERY, make_digests, lease=LEASE),
)


async def main() -> None:
    settings = read_settings(os.environ)
    configure_logging(settings.telemetry)
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    here = Guard(
        ports=frozenset({int(os.environ["CHAOS_WEBHOOK_PORT"])}),
        although_private=(ip_network("127.0.0.0/8"),),
    )
    async with assemble(settings, needs_redis=False, guard=here) as app:
        print("ready", flush=True)
        async with asyncio.TaskGroup() as loops:
            loops.create_task(clock_loop(app, Health(probes={}), jobs=JOBS).run(stopping))
            loops.create_task(keep_sending(stopping, sender=app.sender))


if __name__ == "__main__":
    asyncio.run(main())
