"""Planned digests of several people of a tenant."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.clock import run_job, work_off
from telegram_assistant.domain.digests.digest import Digest
from telegram_assistant.domain.digests.plan import DigestPlan
from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.operations.due_work import DueWork, WorkUrgency
from telegram_assistant.domain.receivers.delivery import ReceiverKind
from telegram_assistant.jobs import job_named
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.telemetry.health import Health
from telegram_assistant.work_kinds import DIGEST, make_digests
from testkit.due_work import run_periodic
from testkit.receiving import make_receiver
from tests.conftest import Admin
from tests.features.story_desk import AGAIN, FLOOD, StoryDesk

UNREADABLE = """
INSERT INTO digests (tenant_id, user_id, digest_id, since, until, content, made_at)
VALUES ($1, $2, gen_random_uuid(), now() - interval '2 days', now() - interval '1 day', '{}',
    now() - interval '1 day')
"""


@dataclass(frozen=True)
class Newsroom:
    """A tenant with a story, and people who want a digest at a time of the day."""

    app: App
    admin: Admin
    desk: StoryDesk
    tenant_id: TenantId

    async def join(self, at: datetime, *, zone: str = "UTC", with_mail: bool = False) -> UserId:
        """A person whose plan names this moment, each day, for half a day already."""
        user_id = await self.desk.invite(self.tenant_id)
        receivers: tuple[UUID, ...] = ()
        if with_mail:
            receiver = await make_receiver(
                ReceiverKind.EMAIL,
                f"mail of {user_id}",
                "reader@desk.example",
                stores=self.app.tenant(self.tenant_id),
                sealer=self.app.sealer,
            )
            receivers = (receiver.receiver_id,)
        local = at.astimezone(ZoneInfo(zone))
        await self.app.person(self.tenant_id, user_id).digests.set_plan(
            DigestPlan((time(local.hour, local.minute),), receivers=receivers, zone=zone)
        )
        await self.admin.execute(
            "UPDATE digest_plans SET changed_at = now() - interval '12 hours' WHERE user_id = $1", user_id
        )
        return user_id

    async def digests(self, user_id: UserId, *, with_prepared: bool = False) -> list[Digest]:
        own = self.app.person(self.tenant_id, user_id).digests
        return [stored.digest for stored in await own.newest(limit=9, with_prepared=with_prepared)]

    def work(self, user_id: UserId, moment: datetime | None = None) -> DueWork:
        return DueWork(
            work_id=0,
            kind=DIGEST,
            urgency=WorkUrgency.DIGEST,
            tenant_id=self.tenant_id,
            user_id=user_id,
            moment=moment,
            attempt=1,
        )


@pytest.fixture
async def newsroom(installation: Settings, pool: Pool, admin: Admin) -> AsyncIterator[Newsroom]:
    async with assemble(installation, needs_redis=False) as app:
        desk = StoryDesk(app.system, pool, admin)
        tenant_id = await desk.open()
        for text in (FLOOD, AGAIN):
            await desk.post(text, tenant_id, minutes_ago=30)
        yield Newsroom(app, admin, desk, tenant_id)


async def test_one_whose_digest_cannot_be_made_stops_nobody_elses(newsroom: Newsroom) -> None:
    now = datetime.now(UTC)
    people = [await newsroom.join(now) for _ in range(4)]
    await newsroom.admin.execute(UNREADABLE, newsroom.tenant_id, people[1])
    summary = await run_periodic(newsroom.app, "digests", now)
    assert "1 failed" in summary
    for person in (people[0], *people[2:]):
        assert len(await newsroom.digests(person)) == 1
    error = await newsroom.admin.fetchval("SELECT error FROM due_work WHERE user_id = $1", people[1])
    assert "ValidationError" in error
    await newsroom.admin.execute("DELETE FROM digests WHERE user_id = $1", people[1])
    await newsroom.admin.execute("UPDATE due_work SET due_at = now() WHERE user_id = $1", people[1])
    await run_periodic(newsroom.app, "digests", now)
    assert len(await newsroom.digests(people[1])) == 1, "a missed digest is made up once"
    await newsroom.admin.execute("DELETE FROM due_work WHERE user_id = ANY ($1)", people)


async def test_people_who_share_what_is_read_get_what_each_would_get_alone(newsroom: Newsroom) -> None:
    now = datetime.now(UTC)
    alone, first, other = [await newsroom.join(now) for _ in range(3)]
    later = now + timedelta(seconds=1)
    run_alone = await make_digests(newsroom.app, [newsroom.work(alone)], later)
    await run_alone(newsroom.work(alone))
    works = [newsroom.work(first), newsroom.work(other)]
    run_together = await make_digests(newsroom.app, works, later)
    next_moments = [await run_together(work) for work in works]
    (expected,) = await newsroom.digests(alone)
    assert len(expected.stories) == 1
    for person in (first, other):
        (digest,) = await newsroom.digests(person)
        assert digest.stories == expected.stories
    tomorrow = now.replace(second=0, microsecond=0) + timedelta(days=1)
    assert next_moments == [tomorrow, tomorrow]


async def test_a_prepared_digest_is_neither_listed_nor_sent_before_its_moment_and_made_once(
    newsroom: Newsroom,
) -> None:
    now = datetime.now(UTC)
    moment = (now + timedelta(minutes=10)).replace(second=0, microsecond=0)
    person = await newsroom.join(moment, zone="Asia/Vladivostok", with_mail=True)
    work = newsroom.work(person, moment)
    for _ in range(2):  # the first process died before it could say so
        run = await make_digests(newsroom.app, [work], now)
        assert await run(work) == moment + timedelta(days=1)
    assert await newsroom.digests(person) == []
    (prepared,) = await newsroom.digests(person, with_prepared=True)
    assert prepared.until == now
    sent = await newsroom.admin.fetch(
        "SELECT due_at FROM deliveries WHERE user_id = $1 AND digest_id IS NOT NULL", person
    )
    assert [row["due_at"] for row in sent] == [moment]
    made_at = await newsroom.admin.fetchval("SELECT made_at FROM digests WHERE user_id = $1", person)
    assert made_at == moment
    late = moment + timedelta(minutes=1)
    run = await make_digests(newsroom.app, [newsroom.work(person)], late)
    await run(newsroom.work(person))
    assert len(await newsroom.digests(person, with_prepared=True)) == 1


async def test_a_plan_that_changes_moves_its_work_and_one_without_times_ends_it(newsroom: Newsroom) -> None:
    now, health = datetime.now(UTC), Health(probes={})
    job = job_named("digests", newsroom.app.settings)
    person = await newsroom.join(now + timedelta(hours=2))
    await run_periodic(newsroom.app, "digests", now)
    due = "SELECT due_at FROM due_work WHERE user_id = $1"
    expected = (now + timedelta(hours=2)).replace(second=0, microsecond=0)
    assert await newsroom.admin.fetchval(due, person) == expected
    at = (now + timedelta(hours=3)).replace(second=0, microsecond=0)
    own = newsroom.app.person(newsroom.tenant_id, person).digests
    await own.set_plan(DigestPlan((time(at.hour, at.minute),)))
    await run_job(job, app=newsroom.app, health=health, now=now + timedelta(minutes=1))
    await work_off(job, app=newsroom.app, now=now)
    assert await newsroom.admin.fetchval(due, person) == at
    await own.set_plan(DigestPlan())
    await newsroom.admin.execute("UPDATE due_work SET due_at = now() WHERE user_id = $1", person)
    await work_off(job, app=newsroom.app, now=now)
    assert await newsroom.admin.fetchval(due, person) is None
