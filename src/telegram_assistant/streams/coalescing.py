"""Merges calls that arrive while one is running into the next one: the busier it is,
the less each call costs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Batch[T]:
    """The batch that is being collected, and the task that will run it."""

    items: list[T] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class Coalescer[T]:
    """Runs one action for many callers. Every caller gets the result or the exception of its batch."""

    def __init__(self, act: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._act = act
        self._one_at_a_time = asyncio.Lock()
        self._next: _Batch[T] = _Batch()

    async def __call__(self, items: Sequence[T]) -> None:
        batch = self._next
        batch.items += items
        if batch.task is None:
            batch.task = asyncio.create_task(self._run(batch))
        await asyncio.shield(batch.task)

    async def _run(self, batch: _Batch[T]) -> None:
        async with self._one_at_a_time:
            self._next = _Batch()
            await self._act(batch.items)
