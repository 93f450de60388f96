"""Runs the periodic jobs of `jobs.py`.

A job claims a row in `job_runs` before it runs, so it runs once per period across all replicas. A period that
a lost process left unfinished is taken over when its lease has ended. A job that has to wait for a server
keeps its period and is tried again. APScheduler only wakes jobs.
"""

import asyncio
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from telegram_assistant.assembly import App
from telegram_assistant.errors import Busy
from telegram_assistant.jobs import Job, periodic_jobs
from telegram_assistant.supervision import Loop, sleep_unless
from telegram_assistant.telemetry.health import Health, State, iso
from telegram_assistant.telemetry.metrics import JOB_LAST_SUCCESS, JOB_RUNS
from telegram_assistant.telemetry.outages import OutageLog
from telegram_assistant.telemetry.scrubbing import scrub_text
from telegram_assistant.work_kinds import build_worker

FIRST_PAUSE_SECONDS = 15.0
"""How long a job that has to wait pauses at first; then twice as long each time,
until its lease would end.
"""


async def run_now(job: Job, *, app: App, now: datetime) -> str:
    """Run the job out of turn and record it like any other run. Its periods go on as before.

    Work that it enqueues is done in this process, unless a worker is quicker.
    """
    period = await app.system.job_runs.claim(job.name, now, instance=app.instance, lease=job.lease)
    error: str | None = "the command was interrupted"
    try:
        outcome = await job.run(app, now)
        if job.enqueues:
            outcome = f"{outcome}; {await work_off(job, app=app, now=now)}"
        error = None
    except Exception as failure:
        error = scrub_text(f"{type(failure).__name__}: {failure}")
        raise
    finally:
        if period is not None:
            await app.system.job_runs.finish(job.name, period, instance=app.instance, error=error)
    return outcome


async def work_off(job: Job, *, app: App, now: datetime) -> str:
    """Do what the job has enqueued, at once."""
    await app.system.due_work.hurry(job.enqueues)
    count = await build_worker(app, Health(probes={})).work_off(job.enqueues, now=now)
    return f"{count.done} done here, {count.failed} failed"


def jobs_of_api(app: App, health: Health) -> tuple[Loop, ...]:
    """Return the jobs' loop for the api role: it runs them if one database login does everything."""
    return () if app.settings.database.separates_system else (clock_loop(app, health),)


def jobs_of_worker(app: App, health: Health) -> tuple[Loop, ...]:
    """Return the jobs' loop for the worker: it runs them if requests have their own login,
    because jobs see every tenant.
    """
    return (clock_loop(app, health),) if app.settings.database.separates_system else ()


def clock_loop(
    app: App,
    health: Health,
    *,
    jobs: tuple[Job, ...] | None = None,
    first_pause_seconds: float = FIRST_PAUSE_SECONDS,
) -> Loop:
    """Build the loop that runs the jobs."""
    chosen_jobs = periodic_jobs(app.settings) if jobs is None else jobs
    failures = {job.name: failures_of(job) for job in chosen_jobs}

    async def run(stopping: asyncio.Event) -> None:
        scheduler = AsyncIOScheduler(timezone=UTC)
        in_hand: set[str] = set()

        async def run_until_done(job: Job) -> None:
            """Try again soon what a server made wait: the next period may begin a day later."""
            if job.name in in_hand:
                return
            in_hand.add(job.name)
            pause_seconds = first_pause_seconds
            try:
                while (
                    not await run_job(
                        job, app=app, health=health, now=datetime.now(UTC), failures=failures[job.name]
                    )
                    and not stopping.is_set()
                ):
                    await sleep_unless(stopping, pause_seconds)
                    pause_seconds = min(2 * pause_seconds, job.lease.total_seconds())
            finally:
                in_hand.discard(job.name)

        async with asyncio.TaskGroup() as task_group:

            async def wake(job: Job) -> None:
                task_group.create_task(run_until_done(job))

            for job in chosen_jobs:
                pause = min(job.every, job.lease)  # a lease may end within the period
                first_run_at = period_start(datetime.now(UTC), pause) + pause
                scheduler.add_job(
                    wake,
                    IntervalTrigger(seconds=int(pause.total_seconds()), start_date=first_run_at),
                    args=[job],
                    misfire_grace_time=None,
                )
                await wake(job)  # the current period may have begun before any instance was running
            scheduler.start()
            await stopping.wait()
            scheduler.shutdown(wait=False)

    return Loop("clock", run)


def failures_of(job: Job) -> OutageLog:
    """Build the log of a job's failures, which outlasts its runs."""
    return OutageLog(part_of(job), began="job_failed")


async def run_job(
    job: Job, *, app: App, health: Health, now: datetime, failures: OutageLog | None = None
) -> bool:
    """Run the job for the current period and for those that lost processes left unfinished. Its failure never
    leaves this function.

    Returns False if it has to wait, and should be tried again soon: a server does not answer.
    """
    failures = failures or failures_of(job)
    try:
        while (
            period := await app.system.job_runs.claim(
                job.name, period_start(now, job.every), instance=app.instance, lease=job.lease
            )
        ) is not None:
            await _run_for(job, period, app=app, health=health, now=now, failures=failures)
        await _report_last(job, app=app, health=health, failures=failures)
    except Exception as error:  # noqa: BLE001 -- a bug is logged with its traceback
        JOB_RUNS.labels(job.name, "failed").inc()
        _log_failure(failures, error)
        health.report(part_of(job), State.FAILING, scrub_text(f"{type(error).__name__}: {error}"))
        return False
    return True


def part_of(job: Job) -> str:
    """Return the name of a job's part in health reports."""
    return f"job {job.name}"


def _log_failure(failures: OutageLog, error: Exception) -> None:
    failures.log_failure(f"{type(error).__name__}: {error}", error=None if isinstance(error, Busy) else error)


async def _run_for(
    job: Job, period: datetime, *, app: App, health: Health, now: datetime, failures: OutageLog
) -> None:
    """Run the job for a period and record how it ended.

    A run that has to wait has not ended: Busy leaves this function.
    """
    try:
        outcome = await job.run(app, now)
    except Busy:
        raise
    except Exception as error:  # noqa: BLE001 -- a bug is logged with its traceback
        JOB_RUNS.labels(job.name, "failed").inc()
        _log_failure(failures, error)
        why = scrub_text(f"{type(error).__name__}: {error}")
        health.report(part_of(job), State.FAILING, why, period_start=iso(period))
        await app.system.job_runs.finish(job.name, period, instance=app.instance, error=why)
        return
    if await app.system.job_runs.finish(job.name, period, instance=app.instance, error=None):
        JOB_RUNS.labels(job.name, "ok").inc()
        JOB_LAST_SUCCESS.labels(job.name).set_to_current_time()
    health.report(part_of(job), State.OK, outcome, period_start=iso(period), last_run=iso(now))


async def _report_last(job: Job, *, app: App, health: Health, failures: OutageLog) -> None:
    """Report what `job_runs` says of the last run, whichever instance ran it:
    a job that could not be claimed meanwhile may have run well.
    """
    last_run = await app.system.job_runs.last(job.name)
    if last_run is not None and last_run.finished_at is not None and last_run.error is None:
        failures.log_recovery()
    if last_run is None:
        return
    state, is_own = State.FAILING if last_run.error else State.OK, last_run.instance == app.instance
    if not is_own:
        JOB_RUNS.labels(job.name, "elsewhere").inc()
    elif last_run.finished_at is None or health.state_of(part_of(job)) is state:
        return  # this instance has said more about it, or will
    instance_name = last_run.instance.partition("#")[0]
    detail = last_run.error or (
        "done"
        if is_own
        else f"ran on {instance_name}"
        if last_run.finished_at
        else f"runs on {instance_name}"
    )
    health.report(part_of(job), state, detail, last_run=iso(last_run.started_at))


def period_start(now: datetime, every: timedelta) -> datetime:
    """Return the start of the period that contains `now`, counted from 1970 in UTC:
    the same on every machine.
    """
    seconds = int(every.total_seconds())
    return datetime.fromtimestamp(int(now.timestamp()) // seconds * seconds, UTC)
