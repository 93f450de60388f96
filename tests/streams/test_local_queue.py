"""How much a worker takes at once."""

import asyncio
import time

from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostParsed
from telegram_assistant.streams.batch_limit import BatchLimit
from telegram_assistant.streams.entries import Entry, StreamSource
from telegram_assistant.streams.local_queue import MAX_FILL_SECONDS, LocalQueue
from telegram_assistant.streams.stage import stage


@stage(consumes=PostParsed, batch=10, concurrency=2)
async def some_stage(_events: list[PostParsed]) -> None: ...


def entries(count: int, lane: Lane = Lane.LIVE) -> list[Entry]:
    return [
        Entry(StreamSource("key", lane, 0, PostParsed), b"%d-0" % number, b"", None, 1)
        for number in range(count)
    ]


async def one_at_work() -> LocalQueue:
    ready = LocalQueue(some_stage, BatchLimit(10, timeout_seconds=60))
    ready.put(Lane.LIVE, entries(1))
    await ready.take()
    return ready


async def test_whoever_is_idle_begins_at_once_with_what_there_is() -> None:
    ready = LocalQueue(some_stage, BatchLimit(10, timeout_seconds=60))
    ready.put(Lane.LIVE, entries(1))
    assert len(await asyncio.wait_for(ready.take(), MAX_FILL_SECONDS / 2)) == 1


async def test_while_others_are_at_work_a_batch_waits_until_it_is_full() -> None:
    ready = await one_at_work()
    ready.put(Lane.LIVE, entries(4))
    second = asyncio.create_task(ready.take())
    await asyncio.sleep(0)
    assert not second.done()
    ready.put(Lane.LIVE, entries(6))
    assert len(await asyncio.wait_for(second, MAX_FILL_SECONDS / 2)) == 10


async def test_but_no_longer_than_a_moment() -> None:
    ready = await one_at_work()
    ready.put(Lane.LIVE, entries(4))
    began = time.monotonic()
    assert len(await ready.take()) == 4
    assert time.monotonic() - began >= MAX_FILL_SECONDS * 0.9


async def test_when_the_others_are_done_nobody_waits() -> None:
    ready = LocalQueue(some_stage, BatchLimit(10, timeout_seconds=60))
    ready.put(Lane.LIVE, entries(1))
    await ready.finish_batch(await ready.take(), 0.0)
    ready.put(Lane.LIVE, entries(4))
    assert len(await asyncio.wait_for(ready.take(), MAX_FILL_SECONDS / 2)) == 4


async def test_who_leaves_takes_what_is_there() -> None:
    ready = await one_at_work()
    ready.put(Lane.LIVE, entries(4))
    second = asyncio.create_task(ready.take())
    await asyncio.sleep(0)
    ready.close()
    assert len(await asyncio.wait_for(second, MAX_FILL_SECONDS / 2)) == 4
    assert await ready.take() == []
