"""Works off the queue of due work: each kind in places of its urgency, tenants in turns, failures apart.

jobs enqueue -> due_work -> a claim: work of one tenant and kind -> `begin` reads what its people share
                                                                 -> each piece by itself: done or failed
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.operations.due_work import DueWork, WaitingWork, WorkUrgency
from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.operations.due_work import DueWorkQueue
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.metrics import DUE_WORK_LATE, DUE_WORK_RUNS, DUE_WORK_WAITING
from telegram_assistant.telemetry.outages import OutageLog
from telegram_assistant.telemetry.scrubbing import scrub_text

LEASE = timedelta(seconds=60)
RENEW_SECONDS = 15.0
EVERY_SECONDS = 1.0
COUNT_SECONDS = 30.0
LATE_SECONDS = 900.0
"""Work that is due for longer means that the workers do not keep up."""
PART = "due work"
PLACES: Mapping[WorkUrgency, int] = {
    WorkUrgency.ALERT: 2,
    WorkUrgency.DIGEST: 2,
    WorkUrgency.UPKEEP: 2,
}
"""How many tenants a process works for at the same time. A tenant has at most one place of each urgency, so
none keeps the others waiting.
"""
MAX_BESIDE = 3
"""Pieces of a claim that run beside each other: one that waits for a provider does not hold the others up."""

type RunWork = Callable[[DueWork], Awaitable[datetime | None]]
"""Does a piece of work. Returns when it is due again; None: when it is enqueued again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueKind[Tools]:
    """A kind of due work.

    `begin` reads what all pieces of a claim share, and returns what does each. `rows` is the most that a run
    deletes or takes over; None: it deletes nothing old, reads what one tenant sees, and its deadline ends it.
    """

    name: str
    urgency: WorkUrgency
    begin: Callable[[Tools, Sequence[DueWork], datetime], Awaitable[RunWork]]
    rows: int | None = None
    together: int = 1
    timeout_seconds: float = 600.0


@dataclass(slots=True)
class WorkCount:
    """How many pieces were done, and how many failed."""

    done: int = 0
    failed: int = 0


@dataclass(slots=True)
class DueWorker[Tools]:
    """Claims work for one process and does it."""

    queue: DueWorkQueue
    kinds: Sequence[DueKind[Tools]]
    tools: Tools
    owner: str
    health: Health
    places: Mapping[WorkUrgency, int] = field(default_factory=lambda: PLACES)
    lease: timedelta = LEASE
    renew_seconds: float = RENEW_SECONDS
    _claiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    _turns: dict[WorkUrgency, int] = field(default_factory=dict)
    """By urgency, whose turn was last."""
    _busy: set[tuple[WorkUrgency, int]] = field(default_factory=set)
    """The turns of the tenants that this process works for."""
    _in_hand: dict[int, DueWork] = field(default_factory=dict)
    _failures: dict[str, OutageLog] = field(default_factory=dict)

    async def keep_working(self, stopping: asyncio.Event) -> None:
        """Works until `stopping` is set; then finishes the pieces in hand, and puts back the others."""
        ready = {urgency: asyncio.Event() for urgency in self.places}
        async with asyncio.TaskGroup() as tasks:
            renewing = tasks.create_task(self._keep_leases())
            counting = tasks.create_task(self._keep_counting())
            places = [
                tasks.create_task(self._keep_place(urgency, ready[urgency], stopping))
                for urgency, count in self.places.items()
                for _ in range(count)
            ]
            await self._keep_waking(ready, stopping)
            await asyncio.wait(places)
            for task in (renewing, counting):
                task.cancel()

    async def work_off(self, kinds: Sequence[str], *, now: datetime) -> WorkCount:
        """Does all work of these kinds that is due and that no other process does."""
        count = WorkCount()
        chosen_kinds = [kind for kind in self.kinds if kind.name in kinds]
        for urgency in sorted({kind.urgency for kind in chosen_kinds}):
            together = {kind.name: kind.together for kind in chosen_kinds if kind.urgency is urgency}
            while True:
                await self.queue.make_ready()
                works = await self._claim(urgency, together)
                if not works:
                    break
                await self._do_together(works, count, now=now, stopping=asyncio.Event())
        return count

    async def _keep_waking(self, ready: Mapping[WorkUrgency, asyncio.Event], stopping: asyncio.Event) -> None:
        waiting = OutageLog(PART)
        while not stopping.is_set():
            pause = EVERY_SECONDS
            try:
                for urgency in await self.queue.make_ready():
                    if urgency in ready:
                        ready[urgency].set()
                waiting.log_recovery()
            except Busy as busy:
                waiting.log_failure(busy)
                pause = busy.retry_after_seconds
            await sleep_unless(stopping, pause)
        for event in ready.values():
            event.set()

    async def _keep_place(self, urgency: WorkUrgency, ready: asyncio.Event, stopping: asyncio.Event) -> None:
        together = {kind.name: kind.together for kind in self.kinds if kind.urgency is urgency}
        while True:
            await ready.wait()
            if stopping.is_set():
                return
            try:
                works = await self._claim(urgency, together)
            except Busy:
                works = ()
            if works:
                await self._do_together(works, WorkCount(), now=datetime.now(UTC), stopping=stopping)
                ready.set()  # the tenant may have more, which another place left to this one
            elif not stopping.is_set():
                ready.clear()

    async def _claim(self, urgency: WorkUrgency, together: Mapping[str, int]) -> tuple[DueWork, ...]:
        async with self._claiming:
            works = await self.queue.claim(
                urgency,
                owner=self.owner,
                lease=self.lease,
                together=together,
                after=self._turns.get(urgency, -1),
                except_for=[turn for busy, turn in self._busy if busy is urgency],
            )
            if works:
                self._turns[urgency] = works[0].turn
                self._busy.add((urgency, works[0].turn))
                self._in_hand |= {work.work_id: work for work in works}
        return works

    async def _do_together(
        self, works: Sequence[DueWork], count: WorkCount, *, now: datetime, stopping: asyncio.Event
    ) -> None:
        """Does the pieces of a claim. Only a bug in the queue itself leaves this function."""
        kind = next(kind for kind in self.kinds if kind.name == works[0].kind)
        try:
            await self._begin_and_run(kind, works, count, now=now, stopping=stopping)
        finally:
            self._busy.discard((works[0].urgency, works[0].turn))
            for work in works:
                self._in_hand.pop(work.work_id, None)

    async def _begin_and_run(
        self,
        kind: DueKind[Tools],
        works: Sequence[DueWork],
        count: WorkCount,
        *,
        now: datetime,
        stopping: asyncio.Event,
    ) -> None:
        try:
            async with asyncio.timeout(kind.timeout_seconds):
                run = await kind.begin(self.tools, works, now)
        except Exception as error:  # noqa: BLE001 -- a bug fails this work and nothing else
            for work in works:
                await self._record_failure(work, error, count)
            return
        beside = asyncio.Semaphore(MAX_BESIDE)

        async def run_in_turn(work: DueWork) -> None:
            async with beside:
                if stopping.is_set():
                    await self._try(self.queue.put_back([work], owner=self.owner, pause=timedelta()))
                else:
                    await self._run_piece(kind, run, work, count)

        async with asyncio.TaskGroup() as pieces:
            for work in works:
                pieces.create_task(run_in_turn(work))

    async def _run_piece(self, kind: DueKind[Tools], run: RunWork, work: DueWork, count: WorkCount) -> None:
        try:
            async with asyncio.timeout(kind.timeout_seconds):
                next_at = await run(work)
            await self.queue.complete(work, owner=self.owner, next_at=next_at)
        except Exception as error:  # noqa: BLE001 -- a bug fails this piece and nothing else
            await self._record_failure(work, error, count)
            return
        finally:
            self._in_hand.pop(work.work_id, None)
        count.done += 1
        DUE_WORK_RUNS.labels(kind.name, "done").inc()
        self._log_of(kind.name).log_recovery()

    async def _record_failure(self, work: DueWork, error: Exception, count: WorkCount) -> None:
        """A server that is away is nobody's failure, and uses up no attempt."""
        if isinstance(error, Busy):
            pause = timedelta(seconds=error.retry_after_seconds)
            await self._try(self.queue.put_back([work], owner=self.owner, pause=pause))
            return
        count.failed += 1
        why = scrub_text(f"{type(error).__name__}: {error}")
        DUE_WORK_RUNS.labels(work.kind, "failed").inc()
        self._log_of(work.kind).log_failure(why, error=error, work_id=work.work_id, attempt=work.attempt)
        self.health.report(part_of(work.kind), State.FAILING, why)
        await self._try(self.queue.fail(work, owner=self.owner, error=why))

    async def _try(self, recording: Awaitable[None]) -> None:
        """Work whose end cannot be recorded now is due again when its lease ends."""
        try:
            await recording
        except Busy as busy:
            self._log_of("queue").log_failure(busy)

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(self.renew_seconds)
            if self._in_hand:
                works = tuple(self._in_hand.values())
                await self._try(self.queue.renew(works, owner=self.owner, lease=self.lease))

    async def _keep_counting(self) -> None:
        while True:
            await self._try(self.report_waiting())
            await asyncio.sleep(COUNT_SECONDS)

    async def report_waiting(self) -> None:
        """Reports what waits of the kinds that this process knows; a newer one may have others."""
        by_kind = {work.kind: work for work in await self.queue.count()}
        own = [by_kind.get(kind.name) or WaitingWork(kind.name) for kind in self.kinds]
        for work in own:
            DUE_WORK_WAITING.labels(work.kind, "due").set(work.due)
            DUE_WORK_WAITING.labels(work.kind, "failed").set(work.failed)
            DUE_WORK_LATE.labels(work.kind).set(work.late_seconds)
            self._report_failed(work)
        latest = max(own, key=lambda work: work.late_seconds, default=None)
        if latest is not None and latest.late_seconds > LATE_SECONDS:
            detail = f"{latest.kind}: {latest.due} due, the first for {latest.late_seconds / 60:.0f} minutes"
            self.health.report(PART, State.STALE, detail)
        else:
            self.health.report(PART, State.OK, f"{sum(work.due for work in own)} due")

    def _report_failed(self, work: WaitingWork) -> None:
        """A kind is red as long as a piece of it waits after a failure, whichever process it failed in."""
        part = part_of(work.kind)
        is_red = self.health.state_of(part) is State.FAILING
        if work.failed and not is_red:
            self.health.report(part, State.FAILING, work.last_error, failed=work.failed)
        elif work.failed:
            self.health.note(part, failed=work.failed)
        elif is_red:
            self.health.report(part, State.OK, "", failed=0)

    def _log_of(self, kind: str) -> OutageLog:
        return self._failures.setdefault(kind, OutageLog(part_of(kind), began="due_work_failed"))


def part_of(kind: str) -> str:
    """The name of a kind's part in health reports."""
    return f"work {kind}"
