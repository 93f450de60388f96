"""A time limit for many short calls.

One timer checks them all, because a timer per call would cost more than the call.
"""

import asyncio
from collections.abc import Awaitable

MAX_SECONDS_BETWEEN_LOOKS = 1.0


class TookTooLong(TimeoutError):
    """A call was ended because it took longer than it may. Other timeouts are the callee's own."""


class Deadlines:
    """Ends calls that take longer than `seconds` with TookTooLong.

    Checks run a few times within the limit.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started_at: dict[asyncio.Task[object], float] = {}
        self._late: set[asyncio.Task[object]] = set()

    async def run(self, call: Awaitable[object]) -> object:
        """Await the call for at most the time limit."""
        task = asyncio.current_task()
        assert task is not None  # always true inside a coroutine
        self._started_at[task] = task.get_loop().time()
        try:
            answer = await call
        except asyncio.CancelledError:
            late = self._was_late(task)
            if task.cancelling():  # this task itself was cancelled from outside, whatever else happened
                raise
            if late:
                raise TookTooLong(f"it took longer than {self._seconds:g} s") from None
            raise RuntimeError("an awaited task was cancelled") from None
        finally:
            self._started_at.pop(task, None)
        self._was_late(task)  # a call that returns a result after its cancellation counts as answered
        return answer

    async def watch(self) -> None:
        """Pause, then cancel every call that is over its limit."""
        await asyncio.sleep(min(self._seconds / 4, MAX_SECONDS_BETWEEN_LOOKS))
        now = asyncio.get_running_loop().time()
        for task, started_at in list(self._started_at.items()):
            if now - started_at > self._seconds and task not in self._late:
                self._late.add(task)
                task.cancel()

    def _was_late(self, task: asyncio.Task[object]) -> bool:
        if task not in self._late:
            return False
        self._late.discard(task)
        task.uncancel()
        return True
