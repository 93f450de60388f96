"""Reports of processes, the throughput of stages and what waits: written with one login,
read with another.
"""

from datetime import UTC, datetime, timedelta

from telegram_assistant.stores.postgres.operations.processes import KnownProcess, ProcessReport
from telegram_assistant.stores.postgres.pipeline.backlog import Queue
from telegram_assistant.stores.postgres.pipeline.stage_minutes import StageMinute
from telegram_assistant.stores.postgres.stores import ApiStores, SystemStores
from telegram_assistant.telemetry.scraping import Metrics, Sample
from testkit.factories import fresh_number
from tests.conftest import Admin

MINUTE = datetime.now(UTC).replace(second=0, microsecond=0)


def make_report(instance: str, *, processed: float = 1.0) -> ProcessReport:
    return ProcessReport(
        instance=instance,
        roles=("worker", "api"),
        version="1.2.3",
        parts={"worker": {"stage tagging": {"status": "ok", "lag": 4}}},
        metrics=Metrics((Sample("stage_processed_total", {"stage": "tagging"}, processed),)),
        servers_away={"redis": "no answer within 1 s"},
    )


async def find_process(api: ApiStores, instance: str) -> KnownProcess | None:
    return next((process for process in await api.processes.all() if process.instance == instance), None)


async def test_the_last_report_of_a_process_replaces_those_before_it(api: ApiStores) -> None:
    instance = f"host#{fresh_number()}"
    await api.processes.report(make_report(instance))
    first = await find_process(api, instance)
    await api.processes.report(make_report(instance, processed=7.0))
    process = await find_process(api, instance)
    assert first is not None
    assert process is not None
    assert process.started_at == first.started_at
    assert process.at > first.at
    assert (process.roles, process.version, process.stopped_at) == (("worker", "api"), "1.2.3", None)
    assert process.parts == {"worker": {"stage tagging": {"status": "ok", "lag": 4}}}
    assert process.metrics.total("stage_processed_total", stage="tagging") == 7.0
    assert process.servers_away == {"redis": "no answer within 1 s"}
    assert process.age_seconds < 5


async def test_a_process_that_stops_says_so(api: ApiStores) -> None:
    instance = f"host#{fresh_number()}"
    await api.processes.report(make_report(instance), is_last=True)
    process = await find_process(api, instance)
    assert process is not None
    assert process.stopped_at is not None


async def test_a_minute_is_added_up_over_processes_and_may_be_written_twice(
    api: ApiStores, system: SystemStores
) -> None:
    stage = f"stage {fresh_number()}"
    for instance, processed in (("a#1", 3), ("a#1", 5), ("a#1", 5), ("b#1", 7)):
        await system.stage_minutes.save(
            [StageMinute(MINUTE, stage, processed, 1, processed)], instance=instance
        )
    assert [minute for minute in await api.throughput.since(MINUTE) if minute.stage == stage] == [
        StageMinute(MINUTE, stage, 12, 2, 7)
    ]


async def test_minutes_and_processes_of_yesterday_are_forgotten(
    api: ApiStores, system: SystemStores, admin: Admin
) -> None:
    stage, instance = f"stage {fresh_number()}", f"host#{fresh_number()}"
    old = MINUTE - timedelta(days=2)
    await system.stage_minutes.save(
        [StageMinute(old, stage, 1, 0, 0), StageMinute(MINUTE, stage, 1, 0, 0)], instance=instance
    )
    await api.processes.report(make_report(instance))
    await admin.execute("UPDATE processes SET at = $2 WHERE instance = $1", instance, old)
    assert await system.stage_minutes.forget(MINUTE - timedelta(days=1)) >= 1
    assert [minute.minute for minute in await api.throughput.since(old) if minute.stage == stage] == [MINUTE]
    assert await admin.fetchval("SELECT count(*) FROM processes WHERE instance = $1", instance) == 0


async def test_what_waits_is_counted_for_worker_and_operator_alike(
    api: ApiStores, system: SystemStores, admin: Admin
) -> None:
    await admin.execute(
        "INSERT INTO outbox (channel_id, message_id, revision, lane) VALUES ($1, 1, 1, 'bulk')",
        fresh_number(),
    )
    entries = await api.backlog.entries()
    assert entries == await system.backlog.entries()
    waiting = next(entry for entry in entries if entry.queue is Queue.OUTBOX and entry.kind == "bulk")
    assert waiting.entries == await admin.fetchval("SELECT count(*) FROM outbox WHERE lane = 'bulk'")
    assert waiting.oldest_at == await admin.fetchval("SELECT min(created_at) FROM outbox WHERE lane = 'bulk'")


async def test_the_last_run_of_every_job_is_known_to_the_operator(
    api: ApiStores, system: SystemStores
) -> None:
    job = f"job {fresh_number()}"
    for hours in (1, 0):
        period = MINUTE - timedelta(hours=hours)
        await system.job_runs.claim(job, period, instance="a", lease=timedelta(minutes=1))
        await system.job_runs.finish(job, period, instance="a", error="no money" if hours else None)
    assert (await api.backlog.job_runs())[job] == await system.job_runs.last(job)
