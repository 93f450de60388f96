"""Counts that take long and may be some minutes old."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

KEPT_FOR = timedelta(minutes=1)
MAX_KEPT = 1000


class Recent[T]:
    """Counts seldom for each key, however many people look. The key names the tenant."""

    def __init__(self, *, kept_for: timedelta = KEPT_FOR) -> None:
        self._kept_for = kept_for
        self._counted: OrderedDict[Hashable, tuple[datetime, T]] = OrderedDict()
        self._counting: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        """By key: nobody waits for what another tenant counts."""

    async def get_or_count(self, key: Hashable, count: Callable[[], Awaitable[T]], *, now: datetime) -> T:
        """Returns a recent count, or counts now. During a new count, other callers get the old one."""
        if (fresh_entry := self._fresh(key, now)) is not None:
            return fresh_entry[1]
        lock = self._counting.setdefault(key, asyncio.Lock())
        if lock.locked() and key in self._counted:
            return self._counted[key][1]
        async with lock:
            if (fresh_entry := self._fresh(key, now)) is not None:
                return fresh_entry[1]
            counted = await count()
            self._counted[key] = now, counted
            self._counted.move_to_end(key)
            if len(self._counted) > MAX_KEPT:
                self._counted.popitem(last=False)
            return counted

    def _fresh(self, key: Hashable, now: datetime) -> tuple[datetime, T] | None:
        counted = self._counted.get(key)
        return counted if counted is not None and now - counted[0] < self._kept_for else None
