"""Counts that take long and may be some minutes old."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

from telegram_assistant.domain.ids import TenantId

KEPT_FOR = timedelta(minutes=1)
MAX_TENANTS = 1000
MAX_VARIANTS = 8
"""Of one tenant, like languages and lengths: however many it asks for, those of others stay."""


class Recent[T]:
    """Counts seldom for each tenant and variant, however many people look."""

    def __init__(self, *, kept_for: timedelta = KEPT_FOR) -> None:
        self._kept_for = kept_for
        self._counted: OrderedDict[TenantId, OrderedDict[Hashable, tuple[datetime, T]]] = OrderedDict()
        self._counting: WeakValueDictionary[tuple[TenantId, Hashable], asyncio.Lock] = WeakValueDictionary()
        """By tenant and variant: nobody waits for what another tenant counts."""

    async def get_or_count(
        self,
        tenant_id: TenantId,
        count: Callable[[], Awaitable[T]],
        *,
        now: datetime,
        variant: Hashable = None,
    ) -> T:
        """Returns a recent count, or counts now. During a new count, other callers get the old one."""
        if (entry := self._entry(tenant_id, variant)) is not None and self._is_fresh(entry, now):
            return entry[1]
        lock = self._counting.setdefault((tenant_id, variant), asyncio.Lock())
        if lock.locked() and entry is not None:
            return entry[1]
        async with lock:
            if (entry := self._entry(tenant_id, variant)) is not None and self._is_fresh(entry, now):
                return entry[1]
            counted = await count()
            self._keep(tenant_id, variant, (now, counted))
            return counted

    def _keep(self, tenant_id: TenantId, variant: Hashable, entry: tuple[datetime, T]) -> None:
        variants = self._counted.setdefault(tenant_id, OrderedDict())
        variants[variant] = entry
        variants.move_to_end(variant)
        self._counted.move_to_end(tenant_id)
        if len(variants) > MAX_VARIANTS:
            variants.popitem(last=False)
        if len(self._counted) > MAX_TENANTS:
            self._counted.popitem(last=False)

    def _entry(self, tenant_id: TenantId, variant: Hashable) -> tuple[datetime, T] | None:
        variants = self._counted.get(tenant_id)
        return None if variants is None else variants.get(variant)

    def _is_fresh(self, entry: tuple[datetime, T], now: datetime) -> bool:
        return now - entry[0] < self._kept_for
