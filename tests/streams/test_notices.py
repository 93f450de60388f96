"""Notices: events that begin in PostgreSQL are announced, and again where Redis has lost them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostVisionUploaded
from telegram_assistant.stores.postgres.database import Pool, SystemTransactions
from telegram_assistant.stores.postgres.pipeline.notices import QueuedNotice, write_notices
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import stream_key
from telegram_assistant.streams.notices import NoticeRelay
from telegram_assistant.streams.stage import stage
from telegram_assistant.telemetry.health import Health
from testkit.factories import fresh_number
from tests.conftest import Admin

KEYS = {lane: stream_key(PostVisionUploaded, lane) for lane in Lane}


@stage(consumes=PostVisionUploaded)
async def nothing(_event: PostVisionUploaded) -> None: ...


@pytest.fixture(autouse=True)
async def no_notices(admin: Admin) -> AsyncIterator[None]:
    await admin.execute("DELETE FROM notices")
    yield
    await admin.execute("DELETE FROM notices")


def relay_of(redis: Redis, system: SystemStores, *, max_entries: int = 1000) -> NoticeRelay:
    return NoticeRelay(
        system.notices,
        (nothing,),
        redis=redis,
        health=Health(probes={}),
        partitions=1,
        max_entries=max_entries,
    )


def event(number: int, *media: str) -> PostVisionUploaded:
    return PostVisionUploaded.about(
        PostId(ChannelId(fresh_number()), MessageId(number)), 1, occurred_at=datetime.now(UTC), media=media
    )


async def write(system_pool: Pool, *events: PostVisionUploaded, lane: Lane = Lane.LIVE) -> None:
    async with SystemTransactions(system_pool).begin() as connection:
        await write_notices(connection, [QueuedNotice(event, lane) for event in events])


async def load_announced(redis: Redis, lane: Lane = Lane.LIVE) -> list[PostVisionUploaded]:
    entries: Any = await redis.xrange(KEYS[lane])
    return [PostVisionUploaded.model_validate_json(fields[PAYLOAD]) for _, fields in entries]


async def test_notices_are_announced_once_each_in_its_lane(
    redis: Redis, system: SystemStores, system_pool: Pool
) -> None:
    live, bulk = event(1), event(2)
    await write(system_pool, live)
    await write(system_pool, bulk, lane=Lane.BULK)
    relays = [relay_of(redis, system) for _ in range(4)]
    await asyncio.gather(*(relay.step() for relay in relays))
    assert (await load_announced(redis), await load_announced(redis, Lane.BULK)) == ([live], [bulk])
    assert await relays[0].step() == 0


async def test_what_was_rolled_back_is_never_told(
    redis: Redis, system: SystemStores, system_pool: Pool
) -> None:
    async def fail() -> None:
        async with SystemTransactions(system_pool).begin() as connection:
            await write_notices(connection, [QueuedNotice(event(1), Lane.LIVE)])
            raise RuntimeError("after all not")

    with pytest.raises(RuntimeError):
        await fail()
    assert await relay_of(redis, system).step() == 0


async def test_the_same_event_is_told_again_only_when_it_says_something_else(
    redis: Redis, system: SystemStores, system_pool: Pool
) -> None:
    relay, first = relay_of(redis, system), event(1)
    for notice in (first, first, first.model_copy(update={"media": ("ab",)})):
        await write(system_pool, notice)
        await relay.step()
    assert [notice.media for notice in await load_announced(redis)] == [(), ("ab",)]


async def test_what_redis_has_lost_is_told_again_with_the_outbox(
    redis: Redis, system: SystemStores, system_pool: Pool
) -> None:
    relay = relay_of(redis, system)
    await write(system_pool, event(1))
    await relay.step()
    await redis.flushdb()
    for again in (system.outbox.reannounce_all, system.outbox.reannounce_recent):
        await again()
        assert await relay.step() == 1


async def test_a_full_stream_is_waited_for(redis: Redis, system: SystemStores, system_pool: Pool) -> None:
    await write(system_pool, event(1))
    await redis.xadd(KEYS[Lane.BULK], {"x": "y"})
    assert await relay_of(redis, system, max_entries=1).step() == 0
    assert await relay_of(redis, system).step() == 1


async def test_notices_are_forgotten_after_a_day(
    system: SystemStores, system_pool: Pool, admin: Admin
) -> None:
    await write(system_pool, event(1), event(2), event(3))
    await admin.execute(
        "UPDATE notices SET announced_at = now() - interval '25 hours' WHERE payload LIKE '%/1\"%'"
    )
    await admin.execute("UPDATE notices SET announced_at = now() WHERE payload LIKE '%/2\"%'")
    assert await system.notices.forget_old() == 1
