"""Redis without memory: announcing pauses before it is full, nothing is lost,
and everything goes on by itself.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostParsed, PostTagged
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import stopped_key, stream_key
from telegram_assistant.streams.relay import PART, Relay
from telegram_assistant.streams.room import PAUSE_SHARE, RESUME_SHARE
from telegram_assistant.streams.stage import stage
from telegram_assistant.streams.stopping import StopMark
from telegram_assistant.telemetry.health import Health
from testkit.engines import Engine
from testkit.shortages import MB, without_memory
from tests.streams.conftest import (
    KEY,
    Bench,
    has,
    length_is,
    none_pending,
    parsed_event,
    pending_are,
    publish,
    until,
)
from tests.streams.relaying import land, nothing

TAGGED = stream_key(PostTagged, Lane.LIVE)


@pytest.fixture
def health() -> Health:
    return Health(probes={})


@pytest.fixture
async def relay(redis: Redis, system: SystemStores, health: Health) -> Relay:
    await redis.setrange("ballast", 8 * MB, "x")  # what a batch adds is little beside it
    return Relay(system.outbox, (nothing,), redis=redis, health=health, partitions=1, max_entries=200_000)


async def count_announced(redis: Redis, channel_id: ChannelId) -> int:
    entries: Any = await redis.xrange(KEY)
    return sum(f'"{channel_id}/'.encode() in fields[PAYLOAD] for _, fields in entries)


async def test_posts_wait_in_postgresql_before_redis_is_full_and_are_announced_when_there_is_room(
    redis: Redis, engine: Engine, system: SystemStores, relay: Relay, health: Health
) -> None:
    while await relay.step():
        pass  # what other tests have landed
    channel_id = await land(system, 5)
    async with without_memory(engine.url, used_share=PAUSE_SHARE + 0.01):
        assert (await relay.step(), await count_announced(redis, channel_id)) == (0, 0)
        detail = str(health.parts()[PART]["detail"])
        assert "Redis has used 86% of its memory" in detail
    async with without_memory(engine.url, used_share=(PAUSE_SHARE + RESUME_SHARE) / 2):
        assert await relay.step() == 0  # not yet
    async with without_memory(engine.url, used_share=RESUME_SHARE - 0.01):
        assert await relay.step() == 5
    assert await count_announced(redis, channel_id) == 5


async def test_a_stage_loses_nothing_while_redis_takes_no_more(
    bench: Bench, redis: Redis, engine: Engine
) -> None:
    may_work = asyncio.Event()

    @stage(consumes=PostParsed, emits=PostTagged, batch=5)
    async def tag(events: Sequence[PostParsed]) -> list[PostTagged]:
        await may_work.wait()
        return [
            PostTagged.about(event.post, event.revision, occurred_at=event.occurred_at) for event in events
        ]

    await publish(redis, [parsed_event(number) for number in range(20)])
    async with bench.working(tag):
        await until(lambda: pending_are(bench, "tag", 20))
        async with without_memory(engine.url):
            may_work.set()
            await until(lambda: waits_for_memory(bench, "stage tag"))
            assert await length_is(bench, TAGGED, 0)
        await until(lambda: none_pending(bench, "tag"))
    assert await length_is(bench, TAGGED, 20)
    assert await bench.letters("tag") == []


async def test_a_stage_that_starts_while_redis_takes_no_more_begins_when_it_does(
    bench: Bench, redis: Redis, engine: Engine
) -> None:
    done: list[int] = []

    @stage(consumes=PostParsed)
    async def note(event: PostParsed) -> None:
        done.append(event.post.message_id)

    await publish(redis, [parsed_event(1)])
    async with without_memory(engine.url), bench.working(note):
        await until(lambda: waits_for_memory(bench, "stage note"))
        await redis.config_set("maxmemory", 512 * MB)
        await until(lambda: has(done, 1))
        assert bench.health.parts()["stage note"]["status"] == "ok"


async def waits_for_memory(bench: Bench, part: str) -> bool:
    report = bench.health.parts().get(part, {})
    return report.get("status") == "failing" and "OutOfMemoryError" in str(report.get("detail"))


async def test_a_stage_that_must_stop_while_redis_takes_no_more_stops_when_it_does(
    redis: Redis, engine: Engine
) -> None:
    mark = StopMark(redis, "tag")
    async with without_memory(engine.url):
        await mark.write("10 dead letters in a row")
        assert await redis.get(stopped_key("tag")) is None
    assert await mark.read() == "10 dead letters in a row"
    assert await redis.get(stopped_key("tag")) == b"10 dead letters in a row"
