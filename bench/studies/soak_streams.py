"""A worker under steady load for a long time: does its memory grow, do tasks leak, do names of dead consumers
pile up?

Posts are landed at a steady rate, a fifth of them in the bulk lane. One worker is watched; beside it another
is killed and started again all the time, so that there is something to take over and to tidy. The full size
is an hour.
"""

import asyncio
import contextlib
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from redis.asyncio import Redis

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.pipeline import PIPELINE
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import open_wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from telegram_assistant.streams.groups import sources_of
from testkit.engines import free_port, running_engine
from testkit.harness import (
    arguments,
    at_most,
    finish,
    growth_percent_per_10_min,
    last_half,
    median,
    memory_bytes,
    own_database,
)
from testkit.rows import make_writer, page_of, posts_of

PAGE, PER_SECOND = 10, 100
LIMITS = (*at_most(1, "memory_growth_percent"), *at_most(5, "tasks_gained"), *at_most(1.1, "tasks_ratio"))


@dataclass
class Samples:
    """The watched worker, moment by moment."""

    moments: list[float] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)
    tasks: list[float] = field(default_factory=list)
    consumers: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)

    def slope_percent_per_10_min(self) -> float:
        return growth_percent_per_10_min(last_half(self.moments), last_half(self.rss_mb))


async def start_worker(environ: dict[str, str], port: int, log: Path) -> asyncio.subprocess.Process:
    with log.open("ab") as lines:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "telegram_assistant",
            "run",
            "--roles",
            "worker",
            env={**environ, "WORKER_PORT": str(port)},
            stdout=lines,
            stderr=lines,
        )


async def end_worker(worker: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.terminate()
    await worker.wait()


async def keep_killing(environ: dict[str, str], every_seconds: float, log: Path) -> None:
    port = free_port()
    while True:
        worker = await start_worker(environ, port, log)
        try:
            await asyncio.sleep(every_seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
            await worker.wait()


async def keep_landing(system: SystemStores) -> None:
    writer, began, number = make_writer(1), time.monotonic(), 0
    channels = [ChannelId(1_000_000 + place) for place in range(50)]
    for channel_id in channels:
        await system.channels.register(Channel(channel_id=channel_id, title="soak"))
    while True:
        channel_id = channels[number % len(channels)]
        first = number // len(channels) * PAGE + 1
        posts = tuple(
            posts_of(
                writer,
                channel_id,
                first_id=first,
                count=PAGE,
                newest=datetime.now(UTC),
                span=timedelta(minutes=1),
            )
        )
        lane = Lane.BULK if number % 5 == 0 else Lane.LIVE
        await system.landing.land(page_of(posts, lane=lane), Claim(channel_id, 0))
        number += 1
        await asyncio.sleep(max(0.0, began + number * PAGE / PER_SECOND - time.monotonic()))


async def until_answering(port: int) -> None:
    """A busy machine starts a worker slowly."""
    async with asyncio.timeout(60), httpx.AsyncClient() as client:
        while True:
            try:
                await client.get(f"http://127.0.0.1:{port}/ready")
            except httpx.TransportError:
                await asyncio.sleep(0.2)
            else:
                return


async def sample(samples: Samples, *, pid: int, port: int, redis: Redis, system: SystemStores) -> None:
    async with httpx.AsyncClient() as client:
        metrics = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
    consumers = 0
    for stage in PIPELINE:
        for source in sources_of(stage, 1):
            consumers = max(consumers, len(await redis.xinfo_consumers(source.key, stage.name)))
    samples.moments.append(time.monotonic())
    samples.rss_mb.append(memory_bytes(pid) / 2**20)
    samples.tasks.append(float(re.findall(r"^asyncio_tasks ([\d.]+)", metrics, re.MULTILINE)[0]))
    samples.consumers.append(consumers)
    samples.waiting.append(await system.outbox.waiting())


async def run(seconds: float) -> dict[str, object]:
    samples, every = Samples(), max(1.0, seconds / 360)
    with tempfile.TemporaryDirectory() as folder, running_engine("redis", Path(folder) / "redis") as engine:
        async with (
            own_database("tga_bench_soak") as settings,
            open_pool(settings.database) as pool,
            open_wakeup(settings.database) as wakeup,
            contextlib.AsyncExitStack() as at_the_end,
        ):
            system, redis, log = (
                system_stores(pool, wakeup),
                Redis.from_url(engine.url),
                Path(folder) / "workers.log",
            )
            environ = {
                **os.environ,
                "DATABASE_URL": settings.database.url.get_secret_value(),
                "REDIS_URL": engine.url,
            }
            port = free_port()
            watched = await start_worker(environ, port, log)
            at_the_end.push_async_callback(end_worker, watched)
            busy = [
                asyncio.create_task(keep_landing(system)),
                asyncio.create_task(keep_killing(environ, max(10.0, seconds / 60), log)),
            ]
            await until_answering(port)
            await asyncio.sleep(8)
            deadline = time.monotonic() + seconds
            while (
                time.monotonic() < deadline
                and watched.returncode is None
                and not any(task.done() for task in busy)
            ):
                await sample(samples, pid=watched.pid, port=port, redis=redis, system=system)
                await asyncio.sleep(every)
            for task in busy:
                if task.done():
                    task.result()
                task.cancel()
            await asyncio.wait(busy)
            assert watched.returncode is None, f"the worker died: {log.read_text(encoding='utf-8')[-2000:]}"
            async with asyncio.timeout(60):
                while await system.outbox.waiting():
                    await asyncio.sleep(0.2)
            await redis.aclose()
    tasks, consumers = last_half(samples.tasks), last_half(samples.consumers)
    earlier, later = tasks[: len(tasks) // 2], last_half(tasks)
    return {
        "bench": "soak_streams",
        "memory_slope_percent_per_10_min": round(samples.slope_percent_per_10_min(), 2),
        "rss_mb_first": round(samples.rss_mb[0], 1),
        "rss_mb_middle": round(samples.rss_mb[len(samples.rss_mb) // 2], 1),
        "rss_mb_last": round(samples.rss_mb[-1], 1),
        "tasks_middle": median(earlier),
        "tasks_last": median(later),
        "tasks_most": max(tasks),
        "consumers_middle": consumers[0],
        "consumers_last": consumers[-1],
        "consumers_most": max(consumers),
        "waiting_most": max(samples.waiting),
        "samples": len(samples.moments),
        "posts_per_s": PER_SECOND,
        "seconds": seconds,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="the full size is 3600")
    options = parser.parse_args()
    result = asyncio.run(run(options.seconds))
    finish(result | judge_memory(result), options, *LIMITS)


def judge_memory(result: dict[str, Any]) -> dict[str, float]:
    """Memory is judged in long runs only: in the first half hour caches are still filling.

    A few tasks more may be calls under way.
    """
    return {
        "memory_growth_percent": result["memory_slope_percent_per_10_min"]
        if result["seconds"] >= 3600
        else 0.0,
        "tasks_gained": result["tasks_last"] - result["tasks_middle"],
        "tasks_ratio": result["tasks_most"] / result["tasks_middle"],
    }


if __name__ == "__main__":
    main()
