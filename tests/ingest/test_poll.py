"""One run over a channel: what is read, what is landed, and what the marks say afterwards."""

import asyncio
import time

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.settings import Settings
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.telemetry.metrics import REGISTRY
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from tests.conftest import Admin
from tests.ingest.office import Office, open_office, say, simulate_channel, truth


async def test_a_small_channel_is_read_whole_with_one_request(office: Office, control: Control) -> None:
    channel = simulate_channel(control, posts=30)
    channel_id = await office.follow(channel)
    before = office.calls()
    await office.poll(channel_id)
    assert await office.load_texts(channel_id) == truth(channel)
    assert office.calls() - before == 1
    assert await office.gaps(channel_id) == []


async def test_the_first_run_lands_a_day_and_leaves_the_rest_to_the_past(
    office: Office, control: Control
) -> None:
    channel = simulate_channel(control, posts=1000, every=600)  # a week
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    stored = await office.load_texts(channel_id)
    day_ago = time.time() - 86_400
    assert {
        message_id for message_id in truth(channel) if channel.date_of(message_id) > day_ago
    } <= stored.keys()
    assert len(stored) < 300
    assert await office.gaps(channel_id) == []


async def test_what_is_new_is_read_and_what_is_known_is_not_written_again(
    office: Office, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=30)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    await admin.execute("DELETE FROM outbox WHERE channel_id = $1", channel_id)
    new = say(channel, "новость")
    await office.poll(channel_id)
    assert (await office.load_texts(channel_id))[new] == "новость"
    rows = await admin.fetch("SELECT message_id FROM outbox WHERE channel_id = $1", channel_id)
    assert [row["message_id"] for row in rows] == [new]


async def test_a_hole_wider_than_a_page_is_filled_upward_and_the_newest_page_comes_first(
    office: Office, control: Control
) -> None:
    channel = simulate_channel(control, posts=20, every=1, newest_age=600)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    for number in range(450):
        say(channel, f"потом {number}", at=time.time() - 450 + number)
    await office.poll(channel_id)
    assert await office.load_texts(channel_id) == truth(channel)
    assert await office.gaps(channel_id) == []


async def test_an_edit_is_noticed_by_the_next_poll_even_if_nothing_is_new(
    office: Office, control: Control
) -> None:
    channel = simulate_channel(control, posts=30)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    control.edit(channel_id, 7, "исправлено")
    await office.poll(channel_id)
    assert (await office.load_texts(channel_id))[7] == "исправлено"


async def test_last_parsed_at_moves_only_when_something_was_stored(office: Office, control: Control) -> None:
    channel = simulate_channel(control, posts=5)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    first = await office.load_schedule(channel_id)
    await office.poll(channel_id)
    second = await office.load_schedule(channel_id)
    assert second["last_parsed_at"] == first["last_parsed_at"]
    assert second["last_polled_at"] > first["last_polled_at"]


async def test_a_run_that_was_cut_off_goes_on_from_its_mark(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    async with open_office(installation, sim, admin, attempts=1) as office:
        channel = simulate_channel(control, posts=20, every=1, newest_age=3000)
        channel_id = await office.follow(channel)
        await office.poll(channel_id)
        for number in range(500):
            say(channel, f"потом {number}", at=time.time() - 2000 + 4 * number)
        await _poll_until_trouble(office, control, channel_id, calls=3)
        assert await office.gaps(channel_id) != []
        assert channel_id in await Marks(office.app.redis).high_water([channel_id])
        await office.poll(channel_id)
        assert await office.load_texts(channel_id) == truth(channel)
        assert await Marks(office.app.redis).high_water([channel_id]) == {}


async def _poll_until_trouble(office: Office, control: Control, channel_id: ChannelId, *, calls: int) -> None:
    """So many pages pass; then nothing does."""

    async def make_trouble(wanted: int) -> None:
        while office.calls() < wanted:
            await asyncio.sleep(0.001)
        control.fail("messages.getHistory", times=20, code=500, message="RPC_CALL_FAIL")

    trouble = asyncio.create_task(make_trouble(office.calls() + calls))
    await office.poll(channel_id)
    await trouble
    office.sim.faults.failures.clear()


async def test_a_channel_that_is_no_longer_read_alarms_nobody(office: Office, control: Control) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=3))
    await office.poll(channel_id)
    await office.app.tenant(office.tenant_id).followed.leave(channel_id)
    await office.app.system.planning.give_accounts()
    assert await office.app.system.known_channels.find_dropped(office.mine.account_id, {channel_id}) == {
        channel_id
    }
    labels = {"channel_id": str(channel_id)}
    assert REGISTRY.get_sample_value("channel_gap_seconds", labels) is not None
    office.stopping.set()
    await office.reading.run()
    assert REGISTRY.get_sample_value("channel_gap_seconds", labels) is None
