"""Tenants take turns: nobody gets more places than allowed, nobody waits behind a crowd,
and no place is lost.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.errors import Throttled
from telegram_assistant.fair_queue import FairQueue, QueueLimits, WorkKind
from telegram_assistant.telemetry.metrics import REGISTRY

type Caller = tuple[int, str]

LIMITS = QueueLimits(max_running=3, max_running_per_tenant=2, max_waiting_per_tenant=4, max_wait_seconds=60)
CALLERS: tuple[Caller, ...] = tuple((tenant, caller) for tenant in range(4) for caller in "ab")


class Step(StrEnum):
    """Something that happens to a request."""

    ARRIVE = "arrive"
    FINISH = "finish"
    FAIL = "fail"
    CANCEL = "cancel"
    LEAVE = "leave"


steps = st.lists(st.tuples(st.sampled_from(Step), st.sampled_from(CALLERS), st.integers(0, 30)), max_size=60)


@dataclass(eq=False)
class Request:
    """One request, as somebody sees it from outside the queue."""

    who: Caller
    end: asyncio.Event = field(default_factory=asyncio.Event)
    is_failing: bool = False
    leaves_early: bool = False
    is_running: bool = False
    is_refused: bool = False

    async def run(self, queue: FairQueue, granted: list[Caller]) -> None:
        try:
            async with queue.place(*self.who) as place:
                self.is_running = True
                granted.append(self.who)
                await self.end.wait()
                if self.leaves_early:
                    place.leave()
                if self.is_failing:
                    raise ValueError("the page failed")
        except Throttled:
            self.is_refused = True
        finally:
            self.is_running = False


@dataclass
class Crowd:
    """Requests in a queue, and what was seen of them."""

    queue: FairQueue
    requests: dict[Request, asyncio.Task[None]] = field(default_factory=dict)
    granted: list[Caller] = field(default_factory=list)

    def requests_in_state(self, *, running: bool) -> list[Request]:
        return [
            request
            for request, task in self.requests.items()
            if not task.done() and request.is_running == running
        ]

    async def take(self, step: Step, who: Caller, number: int) -> None:
        if step is Step.ARRIVE:
            request = Request(who)
            self.requests[request] = asyncio.create_task(request.run(self.queue, self.granted))
        elif step is Step.CANCEL and (
            present := [request for request, task in self.requests.items() if not task.done()]
        ):
            self.requests[present[number % len(present)]].cancel()
        elif running := self.requests_in_state(running=True):
            chosen = running[number % len(running)]
            chosen.is_failing, chosen.leaves_early = step is Step.FAIL, step is Step.LEAVE
            chosen.end.set()
        await settle()

    async def end(self) -> None:
        for task in self.requests.values():
            task.cancel()
        await asyncio.gather(*self.requests.values(), return_exceptions=True)


async def settle() -> None:
    """Until nothing moves any more without a further step."""
    for _ in range(12):
        await asyncio.sleep(0)


def waiting_gauge() -> float:
    return REGISTRY.get_sample_value("requests_waiting", {"kind": "ordinary"}) or 0.0


def per_tenant(requests: Sequence[Request]) -> Counter[int]:
    return Counter(request.who[0] for request in requests)


def could_run(request: Request, running: Sequence[Request]) -> bool:
    """Whether only the process's own limit keeps it waiting."""
    of_caller = sum(other.who == request.who for other in running)
    return (
        per_tenant(running)[request.who[0]] < LIMITS.max_running_per_tenant
        and of_caller < LIMITS.max_running_per_caller
    )


@given(steps)
def test_nobody_runs_more_than_allowed_and_no_free_place_stays_empty(
    taken: list[tuple[Step, Caller, int]],
) -> None:
    async def follow() -> None:
        crowd = Crowd(FairQueue(WorkKind.ORDINARY, LIMITS))
        for step in taken:
            await crowd.take(*step)
            running, waiting = crowd.requests_in_state(running=True), crowd.requests_in_state(running=False)
            assert len(running) <= LIMITS.max_running
            assert max(per_tenant(running).values(), default=0) <= LIMITS.max_running_per_tenant
            assert (
                max(Counter(request.who for request in running).values(), default=0)
                <= LIMITS.max_running_per_caller
            )
            assert max(per_tenant(waiting).values(), default=0) <= LIMITS.max_waiting_per_tenant
            assert (
                max(Counter(request.who for request in waiting).values(), default=0)
                <= LIMITS.max_waiting_per_caller
            )
            if len(running) < LIMITS.max_running:
                assert not [request for request in waiting if could_run(request, running)]
        await crowd.end()

    asyncio.run(follow())


@given(steps)
def test_a_tenant_waits_behind_at_most_one_turn_of_each_other_tenant(
    taken: list[tuple[Step, Caller, int]],
) -> None:
    async def follow() -> None:
        crowd, overtaken = (
            Crowd(FairQueue(WorkKind.ORDINARY, LIMITS)),
            defaultdict[int, Counter[int]](Counter),
        )
        for step in taken:
            before, running = len(crowd.granted), crowd.requests_in_state(running=True)
            due = {
                request.who[0]
                for request in crowd.requests_in_state(running=False)
                if could_run(request, running)
            }
            await crowd.take(*step)
            for tenant, _ in crowd.granted[before:]:
                overtaken.pop(tenant, None)
                for other in due - {tenant}:
                    overtaken[other][tenant] += 1
            still_due = {
                request.who[0]
                for request in crowd.requests_in_state(running=False)
                if could_run(request, crowd.requests_in_state(running=True))
            }
            for tenant in set(overtaken) - still_due:
                del overtaken[tenant]
            assert all(turns <= 1 for counts in overtaken.values() for turns in counts.values())
        await crowd.end()

    asyncio.run(follow())


@given(steps)
def test_whoever_failed_left_early_or_was_cancelled_leaves_nothing_behind(
    taken: list[tuple[Step, Caller, int]],
) -> None:
    async def follow() -> None:
        waiting_before = waiting_gauge()
        crowd = Crowd(queue := FairQueue(WorkKind.ORDINARY, LIMITS))
        for step in taken:
            await crowd.take(*step)
        await crowd.end()
        assert waiting_gauge() == waiting_before
        after = Crowd(queue)
        for who in ((0, "a"), (0, "b"), (1, "a"), (2, "a")):
            await after.take(Step.ARRIVE, who, 0)
        assert [request.who for request in after.requests_in_state(running=True)] == [
            (0, "a"),
            (0, "b"),
            (1, "a"),
        ]
        await after.end()

    asyncio.run(follow())


async def test_tenants_take_turns_however_many_requests_one_of_them_has() -> None:
    limits = QueueLimits(
        max_running=1, max_running_per_tenant=1, max_waiting_per_tenant=20, max_wait_seconds=60
    )
    crowd = Crowd(FairQueue(WorkKind.EXPENSIVE, limits))
    for who in [(1, "flood")] * 8 + [(2, "b"), (3, "c"), (2, "b")]:
        await crowd.take(Step.ARRIVE, who, 0)
    for _ in range(6):
        await crowd.take(Step.FINISH, (0, ""), 0)
    assert [tenant for tenant, _ in crowd.granted] == [1, 1, 2, 3, 1, 2, 1]
    await crowd.end()


async def test_one_caller_leaves_half_of_the_line_to_the_others_of_its_tenant() -> None:
    crowd = Crowd(FairQueue(WorkKind.ORDINARY, LIMITS))
    for who in [(1, "flood")] * 8 + [(1, "colleague")] * 2:
        await crowd.take(Step.ARRIVE, who, 0)
    assert sum(request.is_refused for request in crowd.requests) == 8 - 1 - 2
    assert sorted(request.who[1] for request in crowd.requests_in_state(running=True)) == [
        "colleague",
        "flood",
    ]
    await crowd.end()


async def test_a_full_line_refuses_at_once_and_says_when_to_come_back() -> None:
    limits = QueueLimits(
        max_running=1, max_running_per_tenant=1, max_waiting_per_tenant=0, max_wait_seconds=5
    )
    queue = FairQueue(WorkKind.EXPENSIVE, limits)
    async with queue.place(1, "first"):
        with pytest.raises(Throttled) as refused:
            async with queue.place(1, "second"):
                pass
    assert refused.value.retry_after_seconds == 5
    assert (
        str(refused.value)
        == "too many requests from you or your tenant are already waiting; try again in 5 seconds"
    )


async def test_who_waits_too_long_is_refused_and_the_next_one_runs() -> None:
    limits = QueueLimits(
        max_running=1, max_running_per_tenant=1, max_waiting_per_tenant=9, max_wait_seconds=0.05
    )
    queue = FairQueue(WorkKind.EXPENSIVE, limits)
    async with queue.place(1, "slow"):
        with pytest.raises(Throttled):
            async with queue.place(2, "patient"):
                pass
    async with asyncio.timeout(1), queue.place(2, "patient"):
        pass


async def test_a_place_that_was_left_early_is_free_and_is_left_once() -> None:
    limits = QueueLimits(
        max_running=1, max_running_per_tenant=1, max_waiting_per_tenant=9, max_wait_seconds=1
    )
    queue = FairQueue(WorkKind.EXPENSIVE, limits)
    async with queue.place(1, "asks a provider") as place:
        place.leave()
        async with queue.place(1, "another"):
            place.leave()
            with pytest.raises(Throttled):
                async with queue.place(1, "a third"):
                    pass
