"""Keeps loops alive: restarts a crashed loop with growing pauses, and counts the restarts."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from telegram_assistant.errors import Busy
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.metrics import LOOP_RESTARTS, LOOP_RUNNING
from telegram_assistant.telemetry.outages import OutageLog

HEALTHY_AFTER_SECONDS = 60.0
"""After running this long, a loop restarts from the shortest pause."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Work without end. `run` finishes the work in hand and returns soon after `stopping` is set."""

    name: str
    run: Callable[[asyncio.Event], Coroutine[None, None, None]]


async def keep_running(
    loop: Loop,
    *,
    stopping: asyncio.Event,
    health: Health,
    first_pause_seconds: float = 1.0,
    max_pause_seconds: float = 60.0,
) -> None:
    """Run the loop until `stopping` is set. Its crashes never reach the caller."""
    clock = asyncio.get_running_loop().time
    pause_seconds = first_pause_seconds
    crashes = OutageLog(loop.name, began="loop_crashed")
    while not stopping.is_set():
        began_at = clock()
        LOOP_RUNNING.labels(loop.name).set(1)
        health.report(loop.name, State.OK)
        error: Exception | None = None
        recovery = asyncio.get_running_loop().call_later(HEALTHY_AFTER_SECONDS, crashes.log_recovery)
        try:
            await loop.run(stopping)
        except Exception as crash:  # noqa: BLE001 -- whatever it is, the loop starts again
            error = crash
        finally:
            recovery.cancel()
            LOOP_RUNNING.labels(loop.name).set(0)
        why = "it ended by itself" if error is None else f"{type(error).__name__}: {error}"
        if stopping.is_set():
            if error is not None:
                crashes.log_failure(why, error=None if isinstance(error, Busy) else error)
            break
        if clock() - began_at > HEALTHY_AFTER_SECONDS:
            pause_seconds = first_pause_seconds
        LOOP_RESTARTS.labels(loop.name).inc()
        health.report(loop.name, State.FAILING, f"{why}; starts again in {pause_seconds:g} s")
        crashes.log_failure(
            why, error=None if isinstance(error, Busy) else error, pause_seconds=pause_seconds
        )
        await sleep_unless(stopping, pause_seconds)
        pause_seconds = min(pause_seconds * 2, max_pause_seconds)
    health.report(loop.name, State.STOPPED)


async def sleep_unless(stopping: asyncio.Event, seconds: float) -> None:
    """Sleep, but wake at once when `stopping` is set."""
    try:
        async with asyncio.timeout(seconds):
            await stopping.wait()
    except TimeoutError:
        return


async def wait_for_either(
    one_event: asyncio.Event, other: asyncio.Event, *, seconds: float | None = None
) -> None:
    """Wait until one of the events is set, for at most `seconds`."""
    tasks = [asyncio.create_task(event.wait()) for event in (one_event, other)]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_and_wait(tasks)


async def cancel_and_wait(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
