"""Fair queueing: few requests run at once, few of them for one tenant and one caller, and tenants take turns.

A process has one interpreter. Without turns, a tenant with sixty requests gets sixty times the share of a
tenant with one. Pages and the API share the queues, so neither is a way around the other.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from telegram_assistant.errors import Throttled
from telegram_assistant.reasons import Reason
from telegram_assistant.telemetry.metrics import REQUESTS_REFUSED, REQUESTS_WAITING


class WorkKind(StrEnum):
    """The kinds of work that have queues of their own, so that none waits behind another;
    as used in metrics.
    """

    ORDINARY = "ordinary"
    MEDIA = "media"
    """Pictures and files: dozens at once, and most of their time goes into reading."""
    EXPENSIVE = "expensive"
    """Questions, searches, previews, imports: what costs several times a page of the feed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """How many requests run and wait at once.

    One caller has at most half of its tenant's places, rounded up.
    """

    max_running: int
    max_running_per_tenant: int
    max_waiting_per_tenant: int
    max_wait_seconds: float

    @property
    def max_running_per_caller(self) -> int:
        return _half(self.max_running_per_tenant)

    @property
    def max_waiting_per_caller(self) -> int:
        return _half(self.max_waiting_per_tenant)


@dataclass(eq=False, slots=True)
class Place:
    """A request in a queue, and its right to run once `granted`, until `leave`.

    Leaving twice is leaving once.
    """

    queue: "FairQueue"
    tenant_id: int
    caller: str
    granted: asyncio.Future[None]
    has_left: bool = field(default=False, init=False)

    def leave(self) -> None:
        if not self.has_left:
            self.has_left = True
            self.queue.release(self)


class FairQueue:
    """One per process and kind of work. While a place is free, nobody waits who may have it."""

    def __init__(self, kind: WorkKind, limits: QueueLimits) -> None:
        self._kind, self._limits = kind, limits
        self._of_tenant: Counter[int] = Counter()
        self._of_caller: Counter[tuple[int, str]] = Counter()
        self._lines: OrderedDict[int, list[Place]] = OrderedDict()
        """Requests that wait, by tenant; the tenant whose turn is next comes first."""

    @asynccontextmanager
    async def place(self, tenant_id: int, caller: str) -> AsyncIterator[Place]:
        """Waits for a place and holds it inside the block.

        Raises Throttled if the line is full, or does not move in time.
        """
        place = Place(self, tenant_id, caller, asyncio.get_running_loop().create_future())
        try:
            await self._enter(place)
            yield place
        finally:
            place.leave()

    async def _enter(self, place: Place) -> None:
        if self._may_run(place):
            self._grant(place)
            return
        line, limits = self._lines.get(place.tenant_id, []), self._limits
        of_caller = sum(waiting_place.caller == place.caller for waiting_place in line)
        if len(line) >= limits.max_waiting_per_tenant or of_caller >= limits.max_waiting_per_caller:
            raise self._refusal()
        self._lines.setdefault(place.tenant_id, []).append(place)
        REQUESTS_WAITING.labels(self._kind).inc()
        try:
            async with asyncio.timeout(limits.max_wait_seconds):
                await place.granted
        except TimeoutError:
            raise self._refusal() from None

    def release(self, place: Place) -> None:
        """Takes a place away from a request that runs, waits or was refused,
        and grants places that are free now.
        """
        if place.granted.done() and not place.granted.cancelled():
            _decrement(self._of_tenant, place.tenant_id)
            _decrement(self._of_caller, (place.tenant_id, place.caller))
        elif place in self._lines.get(place.tenant_id, ()):
            self._remove(place)
        while (following := self._next_place()) is not None:
            self._lines.move_to_end(following.tenant_id)
            self._remove(following)
            self._grant(following)

    def _next_place(self) -> Place | None:
        """Returns the first request that may run now, of the first tenant that has one."""
        if self._of_tenant.total() >= self._limits.max_running:
            return None
        return next((place for line in self._lines.values() for place in line if self._may_run(place)), None)

    def _may_run(self, place: Place) -> bool:
        """A cancelled request may not: it is about to leave."""
        return (
            not place.granted.cancelled()
            and self._of_tenant.total() < self._limits.max_running
            and self._of_tenant[place.tenant_id] < self._limits.max_running_per_tenant
            and self._of_caller[place.tenant_id, place.caller] < self._limits.max_running_per_caller
        )

    def _grant(self, place: Place) -> None:
        self._of_tenant[place.tenant_id] += 1
        self._of_caller[place.tenant_id, place.caller] += 1
        place.granted.set_result(None)

    def _remove(self, place: Place) -> None:
        line = self._lines[place.tenant_id]
        line.remove(place)
        if not line:
            del self._lines[place.tenant_id]
        REQUESTS_WAITING.labels(self._kind).dec()

    def _refusal(self) -> Throttled:
        REQUESTS_REFUSED.labels(self._kind).inc()
        seconds = self._limits.max_wait_seconds
        reason = Reason(
            "queue_full",
            "too many requests from you or your tenant are already waiting; try again in {count} second",
            "too many requests from you or your tenant are already waiting; try again in {count} seconds",
            count=round(seconds),
        )
        return Throttled(reason, retry_after_seconds=seconds)


type WorkQueues = Mapping[WorkKind, FairQueue]
"""The queues of a process."""


def make_queues(max_expensive_per_tenant: int) -> WorkQueues:
    limits = {
        WorkKind.ORDINARY: QueueLimits(
            max_running=8, max_running_per_tenant=4, max_waiting_per_tenant=300, max_wait_seconds=10.0
        ),
        WorkKind.MEDIA: QueueLimits(
            max_running=8, max_running_per_tenant=4, max_waiting_per_tenant=600, max_wait_seconds=10.0
        ),
        WorkKind.EXPENSIVE: QueueLimits(
            max_running=2 * max_expensive_per_tenant,
            max_running_per_tenant=max_expensive_per_tenant,
            max_waiting_per_tenant=16,
            max_wait_seconds=5.0,
        ),
    }
    return {kind: FairQueue(kind, of_kind) for kind, of_kind in limits.items()}


def _half(number: int) -> int:
    return -(-number // 2)


def _decrement[Key](counts: Counter[Key], key: Key) -> None:
    """Without a zero left behind for every tenant that was ever here."""
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
