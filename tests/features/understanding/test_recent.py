"""Counts that are kept for some time."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.features.understanding.recent import KEPT_FOR, MAX_VARIANTS, Recent

NOW = datetime(2026, 11, 1, tzinfo=UTC)
FIRST, OTHER = TenantId(1), TenantId(2)


class Counting:
    """Counts how often each tenant's count was made, and waits where it should."""

    def __init__(self) -> None:
        self.times: Counter[TenantId] = Counter()
        self.goes_on = asyncio.Event()
        self.recent: Recent[int] = Recent()

    async def look(
        self, tenant_id: TenantId, *, variant: int = 0, now: datetime = NOW, waits: bool = False
    ) -> int:
        async def count() -> int:
            if waits:
                await self.goes_on.wait()
            self.times[tenant_id] += 1
            return self.times[tenant_id]

        return await self.recent.get_or_count(tenant_id, count, now=now, variant=variant)


async def test_a_tenant_is_counted_once_a_minute_however_many_people_look() -> None:
    counting = Counting()
    assert await asyncio.gather(*(counting.look(FIRST) for _ in range(5))) == [1] * 5
    assert await counting.look(FIRST, now=NOW + KEPT_FOR - timedelta(seconds=1)) == 1
    assert await counting.look(FIRST, now=NOW + KEPT_FOR) == 2


async def test_nobody_waits_for_what_another_tenant_counts() -> None:
    counting = Counting()
    slow = asyncio.create_task(counting.look(FIRST, waits=True))
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        assert await counting.look(OTHER) == 1
    counting.goes_on.set()
    assert await slow == 1


async def test_during_a_new_count_others_get_the_old_one() -> None:
    counting = Counting()
    await counting.look(FIRST)
    later = NOW + KEPT_FOR
    slow = asyncio.create_task(counting.look(FIRST, now=later, waits=True))
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        assert await counting.look(FIRST, now=later) == 1
    counting.goes_on.set()
    assert await slow == 2


async def test_a_tenant_that_asks_for_many_variants_displaces_only_its_own() -> None:
    counting = Counting()
    await counting.look(OTHER)
    for variant in range(2000):
        await counting.look(FIRST, variant=variant)
    assert await counting.look(OTHER) == 1
    assert await counting.look(FIRST, variant=2000 - MAX_VARIANTS) == 2000 - MAX_VARIANTS + 1
    assert await counting.look(FIRST, variant=0) == 2001
