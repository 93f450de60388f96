"""Several workers raise alerts at once: the same ones as one worker that takes post after post, each once."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import batched
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.ids import PostId
from telegram_assistant.features.watches.fanouts import keep_fanning_out
from telegram_assistant.settings import DatabaseLogin, read_settings
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.posts import derived_without_names
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from testkit.alert_workers import (
    AlertWorkers,
    alert_workers,
    announce,
    are_done,
    ensure_group,
    load_alert_counts,
)
from testkit.alert_world import (
    FIRST_FOLLOWER,
    HOT_CHANNEL,
    AlertWorld,
    hot_posts,
    settle,
    slow_writers_down,
    store,
    store_stories,
    stories,
    switch_locks_off,
)
from testkit.engines import running_engine
from tests.conftest import Admin

WORLD = AlertWorld(followers=1200, readers=40)
MIN_KILLS = 3
MAX_TRIES = 5
type Counts = Counter[Sequence[object]]


@pytest.fixture
async def admin_here(migrated_database: dict[str, str]) -> AsyncIterator[Admin]:
    connection = await asyncpg.connect(migrated_database["DATABASE_ADMIN_URL"])
    await settle(connection, WORLD)
    yield connection
    await connection.close()


@pytest.fixture
async def system_here(migrated_database: dict[str, str]) -> AsyncIterator[SystemStores]:
    settings = read_settings(migrated_database)
    async with open_pool(settings.database, DatabaseLogin.SYSTEM) as pool:
        yield system_stores(pool, Wakeup())


async def match(system: SystemStores, posts: Sequence[PostId]) -> None:
    await system.watch_matching.raise_alerts(
        [derived_without_names(stored) for stored in await system.posts.load(posts)]
    )


async def fan_out_all(system: SystemStores) -> None:
    while await system.watch_matching.fan_out() is not None:
        pass


async def match_in_order(system: SystemStores, admin: Admin, posts: Sequence[PostId]) -> Counts:
    """One worker that takes one post after the other."""
    for post in posts:
        await match(system, [post])
        await fan_out_all(system)
    return await load_alert_counts(admin)


async def make_posts(admin: Admin, story_count: int, hot_count: int) -> list[PostId]:
    posts = await store_stories(admin, list(stories(WORLD, story_count)))
    random.Random(5).shuffle(posts)
    for place, post in enumerate(await store(admin, list(hot_posts(hot_count)))):
        posts.insert(place * len(posts) // hot_count, post)
    return posts


async def kill_often(workers: AlertWorkers, announced: asyncio.Event) -> None:
    """Kills a worker again and again, at least three times, and starts another one."""
    kills, rng = 0, random.Random(6)
    while kills < MIN_KILLS or not announced.is_set():
        await asyncio.sleep(rng.uniform(0.05, 0.4))
        await workers.kill()
        kills += 1
        await workers.start()


@pytest.mark.full  # bench.chaos_ingest counts the alerts of killed workers in CI
async def test_alerts_are_the_same_with_several_workers_that_are_killed(
    migrated_database: dict[str, str], admin_here: Admin, system_here: SystemStores, tmp_path: Path
) -> None:
    posts = await make_posts(admin_here, 150, 4)
    expected = await match_in_order(system_here, admin_here, posts)
    assert expected.total() > 4 * WORLD.followers
    assert set(expected.values()) == {1}
    async with AsyncExitStack() as stack:
        engine = stack.enter_context(running_engine("redis", tmp_path / "redis"))
        redis = Redis.from_url(engine.url)
        stack.push_async_callback(redis.aclose)
        await ensure_group(redis)
        await admin_here.execute("TRUNCATE alerts, alert_fanouts")
        async with alert_workers({**migrated_database, "REDIS_URL": engine.url}, 3) as workers:
            announced = asyncio.Event()
            killing = asyncio.create_task(kill_often(workers, announced))
            for some in batched(posts, 60):
                await announce(redis, some)
                await asyncio.sleep(0.5)
            announced.set()
            await killing
            while not await are_done(redis, admin_here):
                await asyncio.sleep(0.05)
        assert await load_alert_counts(admin_here) == expected


async def test_a_story_that_others_match_at_the_same_time_is_told_once(
    admin_here: Admin, system_here: SystemStores
) -> None:
    posts = await make_posts(admin_here, 60, 1)
    expected = await match_in_order(system_here, admin_here, posts)
    await slow_writers_down(admin_here)
    for seed in range(3):
        await admin_here.execute("TRUNCATE alerts, alert_fanouts")
        random.Random(seed).shuffle(posts)
        await asyncio.gather(*(match(system_here, some) for some in batched(posts, 7)))
        await asyncio.gather(*(fan_out_all(system_here) for _ in range(4)))
        assert await load_alert_counts(admin_here) == expected


async def test_without_locks_stories_are_told_twice(
    admin_here: Admin, migrated_database: dict[str, str]
) -> None:
    """Otherwise the tests beside this one would prove nothing. The unique key does not help where a private
    channel's post is of the story.
    """
    posts = await make_posts(admin_here, 60, 0)
    await slow_writers_down(admin_here)
    await switch_locks_off(admin_here)
    async with open_pool(read_settings(migrated_database).database, DatabaseLogin.SYSTEM) as pool:
        system = system_stores(pool, Wakeup())
        twice, seed = 0, 0
        while not twice:
            seed += 1
            await admin_here.execute("TRUNCATE alerts")
            random.Random(seed).shuffle(posts)
            await asyncio.gather(*(match(system, some) for some in batched(posts, 7)))
            twice = sum(times > 1 for times in (await load_alert_counts(admin_here)).values())
            assert twice or seed < MAX_TRIES


async def test_stories_that_become_one_meanwhile_are_told_once_from_then_on(
    admin_here: Admin, system_here: SystemStores
) -> None:
    """Two posts were told apart if the second of them was matched before the merge, and never after it."""
    grouped = list(stories(WORLD, 60))
    posts = await store_stories(admin_here, grouped)
    merged_at: dict[UUID, datetime] = {}

    async def merge() -> None:
        for number in range(1, 60, 2):
            target, other = UUID(int=number), UUID(int=number + 1)
            await admin_here.execute(
                "UPDATE story_posts SET story_id = $1 WHERE story_id = $2",
                *((target, other) if number % 4 == 1 else (other, target)),
            )
            merged_at[target if number % 4 == 1 else other] = await admin_here.fetchval(
                "SELECT clock_timestamp()"
            )

    random.Random(7).shuffle(posts)
    await asyncio.gather(merge(), *(match(system_here, some) for some in batched(posts, 9)))
    rows = await admin_here.fetch(
        """
        SELECT s.story_id, max(a.created_at) AS latest, count(*) AS times FROM alerts a
        JOIN story_posts s ON s.channel_id = a.channel_id AND s.message_id = a.message
        GROUP BY a.tenant_id, a.watch_id, s.story_id
        """
    )
    assert rows
    for row in rows:
        assert row["times"] == 1 or row["latest"] < merged_at[row["story_id"]]
    before = await admin_here.fetchval("SELECT count(*) FROM alerts")
    await match(system_here, posts)
    assert await admin_here.fetchval("SELECT count(*) FROM alerts") == before


async def test_posts_of_a_private_and_of_a_public_channel_in_one_batch_are_one_alert(
    admin_here: Admin, system_here: SystemStores
) -> None:
    """A private post decides for nobody else what a story is about, and it is of that story all the same."""
    grouped = [story for story in stories(WORLD, 60) if any(post.channel_id % 20 == 10 for post in story)]
    assert grouped
    posts = await store_stories(admin_here, grouped)
    await match(system_here, posts)
    assert set((await load_alert_counts(admin_here)).values()) == {1}


async def test_a_post_that_very_many_ask_for_is_told_to_all_of_them_after_the_others(
    admin_here: Admin, system_here: SystemStores
) -> None:
    others = await store_stories(admin_here, list(stories(WORLD, 5)))
    (hot,) = await store(admin_here, list(hot_posts(1)))
    await match(system_here, [hot, *others])
    assert await admin_here.fetchval("SELECT count(*) FROM alerts WHERE channel_id <> $1", HOT_CHANNEL)
    assert not await admin_here.fetchval("SELECT count(*) FROM alerts WHERE channel_id = $1", HOT_CHANNEL)
    assert system_here.watch_matching.queued.is_set()
    await match(system_here, [hot])  # its event came twice
    await fan_out_all(system_here)
    alerted = await admin_here.fetch("SELECT tenant_id FROM alerts WHERE channel_id = $1", HOT_CHANNEL)
    assert sorted(row["tenant_id"] for row in alerted) == list(
        range(FIRST_FOLLOWER, FIRST_FOLLOWER + WORLD.followers)
    )


async def test_every_worker_writes_what_any_of_them_has_queued(
    admin_here: Admin, system_here: SystemStores, migrated_database: dict[str, str]
) -> None:
    posts = await store(admin_here, list(hot_posts(2)))
    await match(system_here, posts[:1])
    stopping = asyncio.Event()
    async with open_pool(read_settings(migrated_database).database, DatabaseLogin.SYSTEM) as pool:
        other = system_stores(pool, Wakeup()).watch_matching
        loop = asyncio.create_task(keep_fanning_out(stopping, matching=other, look_seconds=0.05))
        await match(system_here, posts[1:])
        while await admin_here.fetchval("SELECT count(*) FROM alerts") < 2 * WORLD.followers:
            await asyncio.sleep(0.02)
        stopping.set()
        await asyncio.wait_for(loop, 5)
    assert not await admin_here.fetchval("SELECT count(*) FROM alert_fanouts")


async def test_a_watch_that_is_paused_or_deleted_in_the_meantime_is_not_told(
    admin_here: Admin, system_here: SystemStores
) -> None:
    (hot,) = await store(admin_here, list(hot_posts(1)))
    await match(system_here, [hot])
    paused, deleted, left = range(FIRST_FOLLOWER, FIRST_FOLLOWER + 3)
    await admin_here.execute("UPDATE watches SET paused_at = now() WHERE tenant_id = $1", paused)
    await admin_here.execute("DELETE FROM watches WHERE tenant_id = $1", deleted)
    await admin_here.execute("UPDATE subscriptions SET active = false WHERE tenant_id = $1", left)
    await fan_out_all(system_here)
    assert await admin_here.fetchval("SELECT min(tenant_id) FROM alerts") == left + 1
    assert await admin_here.fetchval("SELECT count(*) FROM alerts") == WORLD.followers - 3


async def test_alerts_that_cannot_be_written_wait_and_let_others_pass(
    admin_here: Admin, system_here: SystemStores
) -> None:
    (hot,) = await store(admin_here, list(hot_posts(1)))
    await match(system_here, [hot])
    await admin_here.execute(
        f"ALTER TABLE alerts ADD CONSTRAINT refuses CHECK (tenant_id <> {FIRST_FOLLOWER})"
    )
    with pytest.raises(asyncpg.CheckViolationError):
        await system_here.watch_matching.fan_out()
    await fan_out_all(system_here)
    written = await admin_here.fetchval("SELECT count(*) FROM alerts")
    assert 0 < written < WORLD.followers
    await admin_here.execute("ALTER TABLE alerts DROP CONSTRAINT refuses")
    await admin_here.execute("UPDATE alert_fanouts SET due_at = $1", datetime.now(UTC))
    await fan_out_all(system_here)
    assert await admin_here.fetchval("SELECT count(*) FROM alerts") == WORLD.followers
