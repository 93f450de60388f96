"""A Redis without memory: what must go on goes on, everything else waits, and says why."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.domain.understanding.policy import Urgency
from telegram_assistant.errors import Busy
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.redis.ai_streams import AiStreams
from telegram_assistant.stores.redis.album_states import AlbumStates
from telegram_assistant.stores.redis.client import await_reply
from telegram_assistant.stores.redis.examination import examine
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.stores.redis.pacing import Pacing
from telegram_assistant.stores.redis.rate_limits import Bucket, BucketOwner, RateLimits
from telegram_assistant.stores.redis.scheduler import SchedulerLock, TickFacts
from testkit.engines import running_engine
from testkit.shortages import small_disk


@pytest.fixture(params=["redis", pytest.param("valkey", marks=pytest.mark.valkey)])
async def full_redis(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Redis]:
    with running_engine(request.param, tmp_path / "redis") as engine:
        async with Redis.from_url(engine.url) as redis:
            await redis.setrange("ballast", 8 * 1024 * 1024, "x")
            await redis.config_set("maxmemory", "2mb")
            yield redis


async def test_the_scheduler_plans_although_redis_is_full(full_redis: Redis) -> None:
    lock, now = SchedulerLock(full_redis, "here#0001"), datetime.now(UTC)
    facts = TickFacts(
        planned_ts=now,
        last_tick_ts=now,
        last_success_ts=None,
        channels_active=1,
        channels_failing=0,
        channels_parked=0,
        channels_suspended=0,
    )
    assert await lock.acquire()
    await lock.tell(facts)
    assert await lock.facts() == facts
    await lock.release()
    assert await lock.owner() is None


async def test_requests_are_counted_and_revoked_keys_are_forgotten_although_redis_is_full(
    full_redis: Redis,
) -> None:
    limits, bucket = RateLimits(full_redis), Bucket(BucketOwner.KEY, "anna", per_minute=1, burst=2)
    assert [(await limits.take([bucket])).allowed for _ in range(3)] == [True, True, False]
    await limits.drop_cached_keys()
    assert await limits.changes() == 1


async def test_pages_and_providers_are_asked_in_turn_although_redis_is_full(full_redis: Redis) -> None:
    assert await Pacing(full_redis).turn("news.example", every_seconds=5, max_seconds=10) == 0
    async with AiStreams(full_redis).hold_stream(
        "gigachat", urgency=Urgency.LIVE, stream_count=1, per_minute=0
    ):
        assert (await AiStreams(full_redis).use("gigachat")).speaking == 1


async def test_what_has_to_wait_says_that_redis_is_full(full_redis: Redis) -> None:
    with pytest.raises(Busy, match="its memory is full"):
        await await_reply(full_redis.set("key", "value"))
    with pytest.raises(Busy, match="its memory is full"):
        await AlbumStates(full_redis).note(ChannelId(1), 2, items=[3])
    await Marks(full_redis).raise_high_water(
        ChannelId(1), datetime.now(UTC), now=datetime.now(UTC)
    )  # reading goes on without marks


async def test_a_redis_whose_disk_is_full_says_so_and_goes_on_when_there_is_room(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with (
        small_disk(tmp_path / "disk", megabytes=8) as disk,
        running_engine("redis", disk.path / "redis") as engine,
    ):
        settings = read_settings({**environ, "REDIS_URL": engine.url}).redis
        async with Redis.from_url(engine.url) as redis:
            disk.fill()
            with pytest.raises(Busy, match="it cannot save them to its disk"):
                for _ in range(100):
                    await await_reply(redis.set("key", "x" * 10_000))
            verdicts = {finding.subject: finding.verdict for finding in await examine(settings, {})}
            assert verdicts["redis persistence"] is Severity.BAD
            disk.empty()
            async with asyncio.timeout(30):
                while not await is_written(redis):
                    await asyncio.sleep(0.1)


async def is_written(redis: Redis) -> bool:
    try:
        return bool(await await_reply(redis.set("key", "value")))
    except Busy:
        return False
