"""Streams of a provider are shared by all processes: counted, queued by urgency,
and given back by the dead.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.understanding.policy import Urgency
from telegram_assistant.stores.redis.ai_streams import AiStreams
from telegram_assistant.stores.redis.ai_token import AiToken


@pytest.fixture
async def redis(database: dict[str, str]) -> AsyncIterator[Redis]:
    client = Redis.from_url(database["REDIS_URL"])
    await client.flushdb()
    yield client
    await client.aclose()


async def test_never_more_at_once_than_there_are_streams_however_many_processes(redis: Redis) -> None:
    processes = [AiStreams(redis) for _ in range(3)]
    speaking = most = done = 0

    async def speak(streams: AiStreams) -> None:
        nonlocal speaking, most, done
        async with streams.hold_stream("p", urgency=Urgency.LIVE, stream_count=4, per_minute=0):
            speaking += 1
            most = max(most, speaking)
            await asyncio.sleep(0.005)
            speaking -= 1
            done += 1

    await asyncio.gather(*(speak(processes[number % 3]) for number in range(60)))
    assert (most, done) == (4, 60)


async def test_the_urgent_are_served_first_and_among_equals_who_came_first(redis: Redis) -> None:
    streams, order = AiStreams(redis), list[str]()
    held, waiting = asyncio.Event(), list[asyncio.Task[None]]()

    async def speak(name: str, urgency: Urgency) -> None:
        async with streams.hold_stream("p", urgency=urgency, stream_count=1, per_minute=0):
            order.append(name)
            if name == "first":
                await held.wait()

    waiting.append(asyncio.create_task(speak("first", Urgency.BACKFILL)))
    wishes = [
        ("backfill", Urgency.BACKFILL),
        ("live", Urgency.LIVE),
        ("live too", Urgency.LIVE),
        ("digest", Urgency.DIGEST),
        ("asked", Urgency.QUESTION),
    ]
    for number, (name, urgency) in enumerate(wishes):
        async with asyncio.timeout(30):
            while (await streams.use("p")).speaking + (await streams.use("p")).waiting < number + 1:
                await asyncio.sleep(0.005)
        waiting.append(asyncio.create_task(speak(name, urgency)))
    async with asyncio.timeout(30):
        while (await streams.use("p")).waiting < len(wishes):
            await asyncio.sleep(0.005)
    held.set()
    await asyncio.gather(*waiting)
    assert order == ["first", "asked", "digest", "live", "live too", "backfill"]


async def test_the_stream_of_a_dead_process_comes_back_by_itself(redis: Redis) -> None:
    await redis.zadd("ai:{p}:held", {"dead": 0})
    await redis.zadd("ai:{p}:waiting", {"dead too": 0})
    await redis.zadd("ai:{p}:seen", {"dead too": 0})
    async with (
        asyncio.timeout(30),
        AiStreams(redis).hold_stream("p", urgency=Urgency.BACKFILL, stream_count=1, per_minute=0),
    ):
        assert (await AiStreams(redis).use("p")).speaking == 1


async def test_who_leaves_the_queue_is_not_waited_for(redis: Redis) -> None:
    streams = AiStreams(redis)
    async with streams.hold_stream("p", urgency=Urgency.LIVE, stream_count=1, per_minute=0):
        with pytest.raises(TimeoutError):
            async with (
                asyncio.timeout(0.1),
                streams.hold_stream("p", urgency=Urgency.QUESTION, stream_count=1, per_minute=0),
            ):
                pass
    assert (await streams.use("p")).waiting == 0
    async with (
        asyncio.timeout(30),
        streams.hold_stream("p", urgency=Urgency.BACKFILL, stream_count=1, per_minute=0),
    ):
        pass


async def test_calls_a_minute_are_counted_for_everybody(redis: Redis) -> None:
    for _ in range(3):
        async with AiStreams(redis).hold_stream("p", urgency=Urgency.LIVE, stream_count=10, per_minute=3):
            pass
    with pytest.raises(TimeoutError):
        async with (
            asyncio.timeout(0.2),
            AiStreams(redis).hold_stream("p", urgency=Urgency.LIVE, stream_count=10, per_minute=3),
        ):
            pass
    await redis.delete("ai:{p}:sent")  # a minute later it is empty again
    async with (
        asyncio.timeout(30),
        AiStreams(redis).hold_stream("p", urgency=Urgency.LIVE, stream_count=10, per_minute=3),
    ):
        pass


async def test_a_pause_holds_everybody_and_ends(redis: Redis) -> None:
    await AiStreams(redis).pause("p", 0.2, why="it asks to wait")
    assert 0 < (await AiStreams(redis).use("p")).paused_seconds <= 0.2
    begun = asyncio.get_running_loop().time()
    async with (
        asyncio.timeout(30),
        AiStreams(redis).hold_stream("p", urgency=Urgency.QUESTION, stream_count=1, per_minute=0),
    ):
        assert asyncio.get_running_loop().time() - begun > 0.1


async def test_a_token_is_fetched_once_for_all_processes_and_lies_sealed(redis: Redis) -> None:
    fetched = 0

    async def fetch() -> tuple[str, float]:
        nonlocal fetched
        fetched += 1
        await asyncio.sleep(0.05)
        return f"s3cret-token-{fetched}", 1800.0

    processes = [AiToken(redis, credentials="key", scope="PERS") for _ in range(5)]
    got = await asyncio.gather(*(process.renew(fetch, instead_of=None) for process in processes))
    assert (set(got), fetched) == ({"s3cret-token-1"}, 1)
    (key,) = await redis.keys("ai:token:*")
    assert "s3cret" not in repr(await redis.get(key))
    renewed = await asyncio.gather(
        *(process.renew(fetch, instead_of="s3cret-token-1") for process in processes)
    )
    assert (set(renewed), fetched) == ({"s3cret-token-2"}, 2)
    assert await AiToken(redis, credentials="another key", scope="PERS").current() is None


async def test_who_fails_to_fetch_a_token_lets_the_next_one_try(redis: Redis) -> None:
    async def fail() -> tuple[str, float]:
        raise ConnectionError

    async def fetch() -> tuple[str, float]:
        return "token", 1800.0

    token = AiToken(redis, credentials="key", scope="PERS")
    with pytest.raises(ConnectionError):
        await token.renew(fail, instead_of=None)
    async with asyncio.timeout(30):
        assert await token.renew(fetch, instead_of=None) == "token"
