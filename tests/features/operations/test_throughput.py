"""The throughput of stages per minute, from their counters; and heartbeats of processes."""

import asyncio
from datetime import UTC, datetime, timedelta

from telegram_assistant.features.operations.heartbeats import (
    AWAY_AFTER_SECONDS,
    HEARTBEAT_SECONDS,
    send_heartbeats,
)
from telegram_assistant.features.operations.overview import (
    ProcessState,
    installation_overview,
    load_processes,
)
from telegram_assistant.features.operations.throughput import CountedMinutes, keep_throughput, measure_backlog
from telegram_assistant.stores.postgres.pipeline.stage_minutes import StageMinute
from telegram_assistant.stores.postgres.stores import ApiStores, SystemStores
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.metrics import REGISTRY, STAGE_FAILED, STAGE_LAG, STAGE_PROCESSED
from testkit.factories import fresh_number
from tests.conftest import Admin
from tests.stores.postgres.operations.test_processes import make_report

NOW = datetime(2026, 11, 15, 12, 0, 10, tzinfo=UTC)


def test_each_minute_counts_what_was_processed_in_it_and_the_most_that_waited() -> None:
    stage = f"stage {fresh_number()}"
    STAGE_PROCESSED.labels(stage).inc(100)  # before: not ours
    counted = CountedMinutes([stage])
    lag = STAGE_LAG.labels(stage, "live")
    STAGE_PROCESSED.labels(stage).inc(3)
    lag.set(9)
    counted.count(NOW)
    STAGE_PROCESSED.labels(stage).inc(2)
    STAGE_FAILED.labels(stage).inc()
    lag.set(1)
    minute = NOW.replace(second=0)
    assert counted.count(NOW + timedelta(seconds=5)) == (StageMinute(minute, stage, 5, 1, 9),)
    STAGE_PROCESSED.labels(stage).inc(4)
    following = StageMinute(minute + timedelta(minutes=1), stage, 4, 0, 1)
    assert counted.count(NOW + timedelta(minutes=1)) == (StageMinute(minute, stage, 5, 1, 9), following)
    counted.forget_saved(NOW + timedelta(minutes=1))
    assert counted.count(NOW + timedelta(minutes=1)) == (following,)


async def test_all_that_was_processed_is_saved_when_the_worker_stops(
    api: ApiStores, system: SystemStores
) -> None:
    stage, stopping = f"stage {fresh_number()}", asyncio.Event()
    counted, instance = CountedMinutes([stage]), f"host#{fresh_number()}"
    began = datetime.now(UTC).replace(second=0, microsecond=0)
    loop = asyncio.create_task(
        keep_throughput(
            stopping,
            counted_minutes=counted,
            minutes=system.stage_minutes,
            backlog=system.backlog,
            instance=instance,
            every_seconds=0.01,
        )
    )
    for _ in range(20):
        STAGE_PROCESSED.labels(stage).inc()
        await asyncio.sleep(0.005)
    stopping.set()
    await asyncio.wait_for(loop, 30)
    assert (
        sum(minute.processed for minute in await api.throughput.since(began) if minute.stage == stage) == 20
    )


async def test_the_metric_of_what_waits_becomes_zero_when_nothing_waits(
    system: SystemStores, admin: Admin
) -> None:
    stage = f"stage {fresh_number()}"
    add = (
        "INSERT INTO dead_letters (stage, stream, entry_id, payload, reason, attempts) "
        "VALUES ($1, 's', '1-1', '', 'r', 1)"
    )
    await admin.execute(add, stage)
    await measure_backlog(system.backlog)
    assert REGISTRY.get_sample_value("backlog_entries", {"queue": "dead_letters", "kind": stage}) == 1
    await admin.execute("DELETE FROM dead_letters WHERE stage = $1", stage)
    await measure_backlog(system.backlog)
    assert REGISTRY.get_sample_value("backlog_entries", {"queue": "dead_letters", "kind": stage}) == 0


async def test_a_process_reports_until_it_stops_and_then_that_it_has_stopped(api: ApiStores) -> None:
    instance, stopping, health = f"host#{fresh_number()}", asyncio.Event(), Health(probes={})
    health.report("reader", State.FAILING, "no money")
    beating = asyncio.create_task(
        send_heartbeats(stopping, processes=api.processes, instance=instance, roles={"ingest": health})
    )
    state = None
    async with asyncio.timeout(30):
        while state is None:
            state = await process_state(api, instance)
    assert state is ProcessState.RUNNING
    seen = await installation_overview(stores=api, stages=(), now=datetime.now(UTC))
    assert [
        (trouble.role, trouble.part, trouble.detail)
        for trouble in seen.troubles
        if trouble.instance == instance
    ] == [("ingest", "reader", "no money")]
    stopping.set()
    await asyncio.wait_for(beating, 30)
    assert await process_state(api, instance) is ProcessState.STOPPED


async def test_a_process_that_missed_three_heartbeats_is_away(api: ApiStores, admin: Admin) -> None:
    instance = f"host#{fresh_number()}"
    await api.processes.report(make_report(instance))
    assert await process_state(api, instance) is ProcessState.RUNNING
    await admin.execute(
        "UPDATE processes SET at = now() - make_interval(secs => $2) WHERE instance = $1",
        instance,
        AWAY_AFTER_SECONDS + 0.1,
    )
    assert await process_state(api, instance) is ProcessState.AWAY


def test_a_page_that_refreshes_every_five_seconds_names_a_killed_process_within_fifteen() -> None:
    assert HEARTBEAT_SECONDS <= 5
    assert AWAY_AFTER_SECONDS + 5 < 15


async def process_state(api: ApiStores, instance: str) -> ProcessState | None:
    return next(
        (
            process.state
            for process in await load_processes(processes=api.processes)
            if process.process.instance == instance
        ),
        None,
    )
