"""Calls that come while one is under way become the next one, together: the busier it is, the less each costs."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Next[T]:
    """What goes together."""

    items: list[T] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class Coalescer[T]:
    """One act for many callers; each of them hears how it ended."""

    def __init__(self, act: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._act = act
        self._one_at_a_time = asyncio.Lock()
        self._next: _Next[T] = _Next()

    async def __call__(self, items: Sequence[T]) -> None:
        joined = self._next
        joined.items += items
        if joined.task is None:
            joined.task = asyncio.create_task(self._run(joined))
        await asyncio.shield(joined.task)

    async def _run(self, now: _Next[T]) -> None:
        async with self._one_at_a_time:
            self._next = _Next()
            await self._act(now.items)
