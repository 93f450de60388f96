"""Channels that no account can open, followed by their public previews,
and what becomes of them when an account can.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.channels.channel_requests import RequestKind, RequestState
from telegram_assistant.domain.channels.coverage import PREVIEW_SEES, CoverageState
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Flooded, LeaseLost
from telegram_assistant.settings import Settings
from telegram_assistant.telemetry.metrics import REGISTRY
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from tests.conftest import Admin
from tests.ingest.office import open_office, say, simulate_channel, truth
from tests.ingest.previewing import Window, open_window


@pytest.fixture
async def window(installation: Settings, sim: Simulator, admin: Admin) -> AsyncIterator[Window]:
    async with open_window(installation, sim, admin) as opened:
        yield opened


async def revisions(admin: Admin, channel_id: int) -> dict[int, int]:
    return {
        row["message_id"]: row["revision"]
        for row in await admin.fetch(
            "SELECT message_id, revision FROM posts WHERE channel_id = $1", channel_id
        )
    }


async def test_a_channel_is_found_followed_and_read_without_any_account(
    window: Window, control: Control
) -> None:
    channel = simulate_channel(control, posts=10)
    request = await window.add(f"@{channel.username}")
    assert (request.state, request.channel_id, str(request.outcome)) == (
        RequestState.DONE,
        channel.channel_id,
        channel.title,
    )
    await window.poll(channel.channel_id)
    assert await window.load_texts(channel.channel_id) == truth(channel)
    coverage = await window.load_status(channel.channel_id)
    assert (coverage.status.state, coverage.status.why) == (CoverageState.PREVIEW, PREVIEW_SEES)
    assert window.health_facts()["status"] == "ok"


async def test_a_first_look_reads_a_day_and_no_more(window: Window, control: Control) -> None:
    channel = simulate_channel(control, posts=100, every=1800)
    await window.add(f"@{channel.username}")
    await window.poll(channel.channel_id)
    since = time.time() - 24 * 3600
    young = {number: text for number, text in truth(channel).items() if channel.date_of(number) >= since}
    assert set(young) <= set(await window.load_texts(channel.channel_id)) < set(truth(channel))


async def test_what_came_since_the_last_look_is_read_however_much_it_is(
    window: Window, control: Control
) -> None:
    channel = simulate_channel(control, posts=10)
    await window.add(f"@{channel.username}")
    await window.poll(channel.channel_id)
    for number in range(75):
        say(channel, f"потом {number}")
    await window.poll(channel.channel_id)
    assert await window.load_texts(channel.channel_id) == truth(channel)


async def test_nothing_new_changes_nothing_but_the_next_look(
    window: Window, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=10)
    await window.add(f"@{channel.username}")
    await window.poll(channel.channel_id)
    before = await revisions(admin, channel.channel_id)
    await window.poll(channel.channel_id)
    row = await admin.fetchrow(
        "SELECT claimed, next_poll_at > now() AS later FROM poll_schedule WHERE channel_id = $1",
        channel.channel_id,
    )
    assert row is not None
    assert tuple(row) == (False, True)
    assert await revisions(admin, channel.channel_id) == before


async def test_an_edit_is_a_new_revision_with_the_old_text_kept(
    window: Window, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=5)
    await window.add(f"@{channel.username}")
    await window.poll(channel.channel_id)
    control.edit(channel.channel_id, 3, "исправлено")
    await window.poll(channel.channel_id)
    await window.poll(channel.channel_id)
    assert (await window.load_texts(channel.channel_id))[3] == "исправлено"
    assert await revisions(admin, channel.channel_id) == {1: 1, 2: 1, 3: 2, 4: 1, 5: 1}
    assert (
        await admin.fetchval("SELECT text FROM post_versions WHERE channel_id = $1", channel.channel_id)
        == "пост 3"
    )


async def test_an_account_takes_over_doubles_nothing_edits_nothing_and_fills_what_is_missing(
    window: Window, control: Control, admin: Admin, installation: Settings, sim: Simulator
) -> None:
    channel = simulate_channel(control, posts=60, every=7200)
    control.post(channel.channel_id, "с картинкой", origin=(channel.channel_id, 7), author="Анна")
    await window.add(f"@{channel.username}")
    await window.poll(channel.channel_id)
    by_preview = await window.load_texts(channel.channel_id)
    assert len(by_preview) < channel.newest_id
    async with open_office(installation, sim, admin) as office:
        await (
            office.app.system.planning.give_accounts()
        )  # nobody can open it yet: an account is asked to find it
        while (
            taken := await office.app.system.request_queue.claim(office.mine.account_id, list(RequestKind))
        ) is not None:
            if taken.reference == channel.username:
                break
        assert taken is not None
        await office.resolver.serve(taken)
        assert await window.app.system.previews.find_dropped({ChannelId(channel.channel_id)}) == {
            channel.channel_id
        }
        row = await office.load_schedule(channel.channel_id)
        assert row["account_id"] == office.mine.account_id
        assert row["next_poll_at"] <= datetime.now(UTC)
        await office.poll(channel.channel_id)
        await office.tick()
        await office.read_the_past()
        assert await office.gaps(channel.channel_id) == []
        stored = await window.load_texts(channel.channel_id)
    assert {number: text for number, text in truth(channel).items() if number in stored} == stored
    assert len(stored) > len(by_preview)
    assert (
        await admin.fetchval("SELECT count(*) FROM post_versions WHERE channel_id = $1", channel.channel_id)
        == 0
    )
    left = "SELECT count(*) FROM posts WHERE channel_id = $1 AND facts->>'source' = 'preview'"
    assert await admin.fetchval(left, channel.channel_id) == 0
    last = await admin.fetchrow(
        "SELECT fwd_message_id, author, revision FROM posts WHERE channel_id = $1 ORDER BY message_id DESC "
        "LIMIT 1",
        channel.channel_id,
    )
    assert last is not None
    assert tuple(last) == (7, "Анна", 2)
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM preview_coverage WHERE channel_id = $1", channel.channel_id
        )
        == 0
    )


async def test_a_preview_never_changes_what_an_account_has_read(
    window: Window, control: Control, admin: Admin, installation: Settings, sim: Simulator
) -> None:
    channel = simulate_channel(control, posts=10)
    async with open_office(installation, sim, admin) as office:
        channel_id = await office.follow(channel)
        await office.poll(channel_id)
    control.edit(channel_id, 4, "исправлено, пока не было аккаунта")
    say(channel, "новое")
    await admin.execute(
        "UPDATE poll_schedule SET account_id = NULL, last_polled_at = NULL WHERE channel_id = $1", channel_id
    )
    await window.poll(channel_id)
    stored = await window.load_texts(channel_id)
    assert (stored[4], stored[11]) == ("пост 4", "новое")
    assert set((await revisions(admin, channel_id)).values()) == {1}
    proven = await admin.fetchval(
        "SELECT upper(verified) - 1 FROM coverage WHERE channel_id = $1", channel_id
    )
    assert proven == 10  # what the preview has shown is not proven for an account
    async with open_office(installation, sim, admin) as office:
        await office.follow(channel)
        await office.poll(channel_id)
    assert await window.load_texts(channel_id) == truth(channel)
    assert await admin.fetchval(
        "SELECT array_agg(text) FROM post_versions WHERE channel_id = $1", channel_id
    ) == ["пост 4"]


async def test_who_shows_no_preview_is_said_in_words(window: Window, control: Control) -> None:
    request = await window.add("@nobody_has_this")
    assert request.state is RequestState.FAILED
    assert request.outcome is not None
    assert "shows no public preview" in str(request.outcome)
    assert "log an account in" in str(request.outcome)
    channel = simulate_channel(control, posts=3)
    await window.add(f"@{channel.username}")
    control.change_channel(channel.channel_id, preview=False)
    await window.poll(channel.channel_id)
    coverage = await window.load_status(channel.channel_id)
    assert coverage.status.state is CoverageState.UNREADABLE
    assert "its owner turned the preview off" in str(coverage.status.why)


async def test_a_site_that_asks_to_wait_is_left_alone_by_whatever_is_started(
    window: Window, control: Control, sim: Simulator, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=3)
    await window.add(f"@{channel.username}")
    sim.faults.web_status, sim.faults.web_retry_after_seconds = 429, 90
    with pytest.raises(Flooded):
        await window.poll(channel.channel_id)
    sim.faults.web_status, requests = 0, sim.counters.web_requests
    with pytest.raises(Flooded, match="previews pause for"):
        await window.turns.next()
    assert sim.counters.web_requests == requests
    row = await admin.fetchrow(
        "SELECT fail_count, claimed FROM poll_schedule WHERE channel_id = $1", channel.channel_id
    )
    assert row is not None
    assert tuple(row) == (0, False)
    assert (await window.load_status(channel.channel_id)).status.until > datetime.now(UTC) + timedelta(
        seconds=60
    )


async def test_pages_that_nobody_knows_are_told_with_what_to_do_and_forgotten_once_they_are_known(
    window: Window, control: Control, sim: Simulator, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=3)
    await window.add(f"@{channel.username}")
    sim.faults.web_unknown_markup = True
    await window.poll(channel.channel_id)
    assert window.health_facts()["status"] == "failing"
    assert "update the program, or set PREVIEWS_ENABLED=false" in window.health_facts()["detail"]
    assert (
        await admin.fetchval("SELECT fail_count FROM poll_schedule WHERE channel_id = $1", channel.channel_id)
        == 1
    )
    assert await window.load_texts(channel.channel_id) == {}
    assert "PREVIEWS_ENABLED" not in str((await window.load_status(channel.channel_id)).status.why)
    sim.faults.web_unknown_markup = False
    await window.poll(channel.channel_id)
    assert window.health_facts()["status"] == "ok"
    assert await window.load_texts(channel.channel_id) == truth(channel)


async def test_one_process_reads_previews_and_one_page_at_a_time(window: Window) -> None:
    previews = window.app.system.previews
    assert await previews.take("another") is None
    first = await previews.turn(window.turns.owner, window.turns.epoch, every_seconds=3)
    second = await previews.turn(window.turns.owner, window.turns.epoch, every_seconds=3)
    assert first == 0
    assert 2.5 < second <= 3
    await previews.release(window.turns.owner)
    assert await previews.take("another")
    with pytest.raises(LeaseLost):
        await window.turns.next()
    await previews.release("another")


async def test_a_channel_without_a_public_name_is_left_to_accounts(window: Window, admin: Admin) -> None:
    channel = Channel(channel_id=ChannelId(1_999_999_991), title="Закрытый", is_private=True)
    await window.app.system.channels.register(channel)
    await admin.execute(
        "UPDATE poll_schedule SET next_poll_at = now() - interval '1 day' WHERE channel_id = $1",
        channel.channel_id,
    )
    claimed = await window.app.system.previews.claim(window.turns.epoch, most=1000)
    assert channel.channel_id not in {due.channel_id for due in claimed}


async def test_the_loop_waits_out_trouble_reads_on_and_leaves_its_place_to_others(
    window: Window, control: Control, sim: Simulator, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=3)
    await window.add(f"@{channel.username}")
    await admin.execute(
        "UPDATE poll_schedule SET next_poll_at = 'infinity' WHERE channel_id <> $1", channel.channel_id
    )
    sim.faults.web_status = 500
    running = asyncio.create_task(window.reading.run())

    async def until_polled(query: str) -> None:
        async with asyncio.timeout(60):
            while not await admin.fetchval(query, channel.channel_id):
                await asyncio.sleep(0.02)

    await until_polled("SELECT fail_count = 1 FROM poll_schedule WHERE channel_id = $1")
    sim.faults.web_status = 0
    await admin.execute(
        "UPDATE poll_schedule SET next_poll_at = now() WHERE channel_id = $1", channel.channel_id
    )
    await until_polled("SELECT count(*) = 3 FROM posts WHERE channel_id = $1")
    window.stopping.set()
    await running
    assert REGISTRY.get_sample_value("channel_gap_seconds", {"channel_id": str(channel.channel_id)}) is None
    assert await window.app.system.previews.take("another")
    await window.app.system.previews.release("another")
