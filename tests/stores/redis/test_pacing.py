"""Turns at other people's servers."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from telegram_assistant.errors import Busy
from telegram_assistant.stores.redis.pacing import Pacing
from testkit.factories import fresh_number


@pytest.fixture
async def redis(database: dict[str, str]) -> AsyncIterator[Redis]:
    client = Redis.from_url(database["REDIS_URL"])
    yield client
    await client.aclose()


async def test_turns_at_a_site_are_apart_whoever_takes_them(redis: Redis) -> None:
    site = f"{fresh_number()}.example"
    turns = [await Pacing(redis).turn(site, every_seconds=10, max_seconds=100) for _ in range(4)]
    assert [round(turn or 0) for turn in turns] == [0, 10, 20, 30]


async def test_sites_do_not_wait_for_each_other(redis: Redis) -> None:
    pacing = Pacing(redis)
    assert [
        await pacing.turn(f"{fresh_number()}.example", every_seconds=10, max_seconds=1) for _ in range(3)
    ] == [0, 0, 0]


async def test_who_would_wait_too_long_takes_no_turn(redis: Redis) -> None:
    site, pacing = f"{fresh_number()}.example", Pacing(redis)
    await pacing.turn(site, every_seconds=10, max_seconds=5)
    assert [await pacing.turn(site, every_seconds=10, max_seconds=5) for _ in range(3)] == [None] * 3
    assert round(await pacing.turn(site, every_seconds=10, max_seconds=15) or 0) == 10


async def test_a_turn_is_forgotten_when_it_is_over(redis: Redis) -> None:
    site = f"{fresh_number()}.example"
    await Pacing(redis).turn(site, every_seconds=60, max_seconds=5)
    assert 0 < await redis.pttl(f"crawl:turn:{site}") <= 60_000


async def test_without_redis_nobody_takes_a_turn() -> None:
    away = Redis.from_url("redis://127.0.0.1:1/0")
    with pytest.raises(Busy):
        await Pacing(away).turn("a.example", every_seconds=1, max_seconds=1)
    await away.aclose()
