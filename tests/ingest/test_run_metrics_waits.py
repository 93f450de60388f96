"""Waits and retries that Telegram causes count only for the channel whose run met them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from telegram_assistant.errors import Flooded
from telegram_assistant.settings import Settings
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.post import FileKind
from tests.conftest import Admin
from tests.ingest.library import in_folder, open_library
from tests.ingest.metering import count_of
from tests.ingest.office import Office, say, simulate_channel, truth
from tests.ingest.previewing import Window, open_window

HISTORY = "messages.getHistory"
WAITING = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1"
)


@pytest.fixture
async def window(installation: Settings, sim: Simulator, admin: Admin) -> AsyncIterator[Window]:
    async with open_window(installation, sim, admin) as opened:
        yield opened


# --- floods ---


async def test_a_wait_that_ends_the_run_counts_once_for_the_channel_that_met_it(
    office: Office, control: Control
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=3))
    await office.poll(channel_id)
    runs = count_of("parser_runs_total", mode="incremental", status="flood")
    control.fail(HISTORY, code=420, message="FLOOD_WAIT_18000")
    with pytest.raises(Flooded) as flood:
        await office.poll(channel_id)
    with pytest.raises(Flooded):  # nothing was sent: the wait goes on
        await office.poll(channel_id)
    assert count_of("parser_floodwait_seconds_total", channel_id) == flood.value.retry_after_seconds > 18_000
    assert count_of("parser_runs_total", mode="incremental", status="flood") - runs == 2


async def test_a_short_wait_counts_for_its_channel_and_not_as_time_of_the_run(
    office: Office, control: Control
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=3))
    await office.poll(channel_id)
    retries = count_of("parser_retries_total", reason="floodwait")
    control.fail(HISTORY, code=420, message="FLOOD_WAIT_9")
    await office.poll(channel_id)
    assert 9 <= count_of("parser_floodwait_seconds_total", channel_id) <= 12
    assert count_of("parser_retries_total", reason="floodwait") - retries == 1


async def test_a_wait_within_a_backfill_counts_for_its_channel(office: Office, control: Control) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=600, every=1200), history_days=7)
    await office.poll(channel_id)
    await office.app.system.planning.want_history()
    control.fail(HISTORY, code=420, message="FLOOD_WAIT_5")
    await office.read_the_past()
    assert 5 <= count_of("parser_floodwait_seconds_total", channel_id) <= 8


async def test_waits_of_files_are_not_booked_to_the_channel_that_is_polled_meanwhile(
    installation: Settings, sim: Simulator, admin: Admin, tmp_path: Path
) -> None:
    async with open_library(installation, sim, admin, in_folder(tmp_path)) as library:
        with_files, polled = await library.channel(), await library.channel()
        library.control.post(with_files, media=FileKind.MP4, size=3_000_000)
        await library.read(with_files)
        retries = count_of("parser_retries_total", reason="floodwait")
        library.control.fail("upload.getFile", times=3, code=420, message="FLOOD_PREMIUM_WAIT_7")
        await asyncio.gather(library.fetcher.step(), library.office.poll(polled))
        assert library.office.line.floods == 3
        assert [
            count_of("parser_floodwait_seconds_total", channel_id) for channel_id in (with_files, polled)
        ] == [0, 0]
        assert count_of("parser_retries_total", reason="floodwait") == retries


async def test_trouble_of_postgresql_is_not_counted_as_telegrams(
    office: Office, control: Control, admin: Admin
) -> None:
    reasons = ("timeout", "connection", "network")
    channel = simulate_channel(control, posts=3)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    say(channel, "новое")
    before = {reason: count_of("parser_retries_total", reason=reason) for reason in reasons}
    await admin.execute("UPDATE poll_schedule SET next_poll_at = now() WHERE channel_id = $1", channel_id)
    async with admin.transaction():
        await admin.execute("SELECT FROM channels WHERE channel_id = $1 FOR UPDATE", channel_id)
        polling = asyncio.create_task(office.reading.turn())
        while not (waiting := await admin.fetchval(WAITING)):
            await asyncio.sleep(0.01)
        await admin.execute("SELECT pg_terminate_backend($1)", waiting)
    await polling
    assert len(await office.load_texts(channel_id)) == 4
    assert {reason: count_of("parser_retries_total", reason=reason) for reason in reasons} == before
    control.fail(HISTORY, code=-503, message="TIMEOUT")
    await office.poll(channel_id)
    assert count_of("parser_retries_total", reason="timeout") - before["timeout"] == 1


# --- previews ---


async def test_a_preview_is_tried_again_and_counts_its_retries(
    window: Window, control: Control, sim: Simulator
) -> None:
    channel = simulate_channel(control, posts=5)
    await window.add(f"@{channel.username}")
    retries = count_of("parser_retries_total", reason="network")
    sim.faults.web_status, requests = 503, sim.counters.web_requests
    polling = asyncio.create_task(window.poll(channel.channel_id))
    while count_of("parser_retries_total", reason="network") == retries:
        await asyncio.sleep(0.01)
    sim.faults.web_status = 0
    await polling
    assert await window.load_texts(channel.channel_id) == truth(channel)
    assert (
        count_of("parser_retries_total", reason="network") - retries
        == sim.counters.web_requests - requests - 1
        >= 1
    )
