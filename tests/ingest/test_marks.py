"""The marks of channels in Redis that operators see: unreadable ones are computed anew, and unfollowing a
channel deletes its marks.
"""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.settings import ModeOverride, SchedulerPolicy, Settings
from telegram_assistant.stores.postgres.channels.backfills import BackfillKind
from telegram_assistant.stores.redis.album_states import AlbumStates
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.telemetry.metrics import MARKS_UNREADABLE, forget_channel
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from testkit.factories import fresh_number
from tests.conftest import Admin
from tests.ingest.metering import count_of, metric
from tests.ingest.office import Office, open_office, simulate_channel

STATISTICS = {
    "median": 60.0,
    "p95": 120.0,
    "ewma": 60.0,
    "sample_count": 30,
    "window_days": 14,
    "calculated_at": "2026-11-01T00:00:00+00:00",
}


@pytest.fixture
def marks(office: Office) -> Marks:
    return Marks(office.app.redis)


@pytest.mark.parametrize(
    "unreadable",
    [
        {"p95": None},
        {"p95": "often"},
        {"p95": -1},
        {"p95": 1e300},
        {"calculated_at": "2026-11-01T00:00:00"},
        {"median": float("nan")},
    ],
)
async def test_statistics_that_make_no_sense_are_counted_and_computed_anew(
    office: Office, control: Control, marks: Marks, unreadable: dict[str, object]
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=30, newest_age=7200))
    await office.poll(channel_id)
    await office.app.redis.set(f"interarrival_stats:{channel_id}", json.dumps(STATISTICS | unreadable))
    ignored = MARKS_UNREADABLE._value.get()  # noqa: SLF001 -- the client has no public way to read one
    assert await marks.statistics(channel_id) is None
    assert MARKS_UNREADABLE._value.get() - ignored == 1  # noqa: SLF001 -- as above
    await office.poll(channel_id)
    assert (await office.load_schedule(channel_id))["fail_count"] == 0


async def test_unfollowing_deletes_the_marks_of_a_channel(
    office: Office, control: Control, marks: Marks
) -> None:
    channel = simulate_channel(control, posts=30)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    other_id = ChannelId(channel_id * 10)  # its number begins alike
    now = datetime.now(UTC)
    for number in (channel_id, other_id):
        await marks.raise_high_water(number, now, now=now)
        await marks.set_low_water(number, now)
        await marks.lock_backfill(number, "somebody#0001", instead_of=None)
        for hours in (1, 2):
            await marks.note_backfill_job(number, now - timedelta(hours=hours))
        await AlbumStates(office.app.redis).note(number, 77, items=[1, 2])
    others = await load_keys(office, other_id)
    await office.tick()
    assert len(await load_keys(office, channel_id)) >= len(others) == 7
    await office.app.tenant(office.tenant_id).followed.leave(channel_id)
    await office.tick()
    assert await load_keys(office, channel_id) == []
    assert await load_keys(office, other_id) == others
    await marks.forget([other_id])
    await office.follow(channel)
    assert (await office.load_schedule(channel_id))["account_id"] == office.mine.account_id


async def load_keys(office: Office, channel_id: int) -> list[bytes]:
    """Every key of the channel, also those with something after its number."""
    return sorted(
        [
            key
            async for key in office.app.redis.scan_iter(f"*:{channel_id}*")
            if str(channel_id) in key.decode().split(":")
        ]
    )


async def test_the_age_of_a_mark_is_that_of_its_writing(marks: Marks) -> None:
    """A run that reads a long window writes old moments, and works."""
    channel_id, now = ChannelId(fresh_number()), datetime.now(UTC)
    await marks.raise_high_water(channel_id, now - timedelta(hours=20), now=now - timedelta(minutes=9))
    await marks.raise_high_water(channel_id, now - timedelta(hours=18), now=now - timedelta(minutes=3))
    assert 180 <= count_of("parser_hwm_age_seconds", channel_id) < 240
    forget_channel(channel_id)
    assert await marks.high_water([channel_id]) == {
        channel_id: (now - timedelta(hours=18)).replace(microsecond=0)
    }
    assert 180 <= count_of("parser_hwm_age_seconds", channel_id) < 240


async def test_a_mark_that_no_run_raises_grows_old_although_runs_go_on(marks: Marks) -> None:
    """A run that always fails at the same page reads those before it again and again."""
    channel_id, now = ChannelId(fresh_number()), datetime.now(UTC)
    await marks.raise_high_water(channel_id, now - timedelta(hours=18), now=now - timedelta(hours=2))
    await marks.raise_high_water(channel_id, now - timedelta(hours=20), now=now)
    await marks.raise_high_water(channel_id, now - timedelta(hours=18), now=now)
    assert 7200 <= count_of("parser_hwm_age_seconds", channel_id) < 7260
    await marks.drop_high_water(channel_id)
    assert metric("parser_hwm_age_seconds", channel_id) is None


@pytest.mark.parametrize("written", [None, "gestern", "2026-11-01T00:00:00+00:00"])
async def test_a_mark_whose_writing_is_unknown_is_as_old_as_what_it_says(
    office: Office, marks: Marks, written: str | None
) -> None:
    """A former version wrote it, or an operator did."""
    channel_id, now = ChannelId(fresh_number()), datetime.now(UTC)
    await office.app.redis.set(f"parse_hwm:{channel_id}", (now - timedelta(hours=1)).isoformat())
    if written:
        await office.app.redis.set(f"parse_hwm_written:{channel_id}", written)
    await marks.high_water([channel_id])
    assert 3600 <= count_of("parser_hwm_age_seconds", channel_id) < 3660


@pytest.mark.parametrize("has_news", [True, False])
async def test_a_channel_that_is_unfollowed_while_it_is_read_is_not_read_again(
    office: Office, control: Control, *, has_news: bool
) -> None:
    channel = simulate_channel(control, posts=3)
    channel_id = await office.follow(channel)
    if not has_news:
        await office.poll(channel_id)
    office.sim.faults.latency_seconds = 0.1
    polling, calls = asyncio.create_task(office.poll(channel_id)), office.calls()
    while office.calls() == calls:
        await asyncio.sleep(0.01)
    await office.app.tenant(office.tenant_id).followed.leave(channel_id)
    await polling
    office.sim.faults.latency_seconds = 0.0
    never = await office.admin.fetchval(
        "SELECT next_poll_at = 'infinity' FROM poll_schedule WHERE channel_id = $1", channel_id
    )
    assert never


async def test_any_successful_run_releases_a_parked_channel(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    async with open_office(installation, sim, admin, mode=ModeOverride.HISTORICAL) as office:
        channel_id = await office.follow(simulate_channel(control, posts=3))
        await office.poll(channel_id)
        parsed_at = (await office.load_schedule(channel_id))["last_parsed_at"]
        await admin.execute(
            "UPDATE channels SET parked_until = now(), parked_reason = 'five failures' WHERE channel_id = $1",
            channel_id,
        )
        await admin.execute("UPDATE poll_schedule SET fail_count = 5 WHERE channel_id = $1", channel_id)
        await office.poll(channel_id)  # reads its whole window again, and finds nothing new
        after = await office.load_schedule(channel_id)
        assert (after["parked_until"], after["parked_reason"], after["fail_count"]) == (None, None, 0)
        assert after["last_parsed_at"] == parsed_at


# --- backfills ---


async def test_a_lock_is_taken_by_who_comes_first_and_passes_on_from_a_former_owner_only(
    marks: Marks,
) -> None:
    channel_id = ChannelId(fresh_number())
    assert await marks.lock_backfill(channel_id, "one#0001", instead_of=None) is None
    assert await marks.lock_backfill(channel_id, "one#0001", instead_of=None) is None
    assert await marks.lock_backfill(channel_id, "two#0002", instead_of=None) == "one#0001"
    assert await marks.lock_backfill(channel_id, "two#0002", instead_of="three#0003") == "one#0001"
    assert await marks.lock_backfill(channel_id, "two#0002", instead_of="one#0001") is None
    await marks.free_backfill(channel_id, "one#0001")
    assert await marks.lock_backfill(channel_id, "one#0001", instead_of=None) == "two#0002"


@pytest.mark.parametrize("holder", ["a person", "host#1234"])
async def test_a_backfill_waits_while_somebody_alive_holds_its_lock(
    office: Office, control: Control, admin: Admin, holder: str
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=600, every=1200), history_days=7)
    await office.poll(channel_id)
    await office.app.system.planning.want_history()
    await office.app.redis.set(f"lock:backfill:{channel_id}", holder)
    leased = (
        "UPDATE telegram_accounts SET lease_owner = 'host#1234', lease_until = now() + interval '1 minute' "
        "WHERE account_id = $1"
    )
    await admin.execute(leased, office.mine.account_id)
    stored = await office.load_texts(channel_id)
    await office.read_the_past()
    assert await office.load_texts(channel_id) == stored
    assert await admin.fetchval("SELECT next_try_at > now() FROM backfills WHERE channel_id = $1", channel_id)
    await office.app.redis.delete(f"lock:backfill:{channel_id}")
    await office.read_the_past()
    assert len(await office.load_texts(channel_id)) > len(stored)
    assert not await office.app.redis.exists(f"lock:backfill:{channel_id}")


async def test_a_backfill_notes_its_window_when_it_begins_and_is_not_begun_twice(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    async with open_office(installation, sim, admin, policy=SchedulerPolicy.CLASSIC) as office:
        channel_id = await office.follow(simulate_channel(control, posts=300, every=60, newest_age=40 * 3600))
        await office.poll(channel_id)
        last = (await office.load_schedule(channel_id))["newest_posted_at"]
        assert (
            await office.app.system.backfills.open(channel_id, BackfillKind.SILENCE, since=last) is False
        )  # the poll has asked for it
        await admin.execute("UPDATE backfills SET next_try_at = now() WHERE channel_id = $1", channel_id)
        control.fail("messages.getHistory", code=420, message="FLOOD_WAIT_60")
        await office.reading._deps.backfiller.step(1)  # noqa: SLF001 -- a step that is cut short
        key = f"backfill_job:{channel_id}:{int(last.timestamp()) // 600 * 600}"
        assert await office.app.redis.get(key) == b"1"
        assert timedelta(seconds=await office.app.redis.ttl(key)) > timedelta(hours=23)
