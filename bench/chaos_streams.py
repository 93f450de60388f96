"""Streams under random trouble: every event's effect exactly once in the store, nothing left pending, only
poison buried.

A schedule is drawn from its seed: posts are landed at a steady rate while workers are killed and redeployed,
Redis is killed, restarted empty or with an append-only file five seconds old, and the roads to Redis and
PostgreSQL are slow, cut or silent; some posts are slow, some are poison. Then everything is mended, and
within a minute all must be done. A failing schedule is printed with its seed: run it again with `--seed SEED
--schedules 1`.
"""

import asyncio
import itertools
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from bench.chaos.fleet import Fleet
from bench.chaos.worker import STAGES
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.posts.post import Post, fingerprint
from telegram_assistant.features.operations.dead_letters import discard
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import open_wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from telegram_assistant.streams.monitoring import measure_stages
from testkit.engines import running_engine
from testkit.harness import arguments, at_most, finish, own_database
from testkit.rows import page_of
from testkit.toxiproxy import ToxiProxy

WORKERS = 3
TROUBLE_SECONDS = 12.0
CALM_SECONDS = 90.0
POSTS_PER_PAGE = 20
POISON = ("failing", "rejected", "deadly")
FAULTS = (
    "kill_worker",
    "kill_worker",
    "deploy",
    "kill_redis",
    "empty_redis",
    "old_redis",
    "slow_road",
    "cut_road",
    "silent_road",
    "database_cut",
)
TABLES = """
CREATE TABLE chaos_done (stage text, post_id text, revision int, PRIMARY KEY (stage, post_id, revision));
CREATE TABLE chaos_totals (stage text PRIMARY KEY, total bigint NOT NULL DEFAULT 0);
GRANT ALL ON chaos_done, chaos_totals TO PUBLIC;
"""
LIMITS = at_most(0, "failed_seeds")


@dataclass
class Landed:
    """The posts of one schedule: those that must get through, and those that must not."""

    good: set[str] = field(default_factory=set)
    poison: set[str] = field(default_factory=set)


@dataclass
class Found:
    """The mistakes after a schedule; all counts must be zero."""

    lost: int = 0
    twice: int = 0
    stuck: int = 0
    innocent_buried: int = 0
    poison_alive: int = 0

    def __bool__(self) -> bool:
        return any(vars(self).values())


@dataclass
class Bench:
    """Everything that a schedule needs."""

    fleet: Fleet
    redis: Redis
    """A direct connection to the server: for the judge, not for the workers."""
    system: SystemStores
    admin: "asyncpg.Connection[asyncpg.Record]"
    folder: Path
    old_copy: Path | None = None
    channel_ids: Any = field(default_factory=lambda: iter(range(1_000_000, 2_000_000)))
    faults: Counter[str] = field(default_factory=Counter)


async def run_schedule(bench: Bench, seed: int) -> Found:
    landed = Landed()
    await bench.fleet.start(WORKERS)
    try:
        await make_trouble(bench, landed, seed)
        wrongs = await judge(bench, landed)
    finally:
        await bench.fleet.end()
    for letter in await bench.system.dead_letters.newest(limit=1000):
        await discard(letter.dead_letter_id, letters=bench.system.dead_letters, redis=bench.redis)
    return wrongs


async def make_trouble(bench: Bench, landed: Landed, seed: int) -> None:
    rng = random.Random(seed)
    began = time.monotonic()
    bench.old_copy = None
    copying = asyncio.create_task(keep_old_copies(bench))
    landing = asyncio.create_task(land(bench, landed, random.Random(seed + 1), until=began + TROUBLE_SECONDS))
    for moment in sorted(rng.uniform(0.5, TROUBLE_SECONDS) for _ in range(rng.randint(4, 9))):
        await asyncio.sleep(max(0.0, began + moment - time.monotonic()))
        await break_something(bench, rng)
    await landing
    copying.cancel()
    for road in (bench.fleet.redis_road, bench.fleet.database_road):
        await road.mend()


async def land(bench: Bench, landed: Landed, rng: random.Random, *, until: float) -> None:
    """About 200 posts a second, one page in five in the bulk lane; some posts are slow, a few are poison."""
    poison = list(POISON)
    while time.monotonic() < until:
        channel_id = ChannelId(next(bench.channel_ids))
        await bench.system.channels.register(Channel(channel_id=channel_id, title="chaos"))
        texts = [rng.choices(("plain", "slow"), weights=(300, 1))[0] for _ in range(POSTS_PER_PAGE)]
        if poison and rng.random() < 0.1:
            texts[rng.randrange(POSTS_PER_PAGE)] = poison.pop()
        now = datetime.now(UTC)
        posts = tuple(
            Post(
                channel_id=channel_id,
                message_id=MessageId(number),
                text=text,
                posted_at=now - timedelta(minutes=number),
                content_hash=fingerprint(text),
            )
            for number, text in enumerate(texts, start=1)
        )
        lane = Lane.BULK if rng.random() < 0.2 else Lane.LIVE
        await bench.system.landing.land(page_of(posts, lane=lane), Claim(channel_id, 0))
        for post in posts:
            (landed.poison if post.text in POISON else landed.good).add(f"{channel_id}/{post.message_id}")
        await asyncio.sleep(POSTS_PER_PAGE / 200)


async def keep_old_copies(bench: Bench) -> None:
    """Copies the file of Redis, so that a copy of five to ten seconds ago is always at hand."""
    for number in itertools.count():
        copy = bench.folder / f"copy-{number % 2}"
        await asyncio.to_thread(bench.fleet.engine.keep_copy, copy)
        await asyncio.sleep(5)
        bench.old_copy = copy


async def break_something(bench: Bench, rng: random.Random) -> None:
    fault = rng.choice(FAULTS)
    bench.faults[fault] += 1
    fleet = bench.fleet
    match fault:
        case "kill_worker":
            fleet.kill_one(rng.randrange(WORKERS))
        case "deploy":
            fleet.deploy_one(rng.randrange(WORKERS))
        case "kill_redis" | "empty_redis" | "old_redis":
            await asyncio.to_thread(fleet.engine.kill)
            await asyncio.sleep(rng.uniform(0.1, 1.5))
            if fault == "empty_redis":
                fleet.engine.forget_everything()
            if fault == "old_redis" and bench.old_copy is not None:
                fleet.engine.go_back_to(bench.old_copy)
            await asyncio.to_thread(fleet.engine.start)
        case "slow_road":
            await fleet.redis_road.spoil("latency", latency=rng.randint(50, 400), jitter=50)
            await asyncio.sleep(rng.uniform(0.5, 2))
            await fleet.redis_road.mend()
        case "silent_road":
            await fleet.redis_road.spoil("timeout", timeout=0)
            await asyncio.sleep(rng.uniform(0.5, 3))
            await fleet.redis_road.mend()
        case "cut_road":
            await fleet.redis_road.disable()
        case "database_cut":
            await fleet.database_road.disable()


async def judge(bench: Bench, landed: Landed) -> Found:
    """Wait until all is done, or until nothing more is done for so long; then count what is wrong."""
    deadline, least_lost = time.monotonic() + CALM_SECONDS, None
    while True:
        wrongs = await look_for_wrongs(bench, landed)
        if least_lost is None or wrongs.lost < least_lost:
            deadline, least_lost = time.monotonic() + CALM_SECONDS, wrongs.lost
        if not wrongs or wrongs.innocent_buried or wrongs.twice or time.monotonic() > deadline:
            return wrongs
        await asyncio.sleep(0.5)


async def look_for_wrongs(bench: Bench, landed: Landed) -> Found:
    rows = await bench.admin.fetch(
        "SELECT stage, count(*) AS done FROM chaos_done WHERE post_id = ANY($1::text[]) GROUP BY 1",
        list(landed.good),
    )
    done = {row["stage"]: row["done"] for row in rows}
    twice = await bench.admin.fetchval(
        "SELECT (SELECT sum(total) FROM chaos_totals) - (SELECT count(*) FROM chaos_done)"
    )
    waiting = await bench.admin.fetch("SELECT channel_id || '/' || message_id AS post_id FROM outbox")
    letters = {
        f"{letter.channel_id}/{letter.message_id}"
        for letter in await bench.system.dead_letters.newest(limit=1000)
    }
    states = await measure_stages(bench.redis, STAGES, 1)
    return Found(
        lost=sum(len(landed.good) - done.get(stage.name, 0) for stage in STAGES),
        twice=int(twice or 0),
        stuck=sum(state.lag + state.pending for state in states)
        + len({row["post_id"] for row in waiting} - landed.poison),
        innocent_buried=len(letters - landed.poison),
        poison_alive=len(landed.poison - letters),
    )


async def run(
    seconds: float | None, schedules: int | None, seed: int, keep_log: Path | None
) -> dict[str, object]:
    toxiproxy = os.environ.get("TEST_TOXIPROXY_URL")
    if not toxiproxy:
        sys.exit('the servers are not running: scripts/servers up && eval "$(scripts/servers env)"')
    failed: list[int] = []
    total, number, began = Counter[str](), 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder, running_engine("redis", Path(folder) / "redis") as engine:
        async with (
            httpx.AsyncClient(base_url=toxiproxy, timeout=10) as api,
            own_database("tga_bench_chaos") as settings,
            open_pool(settings.database) as pool,
            open_wakeup(settings.database) as wakeup,
        ):
            os.environ["CHAOS_DATABASE_URL"] = settings.database.url.get_secret_value()
            admin = await asyncpg.connect(
                (settings.database.admin_url or settings.database.url).get_secret_value()
            )
            await admin.execute(TABLES)
            await admin.executemany(
                "INSERT INTO chaos_totals (stage) VALUES ($1)", [(stage.name,) for stage in STAGES]
            )
            server = await admin.fetchval("SELECT host(inet_server_addr()) || ':' || inet_server_port()")
            roads = ToxiProxy(api, "redis", f"127.0.0.1:{engine.port}"), ToxiProxy(api, "postgres", server)
            for road in roads:
                await road.open()
            bench = Bench(
                Fleet(engine, *roads, log=keep_log or Path(folder) / "workers.log"),
                Redis.from_url(engine.url, retry=Retry(NoBackoff(), 5)),
                system_stores(pool, wakeup),
                admin,
                Path(folder),
            )
            while (
                (number < schedules) if schedules is not None else (time.monotonic() - began < (seconds or 0))
            ):
                fleet = Fleet(engine, *roads, log=bench.fleet.log)
                bench.fleet = fleet
                wrongs = await run_schedule(bench, seed + number)
                total.update(vars(wrongs))
                total["deaths"] += fleet.deaths
                if wrongs:
                    failed.append(seed + number)
                print(
                    f"schedule {seed + number}: {'FAILED ' + str(wrongs) if wrongs else 'right'} "
                    f"({time.monotonic() - began:.0f} s)",
                    file=sys.stderr,
                    flush=True,
                )
                number += 1
            events = await admin.fetchval("SELECT count(*) FROM chaos_done")
            for road in roads:
                await road.close()
            await bench.redis.aclose()
            await admin.close()
    return {
        "bench": "chaos_streams",
        "schedules": number,
        "lost": total["lost"],
        "twice": total["twice"],
        "stuck": total["stuck"],
        "innocent_buried": total["innocent_buried"],
        "poison_alive": total["poison_alive"],
        "failed_seeds": failed,
        "effects": events,
        "worker_deaths": total["deaths"],
        "faults": dict(bench.faults),
        "seconds": round(time.monotonic() - began),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, help="run schedules for so long (the full size is 2700)")
    parser.add_argument("--schedules", type=int, help="run so many schedules")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="keep the workers' log lines here")
    options = parser.parse_args()
    result = asyncio.run(
        run(
            options.seconds or (None if options.schedules else 120),
            options.schedules,
            options.seed,
            options.log,
        )
    )
    finish(result, options, *LIMITS)


if __name__ == "__main__":
    main()
