"""One worker of the bench of due work: the program's own worker and its job of digests.

`python -m bench.chaos.due_worker digests`, or `claims` to claim pieces that do nothing.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from telegram_assistant.assembly import App, assemble
from telegram_assistant.clock import clock_loop
from telegram_assistant.domain.operations.due_work import DueWork, WorkUrgency
from telegram_assistant.features.operations.due_work import DueKind, DueWorker, RunWork
from telegram_assistant.interpreter import collect_seldom, return_freed_memory, switch_threads_often
from telegram_assistant.jobs import job_named
from telegram_assistant.settings import read_settings
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.logging import configure_logging
from telegram_assistant.work_kinds import build_worker

CLAIMED = "bench_nothing"


async def do_nothing(_app: App, _works: Sequence[DueWork], _now: datetime) -> RunWork:
    """Claims alone are measured."""

    async def run(_work: DueWork) -> datetime | None:
        return None

    return run


NOTHING = DueKind(name=CLAIMED, urgency=WorkUrgency.DIGEST, begin=do_nothing, rows=0, together=20)


def worker_for(app: App, health: Health, *, claims: bool) -> DueWorker[App]:
    if not claims:
        return build_worker(app, health)
    return DueWorker(
        queue=app.system.due_work, kinds=(NOTHING,), tools=app, owner=app.instance, health=health
    )


async def main(*, claims: bool) -> None:
    return_freed_memory()
    collect_seldom()
    switch_threads_often()
    settings = read_settings(os.environ)
    configure_logging(settings.telemetry)
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with assemble(settings, needs_redis=False) as app, asyncio.TaskGroup() as loops:
        health = Health(probes={})
        run = partial(worker_for(app, health, claims=claims).keep_working, stopping)
        print("ready", flush=True)
        loops.create_task(run())
        if not claims:
            jobs = (job_named("digests", settings),)
            loops.create_task(clock_loop(app, health, jobs=jobs).run(stopping))


if __name__ == "__main__":
    asyncio.run(main(claims=sys.argv[1:] == ["claims"]))
