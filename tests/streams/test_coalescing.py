"""Many callers, few acts."""

import asyncio
from collections.abc import Sequence

import pytest

from telegram_assistant.streams.coalescing import Coalescer


async def test_whoever_comes_while_one_is_under_way_goes_with_the_next() -> None:
    acts, go = list[list[int]](), asyncio.Event()

    async def act(items: Sequence[int]) -> None:
        acts.append(list(items))
        await go.wait()

    gathering = Coalescer(act)
    calls = [asyncio.create_task(gathering([0]))]
    await asyncio.sleep(0.01)
    calls += [asyncio.create_task(gathering([number])) for number in (1, 2, 3)]
    await asyncio.sleep(0.01)
    assert acts == [[0]]
    go.set()
    await asyncio.gather(*calls)
    assert acts == [[0], [1, 2, 3]]


async def test_each_hears_that_it_failed_and_the_next_are_not_affected() -> None:
    async def act(items: Sequence[int]) -> None:
        if 1 in items:
            raise OSError

    gathering = Coalescer(act)
    ended = await asyncio.gather(gathering([1]), gathering([2]), return_exceptions=True)
    assert [type(outcome) for outcome in ended] == [OSError, OSError]
    await gathering([3])


async def test_who_leaves_does_not_take_the_others_along() -> None:
    done = list[int]()

    async def act(items: Sequence[int]) -> None:
        await asyncio.sleep(0.01)
        done.extend(items)

    gathering = Coalescer(act)
    leaving, staying = asyncio.create_task(gathering([1])), asyncio.create_task(gathering([2]))
    await asyncio.sleep(0)
    leaving.cancel()
    await staying
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert done == [1, 2]
