"""What takes long to count and may be a minute old."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from datetime import datetime, timedelta

KEPT = timedelta(minutes=1)
MAX_KEPT = 1000


class Recent[T]:
    """Counts at most once a minute for each key, however many people look. The key names the tenant."""

    def __init__(self) -> None:
        self._counted: OrderedDict[Hashable, tuple[datetime, T]] = OrderedDict()
        self._counting = asyncio.Lock()

    async def of(self, key: Hashable, count: Callable[[], Awaitable[T]], *, now: datetime) -> T:
        """What was counted within the last minute, or else now."""
        if (fresh := self._fresh(key, now)) is not None:
            return fresh[1]
        async with self._counting:
            if (fresh := self._fresh(key, now)) is not None:
                return fresh[1]
            counted = await count()
            self._counted[key] = now, counted
            self._counted.move_to_end(key)
            if len(self._counted) > MAX_KEPT:
                self._counted.popitem(last=False)
            return counted

    def _fresh(self, key: Hashable, now: datetime) -> tuple[datetime, T] | None:
        counted = self._counted.get(key)
        return counted if counted is not None and now - counted[0] < KEPT else None
