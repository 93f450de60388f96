import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import httpx
import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.clock import clock_loop, period_start, run_job, run_now
from telegram_assistant.jobs import PERIODIC, Job, job_named
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.telemetry.health import Health
from testkit.factories import fresh_number
from testkit.toxiproxy import ToxiProxy, through


def make_job(
    *, fails: bool = False, takes_seconds: float = 0.0, every: timedelta = timedelta(hours=1)
) -> tuple[Job, list[datetime]]:
    runs: list[datetime] = []

    async def run(_app: App, now: datetime) -> str:
        runs.append(now)
        await asyncio.sleep(takes_seconds)
        if fails:
            raise RuntimeError("the token=abcdefgh12345 was refused")
        return "did it"

    return Job(f"job {fresh_number()}", every, run), runs


async def test_a_job_runs_once_per_period_across_replicas(installation: Settings, now: datetime) -> None:
    job, runs = make_job()
    async with assemble(installation) as first, assemble(installation) as other:
        for app in (first, other, first):
            await run_job(job, app=app, health=Health(probes={}), now=now)
        assert len(runs) == 1
        await run_job(job, app=other, health=Health(probes={}), now=now + timedelta(hours=1))
        assert len(runs) == 2


async def test_a_failing_job_is_red_here_and_on_the_replica_that_did_not_run_it(
    installation: Settings, now: datetime
) -> None:
    job, _ = make_job(fails=True)
    async with assemble(installation) as app, assemble(installation) as other:
        here, there = Health(probes={}), Health(probes={})
        await run_job(job, app=app, health=here, now=now)
        await run_job(job, app=other, health=there, now=now)
    for health in (here, there):
        part = health.parts()[f"job {job.name}"]
        assert part["status"] == "failing"
        assert "was refused" in str(part["detail"])
        assert "abcdefgh" not in str(part)


async def test_a_job_that_could_not_be_claimed_once_is_as_its_last_run_says(
    database: dict[str, str], now: datetime
) -> None:
    """PostgreSQL is away for a moment after the job has run: its next period may be a day away."""
    job, runs = make_job(every=timedelta(days=1))
    failing, _ = make_job(every=timedelta(days=1), fails=True)
    health = Health(probes={})
    async with road_to_postgres(database) as (road, settings), assemble(settings) as app:
        for current_job in (job, failing):
            await run_job(current_job, app=app, health=health, now=now)
        await road.set_enabled(enabled=False)
        await run_job(job, app=app, health=health, now=now)
        assert health.parts()[f"job {job.name}"]["status"] == "failing"
        await road.set_enabled(enabled=True)
        for current_job in (job, failing):
            await run_job(current_job, app=app, health=health, now=now)
    assert len(runs) == 1
    assert health.parts()[f"job {job.name}"]["status"] == "ok"
    assert health.parts()[f"job {failing.name}"]["status"] == "failing"


async def test_a_job_that_could_not_be_claimed_is_tried_again_soon(database: dict[str, str]) -> None:
    job, runs = make_job(every=timedelta(days=1))
    stopping, health = asyncio.Event(), Health(probes={})
    async with road_to_postgres(database) as (road, settings), assemble(settings) as app:
        await road.set_enabled(enabled=False)
        loop = asyncio.create_task(
            clock_loop(app, health, jobs=(job,), first_pause_seconds=0.1).run(stopping)
        )
        async with asyncio.timeout(60):
            while health.parts().get(f"job {job.name}", {}).get("status") != "failing":
                await asyncio.sleep(0.02)
            await road.set_enabled(enabled=True)
            while health.parts()[f"job {job.name}"]["status"] != "ok":
                await asyncio.sleep(0.02)
        stopping.set()
        await asyncio.wait_for(loop, 30)
    assert len(runs) == 1


async def test_a_job_that_had_to_wait_for_a_server_goes_on_when_it_is_back(database: dict[str, str]) -> None:
    """PostgreSQL goes away while it runs, so that nobody can record how it ended:
    its next period would be a day away.
    """
    runs: list[datetime] = []
    async with road_to_postgres(database) as (road, settings), assemble(settings) as app:

        async def run(app: App, now: datetime) -> str:
            runs.append(now)
            if len(runs) == 1:
                await road.set_enabled(enabled=False)
            await app.system.tenants.answers()
            return "did it"

        job, stopping, health = (
            Job(f"job {fresh_number()}", timedelta(days=1), run),
            asyncio.Event(),
            Health(probes={}),
        )
        loop = asyncio.create_task(
            clock_loop(app, health, jobs=(job,), first_pause_seconds=0.1).run(stopping)
        )
        async with asyncio.timeout(60):
            while health.parts().get(f"job {job.name}", {}).get("status") != "failing":
                await asyncio.sleep(0.02)
            await road.set_enabled(enabled=True)
            while health.parts()[f"job {job.name}"]["status"] != "ok":
                await asyncio.sleep(0.02)
        stopping.set()
        await asyncio.wait_for(loop, 30)
        last = await app.system.job_runs.last(job.name)
    assert len(runs) == 2
    assert last is not None
    assert (last.error, last.finished_at is not None) == (None, True)


async def test_a_job_that_takes_longer_than_its_pauses_runs_once_at_a_time(installation: Settings) -> None:
    """It is woken again while it runs, and its period is its own to claim."""
    running, most = 0, 0

    async def run(_app: App, _now: datetime) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.1)
        if most < 2:
            await asyncio.sleep(2.0)  # the lease of a second is over
        running -= 1
        return "did it"

    job = Job(f"job {fresh_number()}", timedelta(hours=1), run, lease=timedelta(seconds=1))
    stopping, health = asyncio.Event(), Health(probes={})
    async with assemble(installation) as app:
        loop = asyncio.create_task(clock_loop(app, health, jobs=(job,)).run(stopping))
        async with asyncio.timeout(30):
            while health.state_of(f"job {job.name}") is None:
                await asyncio.sleep(0.02)
        stopping.set()
        await asyncio.wait_for(loop, 30)
    assert most == 1


@asynccontextmanager
async def road_to_postgres(database: dict[str, str]) -> AsyncIterator[tuple[ToxiProxy, Settings]]:
    """A connection to PostgreSQL that can be cut, and settings that use it."""
    async with httpx.AsyncClient(base_url=os.environ["TEST_TOXIPROXY_URL"], timeout=10) as toxiproxy:
        road = ToxiProxy(toxiproxy, "clock", urlsplit(database["DATABASE_URL"]).netloc.rpartition("@")[2])
        await road.open()
        urls = {
            name: through(database[name], road.port)
            for name in ("DATABASE_URL", "DATABASE_SYSTEM_URL", "DATABASE_INGEST_URL")
        }
        try:
            yield road, read_settings({**database, **urls})
        finally:
            await road.close()


async def test_the_clock_runs_a_job_for_the_period_in_which_it_starts_and_for_each_after(
    installation: Settings,
) -> None:
    job, runs = make_job(every=timedelta(seconds=1))
    stopping = asyncio.Event()
    async with assemble(installation) as app:
        loop = asyncio.create_task(clock_loop(app, Health(probes={}), jobs=(job,)).run(stopping))
        while len(runs) < 3:
            await asyncio.sleep(0.02)
        stopping.set()
        await asyncio.wait_for(loop, 30)
    assert len({period_start(moment, job.every) for moment in runs}) == len(runs)


async def test_a_job_in_hand_is_finished_when_the_clock_stops(installation: Settings) -> None:
    job, runs = make_job(takes_seconds=0.3)
    stopping, health = asyncio.Event(), Health(probes={})
    async with assemble(installation) as app:
        loop = asyncio.create_task(clock_loop(app, health, jobs=(job,)).run(stopping))
        while not runs:
            await asyncio.sleep(0.01)
        stopping.set()
        await asyncio.wait_for(loop, 30)
    assert health.parts()[f"job {job.name}"]["detail"] == "did it"


async def test_a_period_that_a_lost_process_left_unfinished_is_completed_by_another(
    installation: Settings, now: datetime
) -> None:
    job, runs = make_job()
    async with assemble(installation) as lost, assemble(installation) as app:
        earlier = period_start(now - timedelta(hours=2), job.every)
        assert (
            await lost.system.job_runs.claim(job.name, earlier, instance=lost.instance, lease=timedelta(0))
            == earlier
        )
        await run_job(job, app=app, health=Health(probes={}), now=now)
        assert len(runs) == 2  # the earlier period, and the current one
        assert not await lost.system.job_runs.finish(job.name, earlier, instance=lost.instance, error="late")
        await run_job(job, app=app, health=Health(probes={}), now=now)
    assert len(runs) == 2


async def test_a_job_runs_out_of_turn_and_its_period_still_comes(
    installation: Settings, now: datetime
) -> None:
    job, runs = make_job()
    failing, _ = make_job(fails=True)
    async with assemble(installation) as app:
        assert await run_now(job, app=app, now=now) == "did it"
        await run_job(job, app=app, health=Health(probes={}), now=now)
        with pytest.raises(RuntimeError):
            await run_now(failing, app=app, now=now)
        last = await app.system.job_runs.last(failing.name)
    assert len(runs) == 2
    assert last is not None
    assert "was refused" in str(last.error)


async def test_partitions_are_made_ahead_by_the_clock(installation: Settings, now: datetime) -> None:
    async with assemble(installation) as app:
        health = Health(probes={})
        await run_job(
            next(job for job in PERIODIC if job.name == "make_partitions"), app=app, health=health, now=now
        )
    assert health.parts()["job make_partitions"]["status"] == "ok"


@pytest.mark.turns("INTERESTS_SYNC_INTERVAL_MIN")
def test_the_period_of_interests_is_a_setting(installation: Settings) -> None:
    rarely = installation.model_copy(
        update={"web": installation.web.model_copy(update={"interests_minutes": 45})}
    )
    assert job_named("interests", rarely).every == timedelta(minutes=45)
    assert job_named("interests", installation).every == timedelta(minutes=30)


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        (timedelta(minutes=15), "2026-11-15T05:45"),
        (timedelta(hours=6), "2026-11-15T00:00"),
        (timedelta(days=1), "2026-11-15T00:00"),
    ],
)
def test_periods_are_the_same_on_every_machine(every: timedelta, expected: str) -> None:
    moment = datetime.fromisoformat("2026-11-15T08:59:59+03:00")
    assert period_start(moment, every) == datetime.fromisoformat(f"{expected}:00").replace(tzinfo=UTC)
