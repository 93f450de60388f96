"""Overload of a worker: does it end when the machine is free again?

Posts come in at a steady rate, landed by a process of their own. First the worker is free. Then it gets a
tenth of a CPU (it is stopped for nine tenths of each 100 ms) while as many posts come in, so they pile up.
Then it is free again while posts still come in, until no more of them wait than before. CPU per post is that
of the worker, Redis and PostgreSQL, less the CPU that landing costs PostgreSQL, which is measured first.
"""

import asyncio
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from bench.workloads.joined_channels import assistant
from bench.workloads.landing_world import World, land_elsewhere
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import open_wakeup
from telegram_assistant.stores.postgres.stores import system_stores
from testkit.engines import free_port, running_engine
from testkit.harness import (
    Versions,
    arguments,
    at_most,
    cpu_seconds,
    find_postmaster,
    finish,
    own_database,
    postgres_cpu,
)

CPU_SHARE, PERIOD_SECONDS = 0.1, 0.1
LANDING_ALONE_SECONDS, FREE_SECONDS = 20.0, 60.0
GIVE_UP_AFTER = 3
"""Times the length of the overload."""
LIMITS = (
    *at_most(0, "dead_letters", "stopped_stages"),
    *at_most(1.5, "cpu_ratio"),
    *at_most(2, "recovery_ratio"),
)


@dataclass(frozen=True, slots=True)
class Moment:
    """The CPU that was used and the posts that were done so far."""

    cpu_s: float
    landed: int
    waiting: int
    """Posts that not every stage has passed."""

    @property
    def passed(self) -> int:
        return self.landed - self.waiting


@dataclass(frozen=True, slots=True)
class Meter:
    """Reads the CPU of the worker and its servers, and counts posts."""

    admin: "asyncpg.Connection[asyncpg.Record]"
    postmaster: int
    redis: int
    worker: int | None
    landing_s: float
    """CPU of PostgreSQL for landing one post."""

    async def read(self) -> Moment:
        row = await self.admin.fetchrow(
            "SELECT (SELECT count(*) FROM posts) landed, (SELECT count(*) FROM outbox) waiting"
        )
        assert row is not None
        used = postgres_cpu(self.postmaster) + cpu_seconds(self.redis)
        used += cpu_seconds(self.worker) if self.worker is not None else 0.0
        return Moment(used - self.landing_s * row["landed"], row["landed"], row["waiting"])


def cpu_ms_per_post(before: Moment, after: Moment) -> float:
    return (after.cpu_s - before.cpu_s) / max(after.passed - before.passed, 1) * 1000


@asynccontextmanager
async def landing(settings: Settings, next_id: int, per_second: float, seconds: float) -> AsyncIterator[None]:
    given = (settings.database, AiPolicy("local"), next_id, per_second, seconds)
    process = multiprocessing.get_context("spawn").Process(target=land_elsewhere, args=given)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        await asyncio.to_thread(process.join)


async def slow_down(pid: int, seconds: float) -> None:
    """Let the process run for a tenth of the time only."""
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(PERIOD_SECONDS * (1 - CPU_SHARE))
            os.kill(pid, signal.SIGCONT)
            await asyncio.sleep(PERIOD_SECONDS * CPU_SHARE)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


async def until_recovered(meter: Meter, waiting: int, seconds: float) -> tuple[float, Moment]:
    """Wait until no more posts wait than that; returns the seconds that it took."""
    began = time.monotonic()
    while (moment := await meter.read()).waiting > waiting and time.monotonic() - began < seconds:
        await asyncio.sleep(0.5)
    return time.monotonic() - began, moment


async def measure_landing(meter: Meter, settings: Settings, per_second: float) -> tuple[float, int]:
    """The CPU of PostgreSQL for landing one post, and how many posts were landed for it."""
    before = await meter.read()
    async with landing(settings, 1, per_second, LANDING_ALONE_SECONDS):
        await asyncio.sleep(LANDING_ALONE_SECONDS + 3)
    after = await meter.read()
    return (after.cpu_s - before.cpu_s) / (after.landed - before.landed), after.landed


async def run(per_second: float, seconds: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name, running_engine("redis", Path(name) / "redis") as engine:
        folder = Path(name)
        async with (
            own_database("tga_bench_overload") as settings,
            open_pool(settings.database) as pool,
            open_wakeup(settings.database) as wakeup,
        ):
            url = settings.database.admin_url or settings.database.url
            admin = await asyncpg.connect(url.get_secret_value())
            await World(system_stores(pool, wakeup), AiPolicy("local")).open()
            postmaster = await find_postmaster(admin)
            landing_s, landed = await measure_landing(
                Meter(admin, postmaster, engine.pid, None, 0.0), settings, per_second
            )
            environ = {
                **os.environ,
                "DATABASE_URL": settings.database.url.get_secret_value(),
                "REDIS_URL": engine.url,
                "WORKER_PORT": str(free_port()),
                "NEO4J_URI": "",
            }
            log = folder / "worker.log"
            async with assistant(environ, log, roles="worker") as worker:
                meter = Meter(admin, postmaster, engine.pid, worker.pid, landing_s)
                await until_recovered(meter, 0, 120)
                total = FREE_SECONDS + seconds * (1 + GIVE_UP_AFTER)
                async with landing(settings, landed, per_second, total):
                    figures = await overload(meter, worker.pid, per_second, seconds)
            dead = await admin.fetchval("SELECT count(*) FROM dead_letters")
            versions = await Versions.read(admin)
            await admin.close()
        lines = log.read_text(encoding="utf-8")
    return {
        "bench": "overload",
        **figures,
        "dead_letters": dead,
        "stopped_stages": lines.count("stage_stopped"),
        "batches_halved": lines.count("batch_halved"),
        "batches_split": lines.count("batch_split"),
        "posts_per_s": per_second,
        "overload_seconds": seconds,
        "cpu_share": CPU_SHARE,
        **versions.as_json(),
    }


async def overload(meter: Meter, worker: int, per_second: float, seconds: float) -> dict[str, Any]:
    await asyncio.sleep(5)  # the first posts are seldom as fast
    start = await meter.read()
    await asyncio.sleep(FREE_SECONDS)
    free = await meter.read()
    await slow_down(worker, seconds)
    slow = await meter.read()
    recovery_seconds, recovered = await until_recovered(
        meter, max(free.waiting, round(per_second)), seconds * GIVE_UP_AFTER
    )
    normal = cpu_ms_per_post(start, free)
    return {
        "cpu_ms_per_post_free": round(normal, 2),
        "cpu_ms_per_post_overloaded": round(cpu_ms_per_post(free, slow), 2),
        "cpu_ms_per_post_recovering": round(cpu_ms_per_post(slow, recovered), 2),
        "cpu_ratio": round(cpu_ms_per_post(free, slow) / normal, 2),
        "cpu_ratio_to_the_end": round(cpu_ms_per_post(free, recovered) / normal, 2),
        "waiting_free": free.waiting,
        "waiting_overloaded": slow.waiting,
        "recovery_seconds": round(recovery_seconds, 1),
        "recovery_ratio": round(recovery_seconds / seconds, 2),
        "posts": recovered.landed,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts-per-second", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=300, help="the length of the overload")
    parser.add_argument("--quick", action="store_true", help="an overload of 30 seconds")
    options = parser.parse_args()
    seconds = 30 if options.quick else options.seconds
    finish(asyncio.run(run(options.posts_per_second, seconds)), options, *LIMITS)


if __name__ == "__main__":
    main()
