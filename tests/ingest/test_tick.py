"""The scheduler's tick: who plans, what it plans, and what health says about it."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from telegram_assistant.ingest.pace import Pace
from telegram_assistant.ingest.tick import Scheduler, scheduler_status
from telegram_assistant.settings import ParserSettings, SchedulerPolicy, Settings
from telegram_assistant.stores.redis.scheduler import LOCK, SchedulerLock
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.metrics import SCHEDULER_LOCK
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from tests.conftest import Admin
from tests.ingest.office import Office, open_office, say, simulated


@pytest.fixture(autouse=True)
async def nothing_else_is_followed(admin: Admin) -> None:
    await admin.execute("UPDATE channels SET is_active = false")


@pytest.fixture(autouse=True)
async def nobody_plans(office: Office) -> None:
    await office.app.redis.delete(LOCK, "scheduler:facts")


def locked(status: str) -> float:
    return float(SCHEDULER_LOCK.labels(status)._value.get())  # noqa: SLF001 -- the client has no public way to read one


async def status(office: Office, **parser: Any) -> dict[str, Any]:
    settings = ParserSettings(**parser)
    lock = SchedulerLock(office.app.redis, "me#0001")
    found = await scheduler_status(lock=lock, planning=office.app.system.planning, settings=settings, now=datetime.now(UTC))
    return dict(found.as_json(settings.interval_seconds))


async def test_one_instance_plans_and_the_others_count_a_miss(office: Office) -> None:
    acquired, missed = locked("acquired"), locked("missed")
    await office.scheduler.tick_if_free()
    assert locked("acquired") - acquired == 1
    await office.app.redis.set(LOCK, "other#1234", ex=30)
    await office.scheduler.tick_if_free()
    assert locked("missed") - missed == 1
    assert await office.app.redis.get(LOCK) == b"other#1234"


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
    """A tick that takes longer than the interval is followed by the next one at once, and none is left out for ever."""
    ticks: list[datetime] = []
    moments = iter([0.0, 0.0, 2.5, 2.5, 2.5, 5.0, 5.0, 5.0, 5.2, 5.2, 5.2, 5.4])
    began = datetime.now(UTC)

    class Slow(Scheduler):
        async def tick_if_free(self) -> None:
            ticks.append(datetime.now(UTC))

    def clock() -> datetime:
        return began + timedelta(seconds=next(moments, 5.4))

    system = office.app.system
    slow = Slow(
        settings=ParserSettings(interval_seconds=1),
        lock=SchedulerLock(office.app.redis, "me#0001"),
        planning=system.planning,
        health=Health(probes={}),
        clock=clock,
    )
    stopping = asyncio.Event()
    task = asyncio.create_task(slow.run(stopping))
    while len(ticks) < 3:
        await asyncio.sleep(0.01)
    stopping.set()
    await task
    assert ticks[2] - ticks[0] < timedelta(seconds=0.5)


async def test_ticks_without_any_successful_read_turn_health_stale(office: Office, control: Control, admin: Admin) -> None:
    channel_id = await office.follow(simulated(control, posts=3))
    await office.poll(channel_id)
    await office.scheduler.tick_if_free()
    assert (await status(office))["status"] == "ok"
    await admin.execute("UPDATE poll_schedule SET fail_count = 3, failed_at = now(), last_polled_at = now() - interval '1 hour'")
    before = (await status(office))["last_tick_ts"]
    await asyncio.sleep(1.1)
    await office.scheduler.tick_if_free()
    now = await status(office)
    assert (now["status"], now["channels_active"], now["channels_failing"]) == ("stale", 1, 1)
    assert now["last_tick_ts"] == before


async def test_health_is_down_when_ticks_have_stopped(office: Office) -> None:
    assert (await status(office))["status"] == "down"
    await office.scheduler.tick_if_free()
    assert (await status(office))["status"] == "ok"
    assert (await status(office, interval_seconds=1))["interval_sec"] == 1


async def test_a_plan_gives_lively_channels_more_turns_and_none_waits_too_long(office: Office, control: Control, admin: Admin) -> None:
    lively, quiet = simulated(control, posts=90, every=120), simulated(control, posts=3, every=86_400, newest_age=20_000)
    others = [simulated(control, posts=2, every=40_000, newest_age=20_000) for _ in range(20)]
    followed = [await office.follow(channel) for channel in (lively, quiet, *others)]
    for channel_id in followed:
        await office.poll(channel_id)
    await office.scheduler.tick_if_free()
    desk, schedule, now = office.reading._desk, office.app.system.schedule, datetime.now(UTC)  # noqa: SLF001 -- what it works with
    pace = Pace(office.mine.account_id, settings=desk.settings, schedule=schedule, silence=desk.silence)
    await pace.refresh(now)
    await admin.execute("UPDATE poll_schedule SET next_poll_at = now() WHERE channel_id = ANY($1)", followed[:2])
    due = {one.channel_id: one for one in await schedule.claim(office.mine.account_id, office.mine.lease_epoch, most=2)}
    waits = [await pace.next_poll_at(due[one], due[one].rhythm, None, now) - now for one in followed[:2]]
    plan = await schedule.plan_of(office.mine.account_id)
    assert plan is not None
    assert plan.channels == 22
    assert timedelta(seconds=15) <= waits[0] < waits[1] <= timedelta(seconds=plan.longest_seconds)


@pytest.mark.turns("PARSER_SCHEDULER_POLICY")
async def test_with_the_classic_policy_every_tick_makes_every_channel_due(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    async with open_office(installation, sim, admin, policy=SchedulerPolicy.CLASSIC) as office:
        channel_id = await office.follow(simulated(control, posts=3))
        await office.poll(channel_id)
        assert not await office.reading.turn()
        await office.scheduler.tick_if_free()
        assert await office.reading.turn()


async def test_with_the_classic_policy_silence_opens_a_backfill_once(installation: Settings, sim: Simulator, control: Control, admin: Admin) -> None:
    async with open_office(installation, sim, admin, policy=SchedulerPolicy.CLASSIC) as office:
        channel_id = await office.follow(simulated(control, posts=30, every=60, newest_age=40 * 3600))
        for _ in range(2):
            await office.poll(channel_id)
            await office.read_the_past()
        jobs = await admin.fetch("SELECT kind, state FROM backfills WHERE channel_id = $1", channel_id)
        assert [(job["kind"], job["state"]) for job in jobs] == [("silence", "done")]


async def test_with_the_fresh_policy_silence_causes_one_verifying_poll_and_never_a_backfill(office: Office, control: Control, admin: Admin) -> None:
    await admin.execute(
        """
        INSERT INTO account_plans (account_id, channels, requests_per_second, price, trim, longest_seconds, planned_at)
        VALUES ($1, 1, 0.5, 1e12, 1, 40000, now())
        """,
        office.mine.account_id,
    )
    polled = []
    for age in (60, 40 * 3600):
        channel_id = await office.follow(simulated(control, posts=30, every=60, newest_age=age))
        for _ in range(2):
            await office.poll(channel_id)
        polled.append(await office.schedule_of(channel_id))
    just_silent, long_silent = polled
    threshold = await office.reading._desk.silence.threshold(just_silent["channel_id"], datetime.now(UTC), silent_since=None)  # noqa: SLF001 -- what it works with
    assert just_silent["next_poll_at"] == just_silent["newest_posted_at"] + threshold
    assert long_silent["next_poll_at"] - long_silent["last_polled_at"] > timedelta(seconds=40_000)
    assert await admin.fetchval("SELECT count(*) FROM backfills WHERE channel_id = ANY($1)", [one["channel_id"] for one in polled]) == 0


@pytest.mark.turns("PARSER_RETRY_MAX")
async def test_transient_trouble_is_tried_again_so_often_and_no_more(installation: Settings, sim: Simulator, control: Control, admin: Admin) -> None:
    async with open_office(installation, sim, admin, attempts=2) as office:
        channel = simulated(control, posts=3)
        channel_id = await office.follow(channel)
        control.fail("messages.getHistory", times=1, code=500, message="RPC_CALL_FAIL")
        await office.poll(channel_id)
        assert len(await office.stored(channel_id)) == 3
        control.fail("messages.getHistory", times=2, code=500, message="RPC_CALL_FAIL")
        say(channel, "новость")
        await office.poll(channel_id)
        assert (await office.schedule_of(channel_id))["fail_count"] == 1
        assert len(await office.stored(channel_id)) == 3


@pytest.mark.turns("PARSER_STATS_WINDOW_DAYS")
@pytest.mark.turns("FEATURE_ADAPTIVE_THRESHOLDS_ENABLED")
async def test_statistics_look_back_so_many_days(installation: Settings, sim: Simulator, control: Control, admin: Admin) -> None:
    counted = {}
    for days in (1, 30):
        async with open_office(installation, sim, admin, window_days=days) as office:
            channel_id = await office.follow(simulated(control, posts=60, every=3600))
            await office.poll(channel_id)
            statistics = await office.app.system.statistics.of(channel_id, window_days=office.app.settings.parser.window_days, now=datetime.now(UTC))
            counted[days] = statistics.sample_count
            threshold = await office.reading._desk.silence.threshold(channel_id, datetime.now(UTC), silent_since=None)  # noqa: SLF001 -- what it works with
            assert (threshold > timedelta(hours=1)) == (days == 30 or statistics.sample_count >= 20)
    assert counted[1] < 30 < counted[30]
    async with open_office(installation, sim, admin, adaptive=False) as office:
        assert await office.reading._desk.silence.threshold(channel_id, datetime.now(UTC), silent_since=None) == timedelta(hours=1)  # noqa: SLF001 -- as above
        assert await office.reading._desk.silence.overlap(channel_id, datetime.now(UTC)) == timedelta(minutes=5)  # noqa: SLF001 -- as above


@pytest.mark.turns("PARSER_MAX_CONCURRENCY")
async def test_a_process_reads_no_more_channels_at_once_than_it_may(installation: Settings, sim: Simulator, control: Control, admin: Admin) -> None:
    async with open_office(installation, sim, admin) as one, open_office(installation, sim, admin, phone="79990000002") as two:
        desk = two.reading._desk  # noqa: SLF001 -- both desks of one process share its slots
        object.__setattr__(desk, "slots", one.reading._desk.slots)  # noqa: SLF001 -- as above
        for _ in range(4):
            await one.reading._desk.slots.acquire()  # noqa: SLF001 -- as above
        channel_id = await two.follow(simulated(control, posts=3))
        polling = asyncio.create_task(two.poll(channel_id))
        await asyncio.sleep(0.1)
        assert await two.stored(channel_id) == {}
        one.reading._desk.slots.release()  # noqa: SLF001 -- as above
        await polling
        assert len(await two.stored(channel_id)) == 3
