"""The time limit of a stage's handler."""

import asyncio

import pytest

from telegram_assistant.streams.deadlines import Deadlines


@pytest.fixture
async def deadlines() -> Deadlines:
    return Deadlines(0.1)


async def watched(deadlines: Deadlines) -> None:
    while True:
        await deadlines.watch()


async def test_a_call_within_its_limit_answers(deadlines: Deadlines) -> None:
    watching = asyncio.create_task(watched(deadlines))
    assert await deadlines.keep(asyncio.sleep(0.02, "answer")) == "answer"
    watching.cancel()


async def test_a_call_beyond_its_limit_is_a_timeout_and_its_task_lives_on(deadlines: Deadlines) -> None:
    watching = asyncio.create_task(watched(deadlines))
    with pytest.raises(TimeoutError, match=r"longer than 0\.1 s"):
        await deadlines.keep(asyncio.sleep(5))
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert await deadlines.keep(asyncio.sleep(0.01, "again")) == "again"
    watching.cancel()


async def test_a_call_that_is_cancelled_from_outside_is_cancelled(deadlines: Deadlines) -> None:
    task = asyncio.create_task(deadlines.keep(asyncio.sleep(5)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_call_that_answers_although_its_time_is_over_has_answered(deadlines: Deadlines) -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return "an answer after all"
        return "never"

    watching = asyncio.create_task(watched(deadlines))
    assert await deadlines.keep(stubborn()) == "an answer after all"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    watching.cancel()
