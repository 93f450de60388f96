import asyncio
from datetime import UTC, datetime, timedelta

from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import fresh_number

PERIOD = datetime(2026, 11, 1, tzinfo=UTC)
LEASE = timedelta(minutes=10)


async def test_one_of_many_replicas_gets_the_period(system: SystemStores) -> None:
    job = f"job {fresh_number()}"
    answers = await asyncio.gather(
        *(system.job_runs.claim(job, PERIOD, instance=f"host#{n}", lease=LEASE) for n in range(8))
    )
    assert [answer for answer in answers if answer is not None] == [PERIOD]


async def test_a_finished_period_is_not_run_again_and_the_next_one_is(system: SystemStores) -> None:
    job = f"job {fresh_number()}"
    assert await system.job_runs.claim(job, PERIOD, instance="a", lease=timedelta(0))
    await system.job_runs.finish(job, PERIOD, instance="a", error=None)
    assert not await system.job_runs.claim(job, PERIOD, instance="b", lease=LEASE)
    assert await system.job_runs.claim(job, PERIOD + timedelta(hours=1), instance="b", lease=LEASE)


async def test_a_run_whose_process_died_is_taken_over_when_its_lease_is_over(system: SystemStores) -> None:
    job = f"job {fresh_number()}"
    assert await system.job_runs.claim(job, PERIOD, instance="dead", lease=timedelta(0))
    assert await system.job_runs.claim(job, PERIOD, instance="alive", lease=LEASE)
    last = await system.job_runs.last(job)
    assert last is not None
    assert (last.instance, last.finished_at) == ("alive", None)


async def test_an_instance_goes_on_with_what_it_left_unfinished_and_no_other_does(
    system: SystemStores,
) -> None:
    job = f"job {fresh_number()}"
    assert await system.job_runs.claim(job, PERIOD, instance="a", lease=LEASE)
    assert await system.job_runs.claim(job, PERIOD, instance="b", lease=LEASE) is None
    assert await system.job_runs.claim(job, PERIOD, instance="a", lease=LEASE) == PERIOD
    assert await system.job_runs.claim(job, PERIOD + timedelta(hours=1), instance="a", lease=LEASE) == PERIOD


async def test_the_last_run_tells_its_error(system: SystemStores) -> None:
    job = f"job {fresh_number()}"
    assert await system.job_runs.last(job) is None
    await system.job_runs.claim(job, PERIOD, instance="a", lease=LEASE)
    await system.job_runs.finish(job, PERIOD, instance="a", error="no money")
    last = await system.job_runs.last(job)
    assert last is not None
    assert last.error == "no money"
