"""The outbox relay: how fast a backlog leaves PostgreSQL, and how soon after its commit a post is visible on
the stream.

Bare is the same events in pipelines of the same size straight into Redis, without an outbox. Both take turns.
Latency is measured at a steady 500 posts a second, landed five at a time by a writer in the same process,
from the moment the landing returned (its commit was just before) to the moment a blocked XREAD returns the
event.
"""

import asyncio
import platform
import tempfile
import time
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import asyncpg
from redis.asyncio import Redis

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostParsed
from telegram_assistant.pipeline import PIPELINE
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import open_wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import stream_key
from telegram_assistant.streams.relay import BATCH, Announcement, Relay, build_event
from telegram_assistant.telemetry.health import Health
from testkit.engines import Engine, running_engine
from testkit.harness import (
    Versions,
    arguments,
    at_least,
    cpu_seconds,
    finish,
    median,
    own_cpu_seconds,
    own_database,
    percentile,
)
from testkit.rows import make_writer, page_of, posts_of

KEY = stream_key(PostParsed, Lane.LIVE)
FILL = (
    "INSERT INTO outbox (channel_id, message_id, revision, created_at) SELECT 1, n, 1, now() "
    "FROM generate_series(1, $1::int) AS n"
)
PER_SECOND, AT_ONCE = 500, 5
LIMITS = at_least(0.6, "ratio")


async def run(rounds: int, events: int, seconds: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder, running_engine("redis", Path(folder)) as engine:
        async with (
            own_database("tga_bench_relay") as settings,
            open_pool(settings.database) as pool,
            open_wakeup(settings.database) as wakeup,
        ):
            redis = Redis.from_url(engine.url)
            admin = await asyncpg.connect(
                (settings.database.admin_url or settings.database.url).get_secret_value()
            )
            system = system_stores(pool, wakeup)
            relay = Relay(
                system.outbox,
                PIPELINE,
                redis=redis,
                health=Health(probes={}),
                partitions=1,
                max_entries=10 * events,
            )
            ours, bare, cpu = [], [], []
            for _ in range(rounds):
                bare.append(await bare_turn(redis, events))
                per_s, cpu_us = await relay_turn(relay, redis, admin, engine, events)
                ours.append(per_s)
                cpu.append(cpu_us)
            await admin.execute("TRUNCATE outbox")
            await redis.flushall()
            await relay.check()
            latencies = await visible_after(relay, redis, system, seconds)
            versions = await Versions.read(admin)
            await admin.close()
            await redis.aclose()
    return {
        "bench": "relay",
        "events_per_s": round(median(ours)),
        "p95_ms_at_500": round(percentile(latencies, 0.95), 1),
        "p50_ms_at_500": round(percentile(latencies, 0.5), 1),
        "bare_per_s": round(median(bare)),
        "ratio": round(median([mine / theirs for mine, theirs in zip(ours, bare, strict=True)]), 3),
        "cpu_us_per_event": round(median(cpu), 1),
        "events": events,
        "rounds": rounds,
        "landed": len(latencies),
        "redis_py": version("redis"),
        **versions.as_json(),
        "python": platform.python_version(),
    }


async def bare_turn(redis: Redis, events: int) -> float:
    await redis.flushall()
    now = datetime.now(UTC)
    began = time.perf_counter()
    for start in range(1, events + 1, BATCH):
        pipeline: Any = redis.pipeline(transaction=False)
        for number in range(start, start + BATCH):
            event = build_event(Announcement(PostId(ChannelId(1), MessageId(number)), 1, now))
            pipeline.execute_command("XADD", KEY, "*", PAYLOAD, event.model_dump_json())
        await pipeline.execute()
    return events / (time.perf_counter() - began)


async def relay_turn(
    relay: Relay, redis: Redis, admin: "asyncpg.Connection[asyncpg.Record]", engine: Engine, events: int
) -> tuple[float, float]:
    await redis.flushall()
    await admin.execute("TRUNCATE outbox")
    await relay.check()
    await admin.execute(FILL, events)
    backends = [
        row["pid"]
        for row in await admin.fetch("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
    ]
    used = -_cpu(engine.pid, backends)
    began = time.perf_counter()
    while await relay.step():
        pass
    took = time.perf_counter() - began
    used += _cpu(engine.pid, backends)
    assert await redis.xlen(KEY) == events
    return events / took, used / events * 1e6


def _cpu(redis_pid: int, backends: list[int]) -> float:
    """Ours, Redis's and PostgreSQL's."""
    return (
        own_cpu_seconds()
        + cpu_seconds(redis_pid)
        + sum(cpu_seconds(pid) for pid in backends if Path(f"/proc/{pid}").exists())
    )


async def visible_after(relay: Relay, redis: Redis, system: SystemStores, seconds: float) -> list[float]:
    """Milliseconds from commit to visible, of every post landed."""
    committed: dict[str, float] = {}
    visible: dict[str, float] = {}
    stopping = asyncio.Event()

    async def watch() -> None:
        last: Any = "0"
        while True:
            streams: Any = {KEY: last}
            answer: Any = await redis.xread(streams, count=1000, block=200)
            now = time.perf_counter()
            for _, entries in answer:
                for entry_id, fields in entries:
                    visible.setdefault(PostParsed.model_validate_json(fields[PAYLOAD]).post_id, now)
                    last = entry_id

    tasks = [asyncio.create_task(watch()), asyncio.create_task(relay.run(stopping))]
    writer, begun = make_writer(1), time.perf_counter()
    for number in range(int(seconds * PER_SECOND / AT_ONCE)):
        channel_id = ChannelId(2_000_000 + number)
        await system.channels.register(Channel(channel_id=channel_id, title="bench"))
        posts = tuple(
            posts_of(
                writer,
                channel_id,
                first_id=1,
                count=AT_ONCE,
                newest=datetime.now(UTC),
                span=timedelta(hours=1),
            )
        )
        await asyncio.sleep(max(0.0, begun + number * AT_ONCE / PER_SECOND - time.perf_counter()))
        await system.landing.land(page_of(posts), Claim(channel_id, 0))
        now = time.perf_counter()
        committed.update({f"{channel_id}/{post.message_id}": now for post in posts})
    async with asyncio.timeout(30):
        while len(visible) < len(committed):
            await asyncio.sleep(0.05)
    stopping.set()
    await tasks[1]
    tasks[0].cancel()
    await asyncio.wait(tasks)
    return [max(0.0, visible[post] - moment) * 1000 for post, moment in committed.items()]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    finish(asyncio.run(run(options.rounds, options.events, options.seconds)), options, *LIMITS)


if __name__ == "__main__":
    main()
