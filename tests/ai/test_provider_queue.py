"""The queue for a provider in one process: how many calls run at once, and in which order others follow."""

import asyncio

from telegram_assistant.ai.provider_queue import ProviderQueue
from telegram_assistant.domain.understanding.policy import Urgency


async def test_never_more_are_served_than_there_are_streams_and_all_are_served() -> None:
    line, served, most, done = ProviderQueue(4), 0, 0, 0

    async def speak() -> None:
        nonlocal served, most, done
        async with line.turn(Urgency.LIVE):
            served += 1
            most = max(most, served)
            await asyncio.sleep(0)
            served -= 1
            done += 1

    await asyncio.gather(*(speak() for _ in range(100)))
    assert (most, done) == (4, 100)


async def test_the_urgent_are_served_first_and_questions_do_not_wait_here() -> None:
    line, order, leave = ProviderQueue(1), list[str](), asyncio.Event()

    async def speak(name: str, urgency: Urgency) -> None:
        async with line.turn(urgency):
            order.append(name)
            if name == "first":
                await leave.wait()

    names = {
        "first": Urgency.BACKFILL,
        "backfill": Urgency.BACKFILL,
        "live": Urgency.LIVE,
        "live too": Urgency.LIVE,
        "asked": Urgency.QUESTION,
    }
    tasks = []
    for name, urgency in names.items():
        tasks.append(asyncio.create_task(speak(name, urgency)))
        await asyncio.sleep(0)
    assert order == ["first", "asked"]
    leave.set()
    await asyncio.gather(*tasks)
    assert order == ["first", "asked", "live", "live too", "backfill"]


async def test_who_gives_up_holds_up_nobody() -> None:
    line, leave = ProviderQueue(1), asyncio.Event()

    async def speak() -> None:
        async with line.turn(Urgency.LIVE):
            await leave.wait()

    tasks = [asyncio.create_task(speak()) for _ in range(8)]
    await asyncio.sleep(0)
    for task in tasks[1:6]:
        task.cancel()
    leave.set()
    tasks[6].cancel()
    async with asyncio.timeout(30):
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(outcome, asyncio.CancelledError) for outcome in ended] == [False, *[True] * 6, False]
