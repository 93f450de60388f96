"""The kinds of due work: their bounds, and what a run of each does."""

from datetime import UTC, date, datetime, timedelta

from telegram_assistant.assembly import assemble
from telegram_assistant.clock import run_job
from telegram_assistant.domain.operations.due_work import MAX_ROWS, WorkUrgency
from telegram_assistant.features.operations.due_work import DueWorker
from telegram_assistant.jobs import Job, job_named, periodic_jobs
from telegram_assistant.settings import Settings
from telegram_assistant.telemetry.health import Health
from telegram_assistant.work_kinds import KINDS, _forgetting, forget_trends
from testkit.factories import make_tenant
from tests.conftest import Admin

LONGEST_SECONDS = 600.0


def test_every_kind_declares_what_bounds_a_run() -> None:
    assert [kind.name for kind in KINDS if kind.rows is not None and not 0 < kind.rows <= MAX_ROWS] == []
    assert [kind.name for kind in KINDS if kind.timeout_seconds > LONGEST_SECONDS] == []
    assert [kind.name for kind in KINDS if kind.name.startswith("forget_") and kind.rows is None] == []
    assert len({kind.name for kind in KINDS}) == len(KINDS)


def test_every_kind_is_enqueued_by_a_job_and_every_forgetting_of_rows_is_a_kind(
    installation: Settings,
) -> None:
    jobs = periodic_jobs(installation)
    enqueued = [kind for job in jobs for kind in job.enqueues]
    assert sorted(enqueued) == sorted(kind.name for kind in KINDS)
    unbounded = {job.name for job in jobs if job.name.startswith("forget_") and not job.enqueues}
    assert unbounded == {"forget_in_graph"}  # the graph deletes a day at a time


async def test_each_kind_of_forgetting_runs_and_leaves_the_queue(installation: Settings) -> None:
    async with assemble(installation, needs_redis=False) as app:
        for kind in KINDS:
            if kind.name.startswith("forget_"):
                await app.system.enqueuer.enqueue(kind.name, kind.urgency)
        worker = DueWorker(
            queue=app.system.due_work, kinds=KINDS, tools=app, owner="a", health=Health(probes={})
        )
        names = [kind.name for kind in KINDS if kind.name.startswith("forget_")]
        count = await worker.work_off(names, now=datetime.now(UTC))
    assert count.failed == 0
    assert count.done >= len(names)


async def test_a_run_deletes_as_much_as_it_may_and_what_is_left_is_due_at_once(
    installation: Settings, admin: Admin
) -> None:
    kind = _forgetting(forget_trends, limit=2)
    async with assemble(installation, needs_redis=False) as app:
        tenant_id = await make_tenant(app.system)
        for number in range(1, 6):
            await admin.execute(
                "INSERT INTO trend_days (tenant_id, day, trends) VALUES ($1, $2, '[]')",
                tenant_id,
                date(2020, 1, number),
            )
        await app.system.enqueuer.enqueue(kind.name, kind.urgency)
        worker = DueWorker(
            queue=app.system.due_work, kinds=(kind,), tools=app, owner="a", health=Health(probes={})
        )
        left = "SELECT count(*) FROM trend_days WHERE tenant_id = $1"
        run = await kind.begin(app, (), datetime.now(UTC))
        await app.system.due_work.make_ready()
        (work,) = await app.system.due_work.claim(
            WorkUrgency.UPKEEP, owner="b", lease=timedelta(minutes=1), together={kind.name: 1}
        )
        assert await run(work) is not None
        assert await admin.fetchval(left, tenant_id) == 3
        await app.system.due_work.put_back([work], owner="b", pause=timedelta(0))
        count = await worker.work_off([kind.name], now=datetime.now(UTC))
        assert await admin.fetchval(left, tenant_id) == 0
    assert count.done == 2


async def test_a_job_that_enqueues_for_everybody_runs_like_any_other(installation: Settings) -> None:
    health = Health(probes={})
    async with assemble(installation, needs_redis=False) as app:
        for job in periodic_jobs(installation):
            if job.enqueues:
                fresh = Job(f"{job.name} of a test", job.every, job.run)
                await run_job(fresh, app=app, health=health, now=datetime.now(UTC))
                assert health.parts()[f"job {fresh.name}"]["status"] == "ok", job.name
    assert job_named("digests", installation).every == timedelta(minutes=1)
