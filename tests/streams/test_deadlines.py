"""The time limit of a stage's handler."""

import asyncio

import pytest

from telegram_assistant.streams.deadlines import Deadlines


@pytest.fixture
async def deadlines() -> Deadlines:
    return Deadlines(0.1)


async def watch_forever(deadlines: Deadlines) -> None:
    while True:
        await deadlines.watch()


async def test_a_call_within_its_limit_answers(deadlines: Deadlines) -> None:
    watching = asyncio.create_task(watch_forever(deadlines))
    assert await deadlines.run(asyncio.sleep(0.02, "answer")) == "answer"
    watching.cancel()


async def test_a_call_beyond_its_limit_is_a_timeout_and_its_task_lives_on(deadlines: Deadlines) -> None:
    watching = asyncio.create_task(watch_forever(deadlines))
    with pytest.raises(TimeoutError, match=r"longer than 0\.1 s"):
        await deadlines.run(asyncio.sleep(5))
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert await deadlines.run(asyncio.sleep(0.01, "again")) == "again"
    watching.cancel()


async def test_a_call_that_is_cancelled_from_outside_is_cancelled(deadlines: Deadlines) -> None:
    task = asyncio.create_task(deadlines.run(asyncio.sleep(5)))
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

    watching = asyncio.create_task(watch_forever(deadlines))
    assert await deadlines.run(stubborn()) == "an answer after all"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    watching.cancel()


async def test_a_cancellation_from_inside_is_a_failure_of_the_call_and_not_the_end_of_its_task(
    deadlines: Deadlines,
) -> None:
    shared = asyncio.create_task(asyncio.sleep(5))

    async def waiting() -> None:
        await shared

    asyncio.get_running_loop().call_later(0.02, shared.cancel)
    with pytest.raises(RuntimeError, match="was cancelled"):
        await deadlines.run(waiting())


async def test_the_end_of_a_task_wins_over_its_time_limit(deadlines: Deadlines) -> None:
    async def cleaning_up() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(0.3)  # a rollback on a server that hangs

    watching = asyncio.create_task(watch_forever(deadlines))
    task = asyncio.create_task(deadlines.run(cleaning_up()))
    await asyncio.sleep(0.25)
    task.cancel()
    await asyncio.wait([task])
    watching.cancel()
    assert task.cancelled()
