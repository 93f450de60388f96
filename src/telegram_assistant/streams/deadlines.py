"""A time limit for many short calls: one clock for all of them, where a timer for each would cost more than the call."""

import asyncio
from collections.abc import Awaitable

MAX_SECONDS_BETWEEN_LOOKS = 1.0


class Deadlines:
    """Calls that take longer than so many seconds end in TimeoutError; they are looked at a few times within their limit."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._begun: dict[asyncio.Task[object], float] = {}
        self._late: set[asyncio.Task[object]] = set()

    async def keep(self, call: Awaitable[object]) -> object:
        """Await the call, but no longer than allowed."""
        task = asyncio.current_task()
        assert task is not None  # we are in a coroutine
        self._begun[task] = task.get_loop().time()
        try:
            answer = await call
        except asyncio.CancelledError:
            late = self._was_late(task)
            if task.cancelling():  # somebody wants this very task to end, whatever else happened
                raise
            if late:
                raise TimeoutError(f"it took longer than {self._seconds:g} s") from None
            raise RuntimeError("something that it waited for was cancelled") from None
        finally:
            self._begun.pop(task, None)
        self._was_late(task)  # a call that answers although it was cancelled has answered
        return answer

    async def watch(self) -> None:
        """One look, and the pause before it."""
        await asyncio.sleep(min(self._seconds / 4, MAX_SECONDS_BETWEEN_LOOKS))
        now = asyncio.get_running_loop().time()
        for task, begun in list(self._begun.items()):
            if now - begun > self._seconds and task not in self._late:
                self._late.add(task)
                task.cancel()

    def _was_late(self, task: asyncio.Task[object]) -> bool:
        if task not in self._late:
            return False
        self._late.discard(task)
        task.uncancel()
        return True
