"""Every metric of the parser, on the way that it has in production: floods, backfills, pushes, previews,
edits and restarts included.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from telegram_assistant.domain.channels.parsing import Mode
from telegram_assistant.errors import Flooded
from telegram_assistant.settings import Settings
from telegram_assistant.telemetry.metrics import forget_channel
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from tests.conftest import Admin
from tests.ingest.listeners import all_stored, at_work, join_channels
from tests.ingest.metering import Growth, count_of, metric
from tests.ingest.office import Office, open_office, say, simulate_channel, truth
from tests.ingest.previewing import Window, open_window

HISTORY = "messages.getHistory"
WAITING = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1"
)


@pytest.fixture
async def window(installation: Settings, sim: Simulator, admin: Admin) -> AsyncIterator[Window]:
    async with open_window(installation, sim, admin) as opened:
        yield opened


@pytest.fixture
def growth() -> Growth:
    return Growth()


def restart(channel_id: int) -> None:
    """A new process knows nothing of a channel."""
    forget_channel(channel_id)
    assert metric("channel_gap_seconds", channel_id) is None


# --- posts_parsed_total: what was inserted, by whomever ---


async def test_posts_are_counted_page_by_page_when_a_flood_ends_the_run(
    office: Office, control: Control, growth: Growth
) -> None:
    channel = simulate_channel(control, posts=20, every=1, newest_age=3000)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    for number in range(400):
        say(channel, f"потом {number}", at=time.time() - 2000 + 4 * number)
    control.fail(HISTORY, code=420, message="FLOOD_WAIT_60", after=2)
    with pytest.raises(Flooded):
        await office.poll(channel_id)
    assert await office.gaps(channel_id) != []
    assert sum(growth.by_mode.values()) == len(await office.load_texts(channel_id)) < 420
    office.skipping.waits.append(100.0)
    await office.poll(channel_id)
    assert sum(growth.by_mode.values()) == len(await office.load_texts(channel_id)) == len(truth(channel))


async def test_posts_of_a_backfill_are_counted_as_historical(
    office: Office, control: Control, growth: Growth
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=600, every=1200), history_days=7)
    await office.poll(channel_id)
    first = len(await office.load_texts(channel_id))
    assert growth.by_mode == {"historical": first}
    await office.app.system.planning.want_history()
    await office.read_the_past()
    assert growth.by_mode == {"historical": len(await office.load_texts(channel_id))}
    assert len(await office.load_texts(channel_id)) > first


async def test_pushed_posts_are_counted_once_and_move_the_gap_of_their_channel(
    office: Office, control: Control
) -> None:
    (channel,) = await join_channels(office, control)
    assert count_of("channel_gap_seconds", channel.channel_id) > 500
    growth = Growth()
    async with at_work(office):
        post = control.post(channel.channel_id, "Свежая новость")
        await all_stored(office, channel)
    assert growth.by_mode == {"incremental": 1}
    for name in ("channel_gap_seconds", "posts_missing_duration_seconds"):
        assert count_of(name, channel.channel_id) < 60
    assert metric("channel_last_post_timestamp_seconds", channel.channel_id) == post.date
    await office.poll(channel.channel_id)
    assert growth.by_mode == {"incremental": 1}
    assert count_of("channel_gap_seconds", channel.channel_id) < 60


async def test_posts_of_a_preview_are_counted(window: Window, control: Control, growth: Growth) -> None:
    channel = simulate_channel(control, posts=5)
    await window.add(f"@{channel.username}")
    await window.poll(channel.channel_id)
    assert growth.by_mode == {"historical": len(await window.load_texts(channel.channel_id))}


# --- what is known of a channel ---


async def test_the_crash_mark_of_a_run_is_shown_at_once_and_after_a_restart(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    async with open_office(installation, sim, admin, attempts=1) as office:
        channel = simulate_channel(control, posts=20, every=1, newest_age=5000)
        channel_id = await office.follow(channel)
        await office.poll(channel_id)
        for number in range(500):
            say(channel, f"потом {number}", at=time.time() - 4000 + 4 * number)
        control.fail(HISTORY, times=20, code=500, message="RPC_CALL_FAIL", after=2)
        await office.poll(channel_id)
        assert (
            count_of("parser_hwm_age_seconds", channel_id) < 60
        )  # the run was at work just now, with posts of an hour ago
        long_ago = datetime.now(UTC) - timedelta(minutes=20)
        await office.app.redis.set(f"parse_hwm_written:{channel_id}", long_ago.isoformat())
        restart(channel_id)
        await office.reading.record_known_channels()
        assert count_of("parser_hwm_age_seconds", channel_id) >= 1200
        sim.faults.failures.clear()
        await office.poll(channel_id)
        assert metric("parser_hwm_age_seconds", channel_id) is None


async def test_after_a_restart_everything_is_shown_before_the_first_run(
    office: Office, control: Control
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=30, newest_age=7200))
    await office.poll(channel_id)
    await office.poll(channel_id)
    names = ("channel_last_post_timestamp_seconds", "parser_last_success_seconds")
    ages = ("channel_gap_seconds", "posts_missing_duration_seconds", "incremental_watermark_age_seconds")
    before = {name: count_of(name, channel_id) for name in names + ages}
    restart(channel_id)
    await office.reading.record_known_channels()
    assert {name: count_of(name, channel_id) for name in names + ages} == pytest.approx(before, abs=2)


async def test_an_empty_poll_after_a_restart_shows_the_newest_post_and_a_backfill_does_not_show_an_older_one(
    office: Office, control: Control
) -> None:
    channel = simulate_channel(control, posts=600, every=1200)
    channel_id = await office.follow(channel, history_days=7)
    await office.poll(channel_id)
    newest = metric("channel_last_post_timestamp_seconds", channel_id)
    assert newest == channel.date_of(channel.newest_id)
    restart(channel_id)
    await office.app.system.planning.want_history()
    await office.read_the_past()
    assert metric("channel_last_post_timestamp_seconds", channel_id) in {None, newest}
    await office.poll(channel_id)
    assert metric("channel_last_post_timestamp_seconds", channel_id) == newest


async def test_a_run_that_stores_only_an_edit_moves_last_parsed_at_and_its_gauge(
    office: Office, control: Control, admin: Admin
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=5))
    await office.poll(channel_id)
    await admin.execute(
        "UPDATE channels SET last_parsed_at = now() - interval '1 hour' WHERE channel_id = $1", channel_id
    )
    control.edit(channel_id, 3, "исправлено", deliver=False)
    await office.poll(channel_id)
    parsed_at = (await office.load_schedule(channel_id))["last_parsed_at"]
    assert datetime.now(UTC) - parsed_at < timedelta(minutes=1)
    assert count_of("incremental_watermark_age_seconds", channel_id) == pytest.approx(
        time.time() - parsed_at.timestamp(), abs=2
    )


async def test_every_channel_has_a_threshold_and_its_statistics_are_in_the_log(
    office: Office, control: Control
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=40, every=60))
    await office.poll(channel_id)
    with capture_logs() as logged:
        await office.poll(channel_id)
    assert metric("adaptive_threshold_seconds", channel_id) is not None
    assert [
        line["log_level"]
        for line in logged
        if line["event"] == "interarrival stats" and line["channel_id"] == channel_id
    ] == ["info"]


async def test_a_run_does_not_take_longer_because_it_waited_for_its_turn(
    office: Office, control: Control
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=3))
    slots = office.reading._deps.slots  # noqa: SLF001 -- PARSER_MAX_CONCURRENCY of the process
    for _ in range(4):
        await slots.acquire()
    before = count_of("parsing_duration_seconds_sum", mode="historical")
    polling = asyncio.create_task(office.poll(channel_id))
    waiting_since = time.monotonic()
    while time.monotonic() - waiting_since < 1.0:
        await asyncio.sleep(0.1)
    began = time.monotonic()
    for _ in range(4):
        slots.release()
    await polling
    assert count_of("parsing_duration_seconds_sum", mode="historical") - before <= time.monotonic() - began


async def test_a_mode_that_somebody_asked_for_is_not_a_forced_one(
    office: Office, control: Control, admin: Admin
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=5))
    await office.poll(channel_id)
    await admin.execute(
        "UPDATE poll_schedule SET last_polled_at = now() - interval '3 days' WHERE channel_id = $1",
        channel_id,
    )
    forced = count_of("parser_mode_forced_total", reason="stale_lpa")
    await office.app.system.schedule.ask(channel_id, mode=Mode.INCREMENTAL, first=True)
    await office.reading.turn()
    assert count_of("parser_mode_forced_total", reason="stale_lpa") == forced


# --- backfills ---


async def test_a_recheck_is_no_backfill(office: Office, control: Control, admin: Admin) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=300, every=60))
    await office.poll(channel_id)
    await office.app.system.backfills.look_back(channel_id, datetime.now(UTC) - timedelta(hours=4))
    await office.app.redis.set(f"low_watermark:{channel_id}", "2026-01-01T00:00:00+00:00")
    await office.read_the_past()
    assert (
        await admin.fetchval(
            "SELECT state FROM backfills WHERE channel_id = $1 AND kind = 'recheck'", channel_id
        )
        == "done"
    )
    assert [
        count_of("backfill_jobs_total", channel_id, status=status)
        for status in ("enqueued", "completed", "failed")
    ] == [0, 0, 0]
    assert await office.app.redis.get(f"low_watermark:{channel_id}") == b"2026-01-01T00:00:00+00:00"


async def test_a_backfill_is_counted_when_it_is_asked_for_and_when_it_is_done(
    office: Office, control: Control
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=600, every=1200), history_days=7)
    await office.poll(channel_id)
    await office.tick()
    await office.read_the_past()
    assert [
        count_of("backfill_jobs_total", channel_id, status=status)
        for status in ("enqueued", "completed", "failed")
    ] == [1, 1, 0]
    assert await office.app.redis.exists(f"low_watermark:{channel_id}")


# --- previews ---


async def test_a_preview_that_was_not_read_for_too_long_is_forced_to_be_historical(
    window: Window, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=5)
    await window.add(f"@{channel.username}")
    await window.poll(channel.channel_id)
    await admin.execute(
        "UPDATE poll_schedule SET last_polled_at = now() - interval '3 days' WHERE channel_id = $1",
        channel.channel_id,
    )
    forced = count_of("parser_mode_forced_total", reason="stale_lpa")
    await window.poll(channel.channel_id)
    assert count_of("parser_mode_forced_total", reason="stale_lpa") - forced == 1


async def test_a_preview_shows_its_crash_mark(window: Window, control: Control) -> None:
    channel = simulate_channel(control, posts=5)
    await window.add(f"@{channel.username}")
    await window.poll(channel.channel_id)
    await window.app.redis.set(f"parse_hwm:{channel.channel_id}", "2026-11-01T00:00:00+00:00")
    window.turns.epoch = 0
    assert await window.reading.take()
    assert count_of("parser_hwm_age_seconds", channel.channel_id) > 3600
