"""The outbox relay: what was committed is announced, and announced again only when there is a reason."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as NoConnection

from telegram_assistant import worker_role
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostParsed
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import EPOCH_KEY, stream_key
from telegram_assistant.streams.relay import Announcement, Relay
from telegram_assistant.supervision import keep_running
from telegram_assistant.telemetry.health import Health
from testkit.factories import make_channel, make_page, make_post
from tests.conftest import Admin
from tests.streams.conftest import KEY, Bench, until
from tests.streams.relaying import land, relay_of

pytestmark = pytest.mark.usefixtures("empty_outbox")


async def load_announced(redis: Redis, key: str = KEY) -> list[PostParsed]:
    entries: Any = await redis.xrange(key)
    return [PostParsed.model_validate_json(fields[PAYLOAD]) for _, fields in entries]


async def test_what_was_landed_is_announced_once_with_a_trace_of_its_own(
    redis: Redis, system: SystemStores
) -> None:
    channel_id = await land(system, 3)
    relay = relay_of(redis, system)
    assert [await relay.step(), await relay.step()] == [3, 0]
    events = await load_announced(redis)
    assert sorted(event.post_id for event in events) == [f"{channel_id}/{number}" for number in (1, 2, 3)]
    assert len({event.trace_id for event in events}) == 3


async def test_many_relays_together_announce_each_row_once(redis: Redis, system: SystemStores) -> None:
    for _ in range(8):
        await land(system, 250)
    relays = [relay_of(redis, system) for _ in range(4)]
    await relays[0].check()

    async def drain(relay: Relay) -> None:
        while await relay.step():
            pass

    await asyncio.gather(*(drain(relay) for relay in relays))
    events = await load_announced(redis)
    assert len(events) == len({event.event_id for event in events}) == 2000


async def test_a_row_is_announced_again_when_redis_failed_before_the_commit(
    redis: Redis, system: SystemStores, admin: Admin
) -> None:
    await land(system, 2)

    async def failing(announcements: Sequence[Announcement]) -> None:
        raise NoConnection(f"Redis is away: {len(announcements)} are not told")

    with pytest.raises(NoConnection):
        await system.outbox.announce(Lane.LIVE, failing, limit=10)
    assert await admin.fetchval("SELECT count(*) FROM outbox WHERE announced_at IS NULL") == 2
    assert await relay_of(redis, system).step() == 2


async def test_a_restarted_redis_gets_the_last_ten_minutes_again(
    redis: Redis, system: SystemStores, admin: Admin
) -> None:
    await land(system, 3)
    relay = relay_of(redis, system)
    await relay.step()
    await admin.execute("UPDATE outbox SET announced_at = now() - interval '11 minutes' WHERE message_id = 1")
    await admin.execute("UPDATE stream_epoch SET run_id = 'an earlier one'")
    await relay.check()
    assert await relay.step() == 2
    await relay.check()
    assert await relay.step() == 0


async def test_a_restarted_postgresql_may_have_forgotten_that_posts_were_done(
    redis: Redis, system: SystemStores, admin: Admin
) -> None:
    """Its commits need not have waited for the disk; then the rows are back,
    and Redis has nothing of them any more.
    """
    relay = relay_of(redis, system)
    await relay.check()
    await land(system, 3)
    assert await relay.step() == 3
    redis_run = (await redis.info("server"))["run_id"]
    assert (await admin.fetchval("SELECT run_id FROM stream_epoch")).startswith(redis_run)
    await admin.execute("UPDATE stream_epoch SET run_id = $1", f"{redis_run} 1700000000.0")
    await relay.check()
    assert await relay.step() == 3


async def test_what_is_published_while_redis_loses_everything_is_announced_again(
    redis: Redis, system: SystemStores
) -> None:
    relay = relay_of(redis, system)
    await relay.check()
    await land(system, 1)
    published, may_commit = asyncio.Event(), asyncio.Event()

    async def publish(announcements: Sequence[Announcement]) -> None:
        assert len(announcements) == 1
        published.set()
        await may_commit.wait()

    slow = asyncio.create_task(system.outbox.announce(Lane.LIVE, publish, limit=10))
    await published.wait()
    await redis.flushall()
    refilling = asyncio.create_task(relay.refill())
    await asyncio.sleep(0.1)
    may_commit.set()
    assert await slow == 1
    assert await refilling == 1
    assert await relay.step() == 1


async def test_how_long_redis_was_away_does_not_matter(
    redis: Redis, system: SystemStores, admin: Admin
) -> None:
    await land(system, 3)
    relay = relay_of(redis, system)
    await relay.step()
    await admin.execute(
        "UPDATE outbox SET announced_at = now() - interval '3 hours', created_at = now() - interval '3 hours'"
    )
    await admin.execute("UPDATE stream_epoch SET run_id = 'an earlier one'")
    await relay.check()
    assert await relay.step() == 3


async def test_an_empty_redis_gets_everything_again(redis: Redis, system: SystemStores, admin: Admin) -> None:
    await land(system, 3)
    relay = relay_of(redis, system)
    await relay.step()
    await admin.execute("UPDATE outbox SET announced_at = now() - interval '3 days'")
    await redis.flushall()
    await relay.check()
    assert await relay.step() == 3
    assert await redis.get(EPOCH_KEY) is not None
    await relay.check()
    assert await relay.step() == 0


async def test_a_redis_with_an_older_epoch_gets_everything_again(redis: Redis, system: SystemStores) -> None:
    await land(system, 3)
    relay = relay_of(redis, system)
    await relay.step()
    await redis.set(EPOCH_KEY, "of another time")
    await relay.check()
    assert await relay.step() == 3


async def test_a_late_post_is_announced_again_at_most_three_times(
    redis: Redis, system: SystemStores, admin: Admin
) -> None:
    await land(system, 1)
    relay = relay_of(redis, system)
    await relay.step()
    times = 0
    for _ in range(6):
        await admin.execute(
            "UPDATE outbox SET announced_at = now() - interval '61 minutes', created_at = now() - interval "
            "'2 hours'"
        )
        await redis.delete(KEY)
        await relay.check()
        times += await relay.step()
    assert times == 3


async def test_a_late_post_is_left_alone_while_something_explains_it(
    redis: Redis, system: SystemStores, admin: Admin
) -> None:
    await land(system, 1)
    relay = relay_of(redis, system)
    await relay.step()
    await admin.execute(
        "UPDATE outbox SET announced_at = now() - interval '61 minutes', created_at = now() - interval '2 "
        "hours'"
    )
    await redis.set("stage:stopped:nothing", "a bad release")
    await relay.check()
    assert await relay.step() == 0
    await redis.delete("stage:stopped:nothing")
    await admin.execute(
        "INSERT INTO dead_letters (stage, stream, entry_id, channel_id, message_id, payload, reason, "
        "attempts)"
        " SELECT 'nothing', 's', '1-1', channel_id, message_id, '', 'bad', 5 FROM outbox"
    )
    await relay.check()
    assert await relay.step() == 0
    await admin.execute("DELETE FROM dead_letters")
    await relay.check()
    assert await relay.step() == 1


async def test_bulk_posts_wait_in_postgresql_and_whoever_asked_gets_an_equal_share(
    redis: Redis, system: SystemStores, admin: Admin
) -> None:
    for _ in range(6):
        await land(system, 500, lane=Lane.BULK, requested_by=1)
    await land(system, 300, lane=Lane.BULK, requested_by=2)
    relay = relay_of(redis, system)
    await relay.check()
    while await relay.step_bulk():
        pass
    rows = await admin.fetch(
        "SELECT requested_by, count(*) FROM outbox WHERE announced_at IS NOT NULL GROUP BY 1"
    )
    shares = {row["requested_by"]: row["count"] for row in rows}
    assert shares == {1: 1700, 2: 300}
    some = await admin.fetch(
        "SELECT channel_id, message_id, revision FROM outbox WHERE announced_at IS NOT NULL LIMIT 100"
    )
    await system.outbox.mark_finished(
        [(PostId(row["channel_id"], row["message_id"]), row["revision"]) for row in some]
    )
    assert [await relay.step_bulk(), await relay.step_bulk(), await relay.step_bulk()] == [50, 50, 0]
    assert await redis.xlen(KEY) == 0


async def test_bulk_posts_in_a_dead_letter_do_not_hold_the_others(
    redis: Redis, system: SystemStores, admin: Admin
) -> None:
    for _ in range(5):
        await land(system, 500, lane=Lane.BULK, requested_by=1)
    relay = relay_of(redis, system)
    await relay.check()
    while await relay.step_bulk():
        pass
    await admin.execute(
        "INSERT INTO dead_letters (stage, stream, entry_id, channel_id, message_id, payload, reason, "
        "attempts)"
        " SELECT 'nothing', 's', channel_id || '-' || message_id, channel_id, message_id, '', 'bad', 5 "
        "FROM outbox"
        " WHERE announced_at IS NOT NULL LIMIT 50"
    )
    assert await relay.step_bulk() == 50


async def test_a_finished_revision_leaves_the_outbox_and_takes_older_ones_with_it(
    system: SystemStores, admin: Admin
) -> None:
    channel_id = await make_channel(system)
    for text in ("Снег", "Снег и дождь", "Солнце"):
        post = make_post(channel_id=channel_id, text=text, edited_at=datetime.now(UTC))
        await system.landing.land(make_page(post), Claim(channel_id, 0))
    await system.outbox.mark_finished([(PostId(channel_id, post.message_id), 2)])
    assert [row["revision"] for row in await admin.fetch("SELECT revision FROM outbox")] == [3]


@pytest.mark.turns("STREAM_MAX_ENTRIES")
async def test_a_stopped_stage_makes_the_relay_pause_at_the_bound_and_nothing_is_lost(
    bench: Bench, redis: Redis, system: SystemStores, database: dict[str, str], admin: Admin
) -> None:
    await redis.set("stage:stopped:post_persistence", "10 dead letters in a row")
    for _ in range(4):
        await land(system, 400)
    environ = {
        **database,
        "REDIS_URL": f"redis://127.0.0.1:{redis.connection_pool.connection_kwargs['port']}/0",
        "STREAM_MAX_ENTRIES": "1000",
    }
    stopping = asyncio.Event()
    async with assemble(read_settings(environ)) as app:
        loops = [
            asyncio.create_task(keep_running(loop, stopping=stopping, health=bench.health))
            for loop in worker_role.loops(app, bench.health)
        ]
        await until(lambda: _says(bench.health, "outbox relay", "post_persistence"))
        detail = str(bench.health.parts()["outbox relay"]["detail"])
        assert "holds 1000 entries" in detail
        assert "it is stopped: 10 dead letters in a row" in detail
        assert await admin.fetchval("SELECT count(*) FROM outbox WHERE announced_at IS NULL") == 600
        await redis.delete("stage:stopped:post_persistence")
        await until(lambda: _no_rows(system), seconds=60)
        stopping.set()
        await asyncio.wait(loops)


@pytest.mark.turns("STREAM_PARTITIONS")
async def test_with_partitions_a_channel_has_its_own_streams_and_everything_still_arrives(
    bench: Bench, redis: Redis, system: SystemStores, database: dict[str, str]
) -> None:
    channels = [await land(system, 5) for _ in range(6)]
    environ = {
        **database,
        "REDIS_URL": f"redis://127.0.0.1:{redis.connection_pool.connection_kwargs['port']}/0",
        "STREAM_PARTITIONS": "4",
    }
    stopping = asyncio.Event()
    async with assemble(read_settings(environ)) as app:
        loops = [
            asyncio.create_task(keep_running(loop, stopping=stopping, health=bench.health))
            for loop in worker_role.loops(app, bench.health)
        ]
        await until(lambda: _no_rows(system), seconds=60)
        stopping.set()
        await asyncio.wait(loops)
    for channel_id in channels:
        key = stream_key(PostParsed, Lane.LIVE, channel_id % 4, 4)
        assert key.endswith(f":{{{channel_id % 4}}}")
        assert channel_id in {event.channel_id for event in await load_announced(redis, key)}
    assert await redis.exists(KEY) == 0


async def _says(health: Health, part: str, words: str) -> bool:
    return words in str(health.parts().get(part, {}).get("detail"))


async def _no_rows(system: SystemStores) -> bool:
    return await system.outbox.waiting() == 0
