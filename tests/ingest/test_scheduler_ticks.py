"""The plan of a scheduler tick, and how runs keep to it."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.errors import Flooded
from telegram_assistant.ingest.polling.poll_pacing import PollPacing
from telegram_assistant.settings import SchedulerPolicy, Settings
from telegram_assistant.stores.redis.scheduler import FACTS, LOCK
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from tests.conftest import Admin
from tests.ingest.office import Office, open_office, say, simulate_channel
from tests.ingest.planners import Hands, planner


@pytest.fixture(autouse=True)
async def nothing_else_is_followed(admin: Admin) -> None:
    await admin.execute("UPDATE channels SET is_active = false")


@pytest.fixture(autouse=True)
async def nobody_plans(office: Office) -> None:
    await office.app.redis.delete(LOCK, FACTS)


LATER = """
UPDATE poll_schedule SET next_poll_at = next_poll_at - $2::interval,
    last_polled_at = last_polled_at - $2::interval WHERE channel_id = $1
"""


async def test_a_plan_gives_lively_channels_more_turns_and_none_waits_too_long(
    office: Office, control: Control, admin: Admin
) -> None:
    lively, quiet = (
        simulate_channel(control, posts=90, every=120),
        simulate_channel(control, posts=3, every=86_400, newest_age=20_000),
    )
    others = [simulate_channel(control, posts=2, every=40_000, newest_age=20_000) for _ in range(20)]
    followed = [await office.follow(channel) for channel in (lively, quiet, *others)]
    for channel_id in followed:
        await office.poll(channel_id)
    await office.tick()
    desk = office.reading._deps  # noqa: SLF001 -- what it works with
    schedule, now = office.app.system.schedule, datetime.now(UTC)
    pace = PollPacing(office.mine.account_id, settings=desk.settings, schedule=schedule, silence=desk.silence)
    await pace.refresh(now)
    await admin.execute(
        "UPDATE poll_schedule SET next_poll_at = now() WHERE channel_id = ANY($1)", followed[:2]
    )
    due = {
        claimed.channel_id: claimed
        for claimed in await schedule.claim(office.mine.account_id, office.mine.lease_epoch, most=2)
    }
    waits = [
        await pace.next_poll_at(due[followed_id], due[followed_id].rhythm, None, now) - now
        for followed_id in followed[:2]
    ]
    plan = await schedule.load_plan(office.mine.account_id)
    assert plan is not None
    assert plan.channels == 22
    assert timedelta(seconds=15) <= waits[0] < waits[1] <= timedelta(seconds=plan.max_seconds)


async def test_a_flood_that_was_ended_by_hand_holds_no_channel_until_its_former_end(
    office: Office, control: Control, admin: Admin
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=600, every=1200), history_days=7)
    await office.poll(channel_id)
    await office.tick()
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM backfills WHERE channel_id = $1 AND state = 'open'", channel_id
        )
        == 1
    )
    await admin.execute("UPDATE backfills SET next_try_at = now() + interval '1 day' WHERE state = 'open'")
    await admin.execute("UPDATE poll_schedule SET next_poll_at = now() WHERE channel_id = $1", channel_id)
    control.fail("messages.getHistory", code=420, message="FLOOD_WAIT_18000")
    with pytest.raises(Flooded):
        await office.reading.turn()
    await office.tick()
    assert await seconds_until_poll(admin, channel_id) > 17_000
    await admin.execute("DELETE FROM account_limits WHERE account_id = $1", office.mine.account_id)
    await office.tick()
    plan = await office.app.system.schedule.load_plan(office.mine.account_id)
    assert plan is not None
    assert await seconds_until_poll(admin, channel_id) <= plan.max_seconds
    assert await admin.fetchval(
        "SELECT next_try_at <= now() FROM backfills WHERE channel_id = $1 AND state = 'open'", channel_id
    )


@pytest.mark.parametrize(
    "state",
    [
        "UPDATE poll_schedule SET fail_count = 1 WHERE channel_id = $1",
        "UPDATE channels SET parked_until = now() + interval '5 hours' WHERE channel_id = $1",
        "UPDATE poll_schedule SET claimed = true WHERE channel_id = $1",
        "UPDATE poll_schedule SET next_poll_at = 'infinity', claimed = true WHERE channel_id = $1",
    ],
    ids=["failing", "parked", "being read", "unfollowed while it was read"],
)
async def test_a_tick_pulls_no_channel_forward_that_waits_for_another_reason(
    office: Office, control: Control, admin: Admin, state: str
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=3))
    await office.poll(channel_id)
    await office.tick()
    await admin.execute(
        "UPDATE poll_schedule SET next_poll_at = now() + interval '5 hours' WHERE channel_id = $1", channel_id
    )
    await admin.execute(state, channel_id)
    await office.tick()
    assert await seconds_until_poll(admin, channel_id) > 17_000


async def seconds_until_poll(admin: Admin, channel_id: int) -> float:
    query = (
        "SELECT extract(epoch FROM least(next_poll_at, now() + interval '1 day') - now()) "
        "FROM poll_schedule WHERE channel_id = $1"
    )
    return float(await admin.fetchval(query, channel_id))


@pytest.mark.turns("PARSER_SCHEDULER_POLICY")
async def test_with_the_classic_policy_every_tick_makes_every_channel_due(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    async with open_office(installation, sim, admin, policy=SchedulerPolicy.CLASSIC) as office:
        channel_id = await office.follow(simulate_channel(control, posts=3))
        await office.poll(channel_id)
        assert not await office.reading.turn()
        await office.tick()
        assert await office.reading.turn()


@pytest.mark.parametrize("interval", [30, 60, 200, 300])
async def test_with_the_classic_policy_a_channel_is_polled_once_per_interval(
    installation: Settings, sim: Simulator, control: Control, admin: Admin, interval: int
) -> None:
    async with open_office(
        installation, sim, admin, policy=SchedulerPolicy.CLASSIC, interval_seconds=interval
    ) as office:
        channel_id = await office.follow(simulate_channel(control, posts=3))
        clock, polls = Hands(interval), office.calls()
        instances = [
            planner(
                office,
                f"instance#000{number}",
                clock,
                policy=SchedulerPolicy.CLASSIC,
                interval_seconds=interval,
            )
            for number in range(2)
        ]
        for _ in range(5):
            for moment in range(10):
                await instances[moment % 2].tick_if_free()
                await office.reading.turn()
                clock.move(interval / 10)
                await admin.execute(LATER, channel_id, timedelta(seconds=interval / 10))
        assert office.calls() - polls == 5


async def test_with_the_classic_policy_silence_opens_a_backfill_once(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    async with open_office(installation, sim, admin, policy=SchedulerPolicy.CLASSIC) as office:
        channel_id = await office.follow(simulate_channel(control, posts=30, every=60, newest_age=40 * 3600))
        for _ in range(2):
            await office.poll(channel_id)
            await office.read_the_past()
        jobs = await admin.fetch("SELECT kind, state FROM backfills WHERE channel_id = $1", channel_id)
        assert [(job["kind"], job["state"]) for job in jobs] == [("silence", "done")]


async def test_with_the_fresh_policy_silence_causes_one_verifying_poll_and_never_a_backfill(
    office: Office, control: Control, admin: Admin
) -> None:
    await admin.execute(
        """
        INSERT INTO account_plans (account_id, channels, requests_per_second, price, trim, longest_seconds,
            planned_at)
        VALUES ($1, 1, 0.5, 1e12, 1, 40000, now())
        """,
        office.mine.account_id,
    )
    polled = []
    for age in (60, 40 * 3600):
        channel_id = await office.follow(simulate_channel(control, posts=30, every=60, newest_age=age))
        for _ in range(2):
            await office.poll(channel_id)
        polled.append(await office.load_schedule(channel_id))
    just_silent, long_silent = polled
    threshold = await office.reading._deps.silence.threshold(  # noqa: SLF001 -- what it works with
        just_silent["channel_id"], datetime.now(UTC), silent_since=None
    )
    assert just_silent["next_poll_at"] == just_silent["newest_posted_at"] + threshold
    assert long_silent["next_poll_at"] - long_silent["last_polled_at"] > timedelta(seconds=40_000)
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM backfills WHERE channel_id = ANY($1)", [row["channel_id"] for row in polled]
        )
        == 0
    )


@pytest.mark.turns("PARSER_RETRY_MAX")
async def test_transient_trouble_is_tried_again_so_often_and_no_more(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    async with open_office(installation, sim, admin, attempts=2) as office:
        channel = simulate_channel(control, posts=3)
        channel_id = await office.follow(channel)
        control.fail("messages.getHistory", times=1, code=500, message="RPC_CALL_FAIL")
        await office.poll(channel_id)
        assert len(await office.load_texts(channel_id)) == 3
        control.fail("messages.getHistory", times=2, code=500, message="RPC_CALL_FAIL")
        say(channel, "новость")
        await office.poll(channel_id)
        assert (await office.load_schedule(channel_id))["fail_count"] == 1
        assert len(await office.load_texts(channel_id)) == 3


@pytest.mark.turns("PARSER_STATS_WINDOW_DAYS")
@pytest.mark.turns("FEATURE_ADAPTIVE_THRESHOLDS_ENABLED")
async def test_statistics_look_back_so_many_days(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    counted = {}
    for days in (1, 30):
        async with open_office(installation, sim, admin, window_days=days) as office:
            channel_id = await office.follow(simulate_channel(control, posts=60, every=3600))
            await office.poll(channel_id)
            statistics = await office.app.system.statistics.load_statistics(
                channel_id, window_days=office.app.settings.parser.window_days, now=datetime.now(UTC)
            )
            counted[days] = statistics.sample_count
            threshold = await office.reading._deps.silence.threshold(  # noqa: SLF001 -- what it works with
                channel_id, datetime.now(UTC), silent_since=None
            )
            assert (threshold > timedelta(hours=1)) == (days == 30 or statistics.sample_count >= 20)
    assert counted[1] < 30 < counted[30]
    async with open_office(installation, sim, admin, adaptive=False) as office:
        assert await office.reading._deps.silence.threshold(  # noqa: SLF001 -- as above
            channel_id, datetime.now(UTC), silent_since=None
        ) == timedelta(hours=1)
        assert await office.reading._deps.silence.overlap(  # noqa: SLF001 -- as above
            channel_id, datetime.now(UTC)
        ) == timedelta(minutes=5)


@pytest.mark.turns("PARSER_MAX_CONCURRENCY")
async def test_a_process_reads_no_more_channels_at_once_than_it_may(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    async with (
        open_office(installation, sim, admin) as first,
        open_office(installation, sim, admin, phone="79990000002") as two,
    ):
        desk = two.reading._deps  # noqa: SLF001 -- both desks of one process share its slots
        object.__setattr__(desk, "slots", first.reading._deps.slots)  # noqa: SLF001 -- as above
        for _ in range(4):
            await first.reading._deps.slots.acquire()  # noqa: SLF001 -- as above
        channel_id = await two.follow(simulate_channel(control, posts=3))
        polling = asyncio.create_task(two.poll(channel_id))
        await asyncio.sleep(0.1)
        assert await two.load_texts(channel_id) == {}
        first.reading._deps.slots.release()  # noqa: SLF001 -- as above
        await polling
        assert len(await two.load_texts(channel_id)) == 3
