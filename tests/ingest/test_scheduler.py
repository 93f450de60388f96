"""The scheduler over all instances: who ticks and when, what they share in Redis,
and what health says about it.
"""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.errors import Flooded
from telegram_assistant.ingest.scheduler import Scheduler
from telegram_assistant.settings import ParserSettings
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.stores.redis.scheduler import FACTS, LOCK, SchedulerLock
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.metrics import MARKS_UNREADABLE
from telegram_simulator.control.operations import Control
from tests.conftest import Admin
from tests.ingest.office import Office, simulate_channel
from tests.ingest.planners import Hands, lock_attempts, planner, scheduler_health


@pytest.fixture(autouse=True)
async def nothing_else_is_followed(admin: Admin) -> None:
    await admin.execute("UPDATE channels SET is_active = false")


@pytest.fixture(autouse=True)
async def nobody_plans(office: Office) -> None:
    await office.app.redis.delete(LOCK, FACTS)


async def test_one_instance_plans_and_the_others_count_a_miss(office: Office) -> None:
    acquired, missed = lock_attempts("acquired"), lock_attempts("missed")
    await office.tick()
    assert lock_attempts("acquired") - acquired == 1
    await office.app.redis.set(LOCK, "other#1234", ex=30)
    await office.scheduler.tick_if_free()
    assert lock_attempts("missed") - missed == 1
    assert await office.app.redis.get(LOCK) == b"other#1234"


async def test_three_instances_tick_once_per_interval_and_the_rest_is_missed(office: Office) -> None:
    acquired, missed, clock = lock_attempts("acquired"), lock_attempts("missed"), Hands()
    instances = [planner(office, f"instance#000{number}", clock) for number in range(3)]
    for _ in range(10):
        for instance in instances:
            await instance.tick_if_free()
            clock.move(100)  # each at its own moment of the interval
    assert (lock_attempts("acquired") - acquired, lock_attempts("missed") - missed) == (10, 20)


async def test_when_the_instance_that_plans_has_died_another_one_takes_its_turns(office: Office) -> None:
    acquired, clock = lock_attempts("acquired"), Hands()
    first, second = (planner(office, f"instance#000{number}", clock) for number in (1, 2))
    await first.tick_if_free()
    clock.move(300)
    await second.tick_if_free()
    await office.app.redis.delete(LOCK)  # after 30 seconds
    await second.tick_if_free()
    await first.tick_if_free()
    assert lock_attempts("acquired") - acquired == 2
    assert await SchedulerLock(office.app.redis, "").owner() == "instance#0002"


async def test_an_instance_that_is_started_again_does_not_tick_twice_in_an_interval(office: Office) -> None:
    acquired, clock = lock_attempts("acquired"), Hands()
    await planner(office, "host#0001", clock).tick_if_free()
    await SchedulerLock(office.app.redis, "host#0001").release()
    clock.move(299)
    await planner(office, "host#0002", clock).tick_if_free()
    assert lock_attempts("acquired") - acquired == 1


async def test_health_names_the_instance_that_plans_between_its_ticks_too(office: Office) -> None:
    stopping = asyncio.Event()
    running = asyncio.create_task(planner(office, "planner#0001", lambda: datetime.now(UTC)).run(stopping))
    while await office.app.redis.get(FACTS) is None:
        await asyncio.sleep(0.01)
    assert (await scheduler_health(office))["lock_owner"] == "planner"
    stopping.set()
    await running
    assert (await scheduler_health(office))["lock_owner"] is None


@pytest.mark.parametrize(
    "unreadable",
    [
        "not json",
        "[]",
        '{"last_tick_ts": "yesterday", "last_success_ts": null, "channels_active": 1, "channels_failing": 0}',
        # an earlier version's
        (
            '{"last_tick_ts": "2026-11-01T00:00:00+00:00", "last_success_ts": null, "channels_active": 1, '
            '"channels_failing": 0}'
        ),
        b"\xff\xfe",
    ],
)
async def test_facts_that_cannot_be_read_are_counted_and_ignored_and_written_anew(
    office: Office, unreadable: str | bytes
) -> None:
    ignored = MARKS_UNREADABLE._value.get()  # noqa: SLF001 -- the client has no public way to read one
    acquired = lock_attempts("acquired")
    await office.app.redis.set(FACTS, unreadable)
    assert (await scheduler_health(office))["status"] == "down"
    await office.scheduler.tick_if_free()
    assert (await scheduler_health(office))["status"] == "ok"
    assert lock_attempts("acquired") - acquired == 1
    assert MARKS_UNREADABLE._value.get() - ignored == 2  # noqa: SLF001 -- as above


async def test_facts_of_another_type_are_written_anew(office: Office) -> None:
    await office.app.redis.rpush(FACTS, "a list")
    assert (await scheduler_health(office))["status"] == "down"
    await office.scheduler.tick_if_free()
    assert (await scheduler_health(office))["status"] == "ok"


async def test_a_lock_is_released_by_its_owner_only(office: Office) -> None:
    mine, other = SchedulerLock(office.app.redis, "me#0001"), SchedulerLock(office.app.redis, "other#0002")
    assert await mine.acquire()
    await other.release()
    assert not await other.renew()
    assert await mine.owner() == "me#0001"
    await mine.release()
    assert await mine.owner() is None


@pytest.mark.turns("PARSER_SCHEDULER_INTERVAL_SEC")
async def test_late_scheduler_tick_runs_not_dropped(office: Office) -> None:
    """A tick that takes longer than the interval is followed by the next one at once,
    and none is left out for ever.
    """
    clock, stopping, ticks = Hands(100), asyncio.Event(), list[float]()
    began = clock.now

    class Slow(Scheduler):
        async def tick_if_free(self) -> None:
            ticks.append((clock.now - began).total_seconds())
            clock.move(250)
            if len(ticks) == 3:
                stopping.set()

    slow = Slow(
        settings=ParserSettings(interval_seconds=100),
        lock=SchedulerLock(office.app.redis, "me#0001"),
        planning=office.app.system.planning,
        marks=Marks(office.app.redis),
        health=Health(probes={}),
        clock=clock,
    )
    await slow.run(stopping)
    assert ticks == [0, 250, 500]


async def test_ticks_without_any_successful_read_turn_health_stale(
    office: Office, control: Control, admin: Admin
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=3))
    await office.poll(channel_id)
    clock = Hands()
    instance = planner(office, "me#0001", clock)
    await instance.tick_if_free()
    assert (await scheduler_health(office))["status"] == "ok"
    await admin.execute(
        "UPDATE poll_schedule SET fail_count = 3, failed_at = now(), last_polled_at = now() - interval '1 "
        "hour'"
    )
    before = (await scheduler_health(office))["last_tick_ts"]
    clock.move(300)
    await instance.tick_if_free()
    now = await scheduler_health(office)
    assert (now["status"], now["channels_active"], now["channels_failing"]) == ("stale", 1, 1)
    assert now["last_tick_ts"] == before


async def test_a_flood_of_five_hours_turns_health_stale_within_two_intervals(
    office: Office, control: Control, admin: Admin
) -> None:
    """Neither the channel that met the flood nor one that is due later by
    its own plan is read before the flood is over.
    """
    flooded, later = [await office.follow(simulate_channel(control, posts=3)) for _ in range(2)]
    for channel_id in (later, flooded):
        await office.poll(channel_id)
    control.fail("messages.getHistory", code=420, message="FLOOD_WAIT_18000")
    with pytest.raises(Flooded):
        await office.poll(flooded)
    put_back = await office.load_schedule(flooded)
    assert put_back["next_poll_at"] - datetime.now(UTC) > timedelta(hours=5)
    read_at = put_back["last_polled_at"]
    clock = Hands()
    clock.now = read_at
    instance = planner(office, "me#0001", clock)
    for seconds, expected in ((1, "ok"), (599, "ok"), (601, "stale"), (4 * 3600, "stale")):
        clock.now = read_at + timedelta(seconds=seconds)
        await instance.tick_if_free()
        assert (await scheduler_health(office, now=clock.now))["status"] == expected
    await admin.execute(
        "UPDATE account_limits SET blocked_until = now() WHERE account_id = $1", office.mine.account_id
    )


async def test_a_channel_that_is_due_later_by_its_own_plan_keeps_health_ok(
    office: Office, control: Control, admin: Admin
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=3))
    await office.poll(channel_id)
    await office.tick()
    await admin.execute(
        "UPDATE poll_schedule SET last_polled_at = now() - interval '1 hour', next_poll_at = now() + "
        "interval '1 hour'"
    )
    assert (await scheduler_health(office))["status"] == "ok"
    await admin.execute("UPDATE poll_schedule SET claimed = true")  # by a process that has died since
    assert (await scheduler_health(office))["status"] == "stale"


async def test_health_is_down_when_ticks_have_stopped(office: Office) -> None:
    assert (await scheduler_health(office))["status"] == "down"
    await office.tick()
    assert (await scheduler_health(office))["status"] == "ok"
    assert (await scheduler_health(office, interval_seconds=1))["interval_sec"] == 1
