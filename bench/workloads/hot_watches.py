"""One word that ten thousand tenants watch in one channel: the cost of its posts, the delay of everybody
else, growth with the watches of strangers, and several workers beside each other.
"""

import asyncio
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
from redis.asyncio import Redis

from bench.workloads.search_texts import Written, as_post, make_texts, some_texts
from telegram_assistant.domain.ids import PostId
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.posts import derived_of
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from testkit.alert_workers import (
    alert_workers,
    announce,
    are_done,
    ensure_group,
    load_alert_counts,
    sample_waits,
)
from testkit.alert_world import (
    FIRST_CHANNEL,
    FIRST_READER,
    AlertWorld,
    add_watches,
    hot_posts,
    settle,
    store,
    store_stories,
    stories,
)
from testkit.engines import running_engine
from testkit.harness import Versions, cpu_seconds, median, own_cpu_seconds, own_database, percentile

COSTED = 7
"""Hot posts whose cost is measured, after one to warm up."""
IDLE_SECONDS, BUSY_SECONDS = 30.0, 40.0
OTHERS_PER_SECOND = 25
HOT_EVERY_SECONDS = 0.6
LOST_SECONDS = 60.0
GROWN_POSTS, BATCH = 2000, 100
TENANTS, CHANNELS, FOLLOWED, WATCHES_EACH = 1000, 2000, 20, 100

type Admin = asyncpg.Connection[asyncpg.Record]


@dataclass(frozen=True, slots=True)
class HotSizes:
    """How much is measured."""

    world: AlertWorld
    idle_seconds: float
    busy_seconds: float
    watches: int
    """And a tenth of them."""
    stories: int


FULL = HotSizes(AlertWorld(), IDLE_SECONDS, BUSY_SECONDS, 1_000_000, 400)
QUICK = HotSizes(AlertWorld(followers=2000), 5.0, 8.0, 100_000, 100)


async def run_hot(sizes: HotSizes) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        settings, admin, system = await _open(stack, "tga_bench_hot")
        await settle(admin, sizes.world)
        costs = await _cost_of_hot(system, admin, sizes.world)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        engine = stack.enter_context(running_engine("redis", folder / "redis"))
        redis = Redis.from_url(engine.url)
        stack.push_async_callback(redis.aclose)
        await ensure_group(redis)
        environ = {
            **os.environ,
            "DATABASE_URL": settings.database.url.get_secret_value(),
            "REDIS_URL": engine.url,
            "NEO4J_URI": "",
            "QDRANT_URL": "",
        }
        others = await _delay_others(environ, redis, settings, admin, sizes)
        workers = await _compare_workers(environ, redis, admin, sizes)
        versions = await Versions.read(admin)
    return {
        "bench": "watches_hot",
        "followers": sizes.world.followers,
        **costs,
        **others,
        **await _grow(sizes.watches),
        **workers,
        **versions.as_json(),
    }


async def _open(stack: AsyncExitStack, name: str) -> tuple[Settings, Admin, SystemStores]:
    settings = await stack.enter_async_context(own_database(name))
    pool = await stack.enter_async_context(open_pool(settings.database))
    url = os.environ["DATABASE_ADMIN_URL"].rsplit("/", 1)[0]
    path = settings.database.url.get_secret_value().rsplit("/", 1)[1]
    admin = await asyncpg.connect(f"{url}/{path}", command_timeout=3600)
    stack.push_async_callback(admin.close)
    return settings, admin, system_stores(pool, Wakeup())


async def _cpu_seconds(admin: Admin) -> float:
    rows = await admin.fetch(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    return own_cpu_seconds() + sum(cpu_seconds(row["pid"]) for row in rows)


async def _cost_of_hot(system: SystemStores, admin: Admin, world: AlertWorld) -> dict[str, object]:
    """CPU of this process and of its sessions in PostgreSQL for posts of which each follower is told, and for
    one more post of the same stories, of which nobody is told again.
    """
    grouped = [[first, other] for first, other in zip(*[hot_posts(2 * COSTED + 2)] * 2, strict=True)]
    await store_stories(admin, grouped)
    news, again = [story[0].id for story in grouped], [story[1].id for story in grouped]
    first_costs = [await _cost(system, admin, post) for post in news]
    alerts = await admin.fetchval("SELECT count(*) FROM alerts")
    repeated = [await _cost(system, admin, post) for post in again]
    after = await admin.fetchval("SELECT count(*) FROM alerts")
    return {
        "ms_per_candidate": round(median(first_costs[1:]) / world.followers, 4),
        "ms_per_candidate_again": round(median(repeated[1:]) / world.followers, 4),
        "alerts_per_hot_post": alerts / len(news),
        "alerts_of_second_posts": after - alerts,
        "hot_posts_cost_ms": [round(cost) for cost in first_costs],
    }


async def _cost(system: SystemStores, admin: Admin, post: PostId) -> float:
    derived = [derived_of(stored) for stored in await system.posts.load([post])]
    began = await _cpu_seconds(admin)
    await system.watch_matching.raise_alerts(derived)
    while await system.watch_matching.fan_out() is not None:
        pass
    return (await _cpu_seconds(admin) - began) * 1e3


NOTIFY = """
CREATE FUNCTION note_alert() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN PERFORM pg_notify('alerted', NEW.channel_id || '/' || NEW.message); RETURN NULL; END $$;
CREATE TRIGGER note_alert AFTER INSERT ON alerts FOR EACH ROW WHEN (NEW.tenant_id >= 1000000)
    EXECUTE FUNCTION note_alert();
"""
"""For alerts of readers only: the followers of the hot channel have smaller numbers."""


async def _delay_others(
    environ: Mapping[str, str], redis: Redis, settings: Settings, admin: Admin, sizes: HotSizes
) -> dict[str, object]:
    """How long alerts of readers take, from the announcement of the post, while nothing else happens and
    while posts pass of which all followers are told. One worker does both.
    """
    await admin.execute(NOTIFY)
    reader = sizes.world.readers + FIRST_READER
    quiet = FIRST_CHANNEL + sizes.world.channels
    await admin.execute(
        "INSERT INTO tenants (tenant_id, name) OVERRIDING SYSTEM VALUE VALUES ($1, 'reader')", reader
    )
    await admin.execute("INSERT INTO channels (channel_id, title) VALUES ($1, 'Quiet')", quiet)
    await admin.execute(
        "INSERT INTO subscriptions (tenant_id, channel_id, history_days) VALUES ($1, $2, 60)", reader, quiet
    )
    await add_watches(admin, [(reader, "дирижабль")])
    async with alert_workers(environ, 1):
        await _passing(redis, admin, settings, quiet, 1, seconds=3.0)
        idle = await _passing(redis, admin, settings, quiet, 10_001, seconds=sizes.idle_seconds)
        news = list(hot_posts(int(sizes.busy_seconds / HOT_EVERY_SECONDS), first=100_000))
        hot = asyncio.create_task(_keep_hot(redis, await store(admin, news)))
        busy = await _passing(redis, admin, settings, quiet, 20_001, seconds=sizes.busy_seconds)
        await hot
        while not await are_done(redis, admin):
            await asyncio.sleep(0.1)
    await admin.execute("DROP TRIGGER note_alert ON alerts")
    p99 = [round(percentile(moments, 0.99), 2) for moments in (idle, busy)]
    return {
        "others_p50_ms": {"idle": round(median(idle), 2), "busy": round(median(busy), 2)},
        "others_p99_ms": {"idle": p99[0], "busy": p99[1]},
        "others_p99_ratio": round(p99[1] / p99[0], 2),
        "others": len(busy),
        "hot_posts_meanwhile": len(news),
    }


async def _keep_hot(redis: Redis, posts: Sequence[PostId]) -> None:
    began = time.monotonic()
    for number, post in enumerate(posts):
        await asyncio.sleep(max(0.0, began + number * HOT_EVERY_SECONDS - time.monotonic()))
        await announce(redis, [post])


async def _passing(
    redis: Redis, admin: Admin, settings: Settings, channel_id: int, first: int, *, seconds: float
) -> list[float]:
    """Milliseconds of each alert. The posts are stored before, and each has words of its own."""
    count = int(seconds * OTHERS_PER_SECOND)
    now = datetime.now(UTC).replace(microsecond=0)
    posts = [
        as_post(channel_id, number, now, f"Дирижабль номер{number} вылетел")
        for number in range(first, first + count)
    ]
    await store(admin, posts)
    alerted: dict[str, float] = {}
    connection = await asyncpg.connect(settings.database.url.get_secret_value())

    def note(*arguments: object) -> None:
        alerted.setdefault(str(arguments[-1]), time.perf_counter())

    await connection.add_listener("alerted", note)
    announced: dict[str, float] = {}
    began = time.monotonic()
    for number, post in enumerate(posts):
        await asyncio.sleep(max(0.0, began + number / OTHERS_PER_SECOND - time.monotonic()))
        announced[str(post.id)] = time.perf_counter()
        await announce(redis, [post.id])
    deadline = time.monotonic() + LOST_SECONDS
    while len(alerted) < len(posts) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    await connection.close()
    lost = LOST_SECONDS * 1e3
    return [(alerted[post] - moment) * 1e3 if post in alerted else lost for post, moment in announced.items()]


async def _compare_workers(
    environ: Mapping[str, str], redis: Redis, admin: Admin, sizes: HotSizes
) -> dict[str, object]:
    """The same posts with 1, 2 and 4 workers: posts of stories, among them a few hot ones."""
    grouped = list(stories(sizes.world, sizes.stories, first=1))
    await admin.execute("TRUNCATE story_posts, posts")
    posts = await store_stories(admin, grouped)
    random.Random(4).shuffle(posts)
    for place, post in enumerate(await store(admin, list(hot_posts(6)))):
        posts.insert((place + 1) * len(posts) // 7, post)
    first: Counter[Sequence[object]] = Counter()
    shares, per_s, different, twice = {}, {}, 0, 0
    for count in (1, 2, 4):
        await admin.execute("TRUNCATE alerts, alert_fanouts")
        async with alert_workers(environ, count):
            stopping = asyncio.Event()
            began = time.monotonic()
            sampling = asyncio.create_task(_sampling(environ, stopping))
            await announce(redis, posts)
            while not await are_done(redis, admin):
                await asyncio.sleep(0.05)
            took = time.monotonic() - began
            stopping.set()
            waits = await sampling
        counts = await load_alert_counts(admin)
        first = first or counts
        shares[str(count)] = round(waits["waiting"] / max(waits["transactions"], 1), 3)
        per_s[str(count)] = round(len(posts) / took)
        different += len(counts.keys() ^ first.keys())
        twice += sum(times > 1 for times in counts.values())
    return {
        "lock_share": shares,
        "lock_share_4": shares["4"],
        "posts_per_s": per_s,
        "worker_posts": len(posts),
        "worker_alerts": first.total(),
        "different": different,
        "twice": twice,
    }


async def _sampling(environ: Mapping[str, str], stopping: asyncio.Event) -> Counter[str]:
    connection = await asyncpg.connect(environ["DATABASE_URL"])
    try:
        return await sample_waits(connection, stopping)
    finally:
        await connection.close()


async def _grow(watches: int) -> dict[str, object]:
    """Posts beside a tenth of the watches and beside all of them. The others belong to tenants who follow
    other channels; their watches ask for words that are as frequent.
    """
    async with AsyncExitStack() as stack:
        few, many = [await _open(stack, f"tga_bench_hot_{name}") for name in ("few", "many")]
        written = make_texts(1)
        texts = [text for text, _ in some_texts(written, GROWN_POSTS)]
        watched = [numbers for _, numbers in some_texts(written, 20_000)]
        now = datetime.now(UTC).replace(microsecond=0)
        posts = [
            as_post(1 + n % CHANNELS, 1 + n // CHANNELS, now - timedelta(seconds=n), text)
            for n, text in enumerate(texts)
        ]
        for (_, admin, _), count in ((few, watches // 10), (many, watches)):
            await _populate(admin, written, watched, count // WATCHES_EACH)
            await store(admin, posts)
            await admin.execute("VACUUM ANALYZE")
        took: dict[str, list[float]] = {"few": [], "many": []}
        places = [post.id for post in posts]
        for start in range(0, len(places), BATCH):
            for name, (_, admin, system) in (("few", few), ("many", many)):
                derived = [
                    derived_of(stored) for stored in await system.posts.load(places[start : start + BATCH])
                ]
                began = await _cpu_seconds(admin)
                await system.watch_matching.raise_alerts(derived)
                took[name].append((await _cpu_seconds(admin) - began) * 1e3 / len(derived))
        few_ms, many_ms = median(took["few"]), median(took["many"])
        alerts = [await admin.fetchval("SELECT count(*) FROM alerts") for _, admin, _ in (few, many)]
    return {
        "watches": watches,
        "post_cpu_ms": {"few": round(few_ms, 3), "many": round(many_ms, 3)},
        "growth": round(many_ms / few_ms, 2),
        "alerts_of_posts": alerts,
        "strangers_change_nothing": int(alerts[0] == alerts[1]),
    }


async def _populate(
    admin: Admin, written: Written, watched: Sequence[Sequence[int]], tenant_count: int
) -> None:
    """Each thousand tenants follow two thousand channels of their own, and watch two words that stand
    together in some post.
    """
    await admin.execute(
        "INSERT INTO tenants (tenant_id, name) OVERRIDING SYSTEM VALUE SELECT n, 'bench ' || n "
        "FROM generate_series(10, $1::int) n",
        tenant_count + 9,
    )
    await admin.execute(
        "INSERT INTO channels (channel_id, title) SELECT n, 'Channel ' || n "
        "FROM generate_series(1, $1::int) n",
        CHANNELS * -(-tenant_count // TENANTS),
    )
    rng = random.Random(2)
    pairs, queries = [], []
    for number in range(tenant_count):
        first = number // TENANTS * CHANNELS
        pairs += [(10 + number, first + channel) for channel in rng.sample(range(1, CHANNELS + 1), FOLLOWED)]
        for _ in range(WATCHES_EACH):
            numbers = sorted(set(rng.choice(watched)))
            one_word, other = rng.sample([n for n in numbers if n > 200] or numbers, 2)
            if written.posts_with[one_word] > written.posts_with[other]:
                one_word, other = other, one_word
            queries.append((10 + number, f"{written.vocabulary[one_word]} {written.vocabulary[other]}"))
    await admin.execute(
        "INSERT INTO subscriptions (tenant_id, channel_id, history_days) SELECT t, c, 60 "
        "FROM unnest($1::bigint[], $2::bigint[]) AS n(t, c)",
        [tenant for tenant, _ in pairs],
        [channel for _, channel in pairs],
    )
    for start in range(0, len(queries), 50_000):
        await add_watches(admin, queries[start : start + 50_000])
