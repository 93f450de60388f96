"""A process that works off the queue of due work."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.operations.due_work import DueWork, WorkUrgency
from telegram_assistant.errors import Busy
from telegram_assistant.features.operations.due_work import DueKind, DueWorker, RunWork, part_of
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telemetry.health import Health
from testkit.factories import fresh_number, make_tenant
from tests.conftest import Admin


class Office:
    """A kind of work that notes what was done, and for whom it fails, hangs or has to wait."""

    def __init__(self, system: SystemStores, admin: Admin, *, together: int = 1) -> None:
        self.system, self.admin, self.kind = system, admin, f"kind {fresh_number()}"
        self.done: list[DueWork] = []
        self.begun: list[int] = []
        self.broken: set[TenantId | None] = set()
        self.hanging: set[TenantId | None] = set()
        self.waiting: set[TenantId | None] = set()
        self.health = Health(probes={})
        self.due_kind = DueKind(
            name=self.kind,
            urgency=WorkUrgency.UPKEEP,
            begin=self.begin,
            rows=1,
            together=together,
            timeout_seconds=20.0,
        )

    async def begin(self, _tools: None, works: Sequence[DueWork], _now: datetime) -> RunWork:
        self.begun.append(len(works))

        async def run(work: DueWork) -> datetime | None:
            if work.tenant_id in self.broken:
                raise RuntimeError("the token=abcdefgh12345 was refused")
            if work.tenant_id in self.waiting:
                self.waiting.discard(work.tenant_id)
                raise Busy(Reason("postgres_silent", "away"), retry_after_seconds=0.0)
            while work.tenant_id in self.hanging:
                await asyncio.sleep(0.02)
            self.done.append(work)
            return None

        return run

    async def enqueue(self, *tenants: TenantId, people: int = 1) -> None:
        for tenant_id in tenants:
            for _ in range(people):
                await self.admin.execute(
                    "WITH person AS ("
                    "INSERT INTO users (name) VALUES (gen_random_uuid()::text) RETURNING user_id) "
                    "INSERT INTO due_work (kind, urgency, tenant_id, user_id) "
                    "SELECT $1, 2, $2, user_id FROM person",
                    self.kind,
                    tenant_id,
                )

    def worker(self, owner: str = "a") -> DueWorker[None]:
        return DueWorker(
            queue=self.system.due_work,
            kinds=(self.due_kind,),
            tools=None,
            owner=f"{owner} {self.kind}",
            health=self.health,
        )

    @asynccontextmanager
    async def at_work(self, worker: DueWorker[None]) -> AsyncIterator[asyncio.Event]:
        stopping = asyncio.Event()
        working = asyncio.create_task(worker.keep_working(stopping))
        try:
            yield stopping
        finally:
            stopping.set()
            await asyncio.wait_for(working, 30)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                await asyncio.sleep(0.02)


async def test_work_is_done_once_and_leaves_the_queue(system: SystemStores, admin: Admin) -> None:
    office = Office(system, admin)
    tenants = [await make_tenant(system) for _ in range(3)]
    await office.enqueue(*tenants)
    async with office.at_work(office.worker()), office.at_work(office.worker("b")):
        await office.until(lambda: len(office.done) == 3)
    assert sorted(work.turn for work in office.done) == sorted(tenants)
    assert not await admin.fetchval("SELECT count(*) FROM due_work WHERE kind = $1", office.kind)


async def test_a_failure_stops_nobody_else_and_is_red_until_the_kind_works_again(
    system: SystemStores, admin: Admin
) -> None:
    office = Office(system, admin)
    first, poisoned, last = [await make_tenant(system) for _ in range(3)]
    office.broken.add(poisoned)
    await office.enqueue(first, poisoned, last)
    worker, elsewhere = office.worker(), office.worker("b")
    elsewhere.health = Health(probes={})
    count = await worker.work_off([office.kind], now=datetime.now(UTC))
    assert (count.done, count.failed) == (2, 1)
    for each in (worker, elsewhere):
        await each.report_waiting()
        assert each.health.parts()[part_of(office.kind)]["status"] == "failing"
    part = office.health.parts()[part_of(office.kind)]
    assert "abcdefgh" not in str(part)
    error = await admin.fetchval("SELECT error FROM due_work WHERE kind = $1", office.kind)
    assert "was refused" in error
    assert "abcdefgh" not in error
    office.broken.clear()
    await system.due_work.hurry([office.kind])
    count = await worker.work_off([office.kind], now=datetime.now(UTC))
    assert (count.done, count.failed) == (1, 0)
    for each in (worker, elsewhere):
        await each.report_waiting()
        assert each.health.parts()[part_of(office.kind)]["status"] == "ok"


async def test_what_people_share_is_begun_once_and_one_that_hangs_does_not_hold_the_others_up(
    system: SystemStores, admin: Admin
) -> None:
    office = Office(system, admin, together=10)
    quick, slow = [await make_tenant(system) for _ in range(2)]
    office.hanging.add(slow)
    await office.enqueue(slow, quick, people=4)
    async with office.at_work(office.worker()):
        await office.until(lambda: len(office.done) == 4)
        assert {work.tenant_id for work in office.done} == {quick}
        office.hanging.clear()
        await office.until(lambda: len(office.done) == 8)
    assert office.begun == [4, 4]


async def test_a_server_that_is_away_uses_up_no_attempt(system: SystemStores, admin: Admin) -> None:
    office = Office(system, admin)
    tenant_id = await make_tenant(system)
    office.waiting.add(tenant_id)
    await office.enqueue(tenant_id)
    count = await office.worker().work_off([office.kind], now=datetime.now(UTC))
    assert (count.done, count.failed) == (1, 0)
    assert [work.attempt for work in office.done] == [1]


async def test_a_worker_that_stops_finishes_what_it_does_and_puts_the_rest_back(
    system: SystemStores, admin: Admin
) -> None:
    office = Office(system, admin, together=10)
    tenant_id = await make_tenant(system)
    office.hanging.add(tenant_id)
    await office.enqueue(tenant_id, people=8)
    async with office.at_work(office.worker()) as stopping:
        await office.until(lambda: bool(office.begun))
        await asyncio.sleep(0.1)
        stopping.set()
        await asyncio.sleep(0.1)
        office.hanging.clear()
    assert 0 < len(office.done) < 8
    rows = await admin.fetch(
        "SELECT attempts, leased_by, due_at <= now() AS is_due FROM due_work WHERE kind = $1", office.kind
    )
    assert len(rows) == 8 - len(office.done)
    assert {(row["attempts"], row["leased_by"], row["is_due"]) for row in rows} == {(0, None, True)}


async def test_work_in_hand_stays_claimed_for_longer_than_a_lease(system: SystemStores, admin: Admin) -> None:
    office = Office(system, admin)
    tenant_id = await make_tenant(system)
    office.hanging.add(tenant_id)
    await office.enqueue(tenant_id)
    slow, quick = office.worker(), office.worker("b")
    slow.lease, slow.renew_seconds = timedelta(seconds=1), 0.2
    async with office.at_work(slow):
        await office.until(lambda: bool(office.begun))
        async with office.at_work(quick):
            await asyncio.sleep(2.5)
            office.hanging.clear()
            await office.until(lambda: bool(office.done))
    assert office.begun == [1]
