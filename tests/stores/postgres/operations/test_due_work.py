"""The queue of due work, against a real database."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.operations.due_work import DueWork, WorkUrgency
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.operations.enqueuing import SPREAD_FROM, Audience
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import fresh_number, make_channel, make_subscription, make_tenant
from tests.conftest import Admin

LEASE = timedelta(minutes=1)


class Desk:
    """A kind of work of its own, so that tests do not meet."""

    def __init__(self, system: SystemStores, admin: Admin) -> None:
        self.system, self.admin, self.kind = system, admin, f"kind {fresh_number()}"

    async def enqueue(self, tenant_id: TenantId | None, people: int = 1) -> None:
        for _ in range(people):
            user_id = await self.admin.fetchval(
                "INSERT INTO users (name) VALUES (gen_random_uuid()::text) RETURNING user_id"
            )
            await self.admin.execute(
                "INSERT INTO due_work (kind, urgency, tenant_id, user_id) VALUES ($1, 1, $2, $3)",
                self.kind,
                tenant_id,
                user_id,
            )
        await self.wake()

    async def wake(self) -> None:
        while await self.admin.fetchval(
            "SELECT count(*) FROM due_work WHERE kind = $1 AND NOT is_ready AND due_at <= now()", self.kind
        ):
            await self.system.due_work.make_ready()

    async def claim(
        self, owner: str = "a", *, together: int = 1, after: int = -1, lease: timedelta = LEASE
    ) -> tuple[DueWork, ...]:
        return await self.system.due_work.claim(
            WorkUrgency.DIGEST, owner=owner, lease=lease, together={self.kind: together}, after=after
        )

    async def make_due(self) -> None:
        """Time passes."""
        await self.admin.execute("UPDATE due_work SET due_at = now() WHERE kind = $1", self.kind)
        await self.wake()


@pytest.fixture
def desk(system: SystemStores, admin: Admin) -> Desk:
    return Desk(system, admin)


async def test_of_many_workers_each_piece_goes_to_one(desk: Desk) -> None:
    await desk.enqueue(await make_tenant(desk.system), people=30)
    claimed = await asyncio.gather(*(desk.claim(f"worker {number}", together=3) for number in range(8)))
    times = Counter(work.work_id for works in claimed for work in works)
    assert times
    assert set(times.values()) == {1}


async def test_tenants_take_turns_however_much_waits_for_another(desk: Desk) -> None:
    first, other, third = [await make_tenant(desk.system) for _ in range(3)]
    await desk.enqueue(first, people=9)
    await desk.enqueue(other)
    await desk.enqueue(third)
    turns, after = list[int](), -1
    for _ in range(4):
        (work,) = await desk.claim(after=after)
        turns.append(work.turn)
        after = work.turn
    assert turns == [first, other, third, first]


async def test_work_of_a_tenant_is_claimed_together_and_work_that_failed_alone(desk: Desk) -> None:
    await desk.enqueue(await make_tenant(desk.system), people=3)
    works = await desk.claim(together=2)
    assert len(works) == 2
    await desk.system.due_work.fail(works[0], owner="a", error="broken")
    await desk.system.due_work.complete(works[1], owner="a", next_at=None)
    await desk.make_due()
    sizes = [len(await desk.claim(together=2)) for _ in range(2)]
    assert sizes == [1, 1]
    assert await desk.claim() == ()


async def test_work_of_a_dead_process_is_due_again_when_its_lease_ends_and_the_dead_cannot_end_it(
    desk: Desk,
) -> None:
    await desk.enqueue(await make_tenant(desk.system))
    (lost,) = await desk.claim("dead", lease=timedelta(0))
    await desk.wake()
    (work,) = await desk.claim("alive")
    assert (work.work_id, work.attempt) == (lost.work_id, 2)
    assert not await desk.system.due_work.complete(lost, owner="dead", next_at=None)
    await desk.system.due_work.renew([lost], owner="dead", lease=LEASE)
    assert await desk.system.due_work.complete(work, owner="alive", next_at=None)


async def test_a_process_that_lost_its_own_claim_to_itself_cannot_end_the_later_one(desk: Desk) -> None:
    await desk.enqueue(await make_tenant(desk.system))
    (lost,) = await desk.claim("a", lease=timedelta(0))
    await desk.wake()
    (work,) = await desk.claim("a")
    assert not await desk.system.due_work.complete(lost, owner="a", next_at=None)
    await desk.system.due_work.fail(lost, owner="a", error="late")
    assert await desk.system.due_work.complete(work, owner="a", next_at=None)


async def test_work_that_fails_waits_longer_each_time_and_a_server_that_was_away_is_no_failure(
    desk: Desk,
) -> None:
    await desk.enqueue(await make_tenant(desk.system))
    pauses = []
    for _ in range(3):
        (work,) = await desk.claim()
        await desk.system.due_work.fail(work, owner="a", error="x" * 10_000)
        due_at = await desk.admin.fetchval("SELECT due_at FROM due_work WHERE work_id = $1", work.work_id)
        pauses.append(due_at - datetime.now(UTC))
        assert await desk.claim() == ()
        await desk.make_due()
    assert pauses == sorted(pauses)
    (work,) = await desk.claim()
    await desk.system.due_work.put_back([work], owner="a", pause=timedelta(0))
    await desk.wake()
    (again,) = await desk.claim()
    assert (work.attempt, again.attempt) == (4, 4)


async def test_work_that_comes_again_waits_for_its_moment_without_its_past(desk: Desk) -> None:
    await desk.enqueue(await make_tenant(desk.system))
    moment = datetime.now(UTC) + timedelta(hours=1)
    (work,) = await desk.claim()
    await desk.system.due_work.fail(work, owner="a", error="broken")
    await desk.make_due()
    (work,) = await desk.claim()
    assert await desk.system.due_work.complete(work, owner="a", next_at=moment)
    assert await desk.claim() == ()
    row = await desk.admin.fetchrow("SELECT * FROM due_work WHERE work_id = $1", work.work_id)
    assert row is not None
    assert (row["due_at"], row["moment"], row["attempts"], row["error"]) == (moment, moment, 0, None)


async def test_tenants_with_work_in_hand_get_no_turn(desk: Desk) -> None:
    busy, free = [await make_tenant(desk.system) for _ in range(2)]
    await desk.enqueue(busy, people=2)
    await desk.enqueue(free)
    claim = desk.system.due_work.claim(
        WorkUrgency.DIGEST, owner="a", lease=LEASE, together={desk.kind: 5}, except_for=[busy]
    )
    assert [work.tenant_id for work in await claim] == [free]


async def test_work_is_enqueued_once_while_it_waits_and_for_those_alone_that_it_is_for(desk: Desk) -> None:
    tenant_id, other, suspended = [await make_tenant(desk.system) for _ in range(3)]
    for following in (tenant_id, suspended):
        channel_id = await make_channel(desk.system)
        await desk.system.channels.subscribe(following, make_subscription(channel_id))
    await desk.admin.execute("UPDATE tenants SET suspended_at = now() WHERE tenant_id = $1", suspended)
    for _ in range(2):
        await desk.system.enqueuer.enqueue_for_tenants(
            desk.kind,
            WorkUrgency.UPKEEP,
            Audience.FOLLOWING,
            now=datetime.now(UTC),
            spread=timedelta(hours=1),
        )
    rows = await desk.admin.fetch("SELECT tenant_id FROM due_work WHERE kind = $1", desk.kind)
    tenants = [row["tenant_id"] for row in rows]
    assert tenants.count(tenant_id) == 1
    assert not {other, suspended} & set(tenants)
    assert [await desk.system.enqueuer.enqueue(desk.kind, WorkUrgency.UPKEEP) for _ in range(2)] == [1, 0]


@pytest.mark.parametrize("audience", Audience)
async def test_every_audience_can_be_asked(desk: Desk, audience: Audience) -> None:
    count = await desk.system.enqueuer.enqueue_for_tenants(
        desk.kind, WorkUrgency.ALERT, audience, now=datetime.now(UTC), spread=timedelta(minutes=1)
    )
    assert count == await desk.admin.fetchval("SELECT count(*) FROM due_work WHERE kind = $1", desk.kind)


async def test_digests_of_few_come_at_their_hour_and_those_of_many_are_prepared_before(desk: Desk) -> None:
    tenants = [await make_tenant(desk.system) for _ in range(2)]
    moment = datetime.now(UTC) + timedelta(minutes=10)
    for tenant_id, people in zip(tenants, (SPREAD_FROM, 1), strict=True):
        await desk.enqueue(tenant_id, people=people)
    await desk.admin.execute(
        "UPDATE due_work SET due_at = $2, moment = $2, is_ready = false, jitter = 0.25 WHERE kind = $1",
        desk.kind,
        moment,
    )
    await desk.admin.execute(
        "UPDATE due_work SET due_at = $3, moment = $3 WHERE kind = $1 AND tenant_id = $2",
        desk.kind,
        tenants[1],
        moment + timedelta(minutes=1),
    )
    assert await desk.system.enqueuer.spread_digests(desk.kind) == 0
    await desk.admin.execute(
        "UPDATE due_work SET due_at = $2, moment = $2 WHERE kind = $1", desk.kind, moment
    )
    assert await desk.system.enqueuer.spread_digests(desk.kind) == SPREAD_FROM + 1
    row = await desk.admin.fetchrow(
        "SELECT min(moment - due_at) AS least, max(moment - due_at) AS most FROM due_work WHERE kind = $1",
        desk.kind,
    )
    assert row is not None
    assert row["least"] == row["most"] == timedelta(seconds=(SPREAD_FROM + 1) * 0.1 * 0.75)
    assert await desk.system.enqueuer.spread_digests(desk.kind) == 0


async def test_a_tenant_sees_its_own_work_and_not_that_of_the_installation(desk: Desk, pool: Pool) -> None:
    own, other = [await make_tenant(desk.system) for _ in range(2)]
    await desk.enqueue(own)
    await desk.enqueue(other)
    await desk.system.enqueuer.enqueue(desk.kind, WorkUrgency.UPKEEP)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(f"SET LOCAL ROLE tga_tenant; SET LOCAL app.tenant_id = '{own}'")
        rows = await connection.fetch("SELECT tenant_id FROM due_work WHERE kind = $1", desk.kind)
        assert [row["tenant_id"] for row in rows] == [own]
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("UPDATE due_work SET due_at = now()")
