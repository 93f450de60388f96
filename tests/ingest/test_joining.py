"""Joining lively channels, where the installation wants it."""

from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from telegram_assistant.errors import Flooded
from telegram_assistant.settings import Settings
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.channel import Channel as SimulatedChannel
from tests.conftest import Admin
from tests.ingest.office import PHONE, Office, open_office, simulate_channel


@pytest.fixture
async def joining(installation: Settings, sim: Simulator, admin: Admin) -> AsyncIterator[Office]:
    async with open_office(installation, sim, admin, joins_per_day=5) as opened:
        yield opened


async def lively(office: Office, control: Control, *, posts: int = 60) -> SimulatedChannel:
    """A post every minute, and read once."""
    channel = simulate_channel(control, posts=posts)
    await office.follow(channel)
    await office.poll(channel.channel_id)
    return channel


async def next_day(office: Office) -> None:
    await office.admin.execute(
        "UPDATE account_limits SET tokens_at = tokens_at - interval '1 day' WHERE account_id = $1",
        office.mine.account_id,
    )


async def has_joined(office: Office, channel: SimulatedChannel) -> bool:
    stored = await office.admin.fetchval(
        "SELECT joined FROM account_channels WHERE account_id = $1 AND channel_id = $2",
        office.mine.account_id,
        channel.channel_id,
    )
    assert stored == (channel.channel_id in office.sim.world.account(PHONE).joined)
    return bool(stored)


@pytest.mark.turns("PUSH_JOINS_PER_DAY")
@pytest.mark.parametrize("per_day", [0, 1])
async def test_an_account_joins_by_itself_only_where_it_is_asked_to(
    installation: Settings, sim: Simulator, control: Control, admin: Admin, per_day: int
) -> None:
    async with open_office(installation, sim, admin, joins_per_day=per_day) as office:
        channel = await lively(office, control)
        await office.catching_up.joiner.join_one()
        assert await has_joined(office, channel) is bool(per_day)
        assert office.calls("channels.joinChannel") == per_day


async def test_the_liveliest_is_joined_first_and_the_next_one_waits_its_turn(
    joining: Office, control: Control
) -> None:
    slow, quick = await lively(joining, control, posts=30), await lively(joining, control, posts=90)
    assert await joining.catching_up.joiner.join_one() == quick.channel_id
    assert await joining.catching_up.joiner.join_one() is None
    assert not await has_joined(joining, slow)
    await next_day(joining)
    assert await joining.catching_up.joiner.join_one() == slow.channel_id


async def test_quiet_private_and_failing_channels_are_not_joined(joining: Office, control: Control) -> None:
    await lively(joining, control, posts=1)
    private, failing = await lively(joining, control), await lively(joining, control)
    await joining.admin.execute(
        "UPDATE channels SET is_private = true WHERE channel_id = $1", private.channel_id
    )
    await joining.admin.execute(
        "UPDATE poll_schedule SET fail_count = 1 WHERE channel_id = $1", failing.channel_id
    )
    assert await joining.catching_up.joiner.join_one() is None
    assert joining.calls("channels.joinChannel") == 0


async def test_an_account_that_is_in_too_many_channels_stops_for_a_day_and_says_so(
    joining: Office, control: Control
) -> None:
    await lively(joining, control)
    control.fail("channels.joinChannel", code=400, message="CHANNELS_TOO_MUCH")
    with capture_logs() as logged:
        assert await joining.catching_up.joiner.join_one() is None
    assert [event["event"] for event in logged if event["log_level"] == "warning"] == ["no_place_to_join"]
    await next_day(joining)
    assert await joining.catching_up.joiner.join_one() is None
    assert joining.calls("channels.joinChannel") == 1


@pytest.mark.parametrize("message", ["INVITE_REQUEST_SENT", "CHANNEL_PRIVATE"])
async def test_a_channel_that_lets_nobody_in_at_once_is_not_asked_again(
    joining: Office, control: Control, message: str
) -> None:
    channel, other = await lively(joining, control, posts=90), await lively(joining, control)
    control.fail("channels.joinChannel", code=400, message=message)
    assert await joining.catching_up.joiner.join_one() is None
    await next_day(joining)
    assert await joining.catching_up.joiner.join_one() == other.channel_id
    await next_day(joining)
    assert await joining.catching_up.joiner.join_one() is None
    assert not await has_joined(joining, channel)


async def test_who_is_in_already_is_noted(joining: Office, control: Control) -> None:
    channel = await lively(joining, control)
    joining.sim.world.account(PHONE).joined.add(channel.channel_id)
    control.fail("channels.joinChannel", code=400, message="USER_ALREADY_PARTICIPANT")
    assert await joining.catching_up.joiner.join_one() == channel.channel_id
    assert await has_joined(joining, channel)


async def test_a_flood_is_heeded_and_the_attempt_is_spent(joining: Office, control: Control) -> None:
    await lively(joining, control)
    control.fail("channels.joinChannel", code=420, message="FLOOD_WAIT_600")
    with pytest.raises(Flooded):
        await joining.catching_up.joiner.join_one()
    assert await joining.catching_up.joiner.join_one() is None
    assert joining.calls("channels.joinChannel") == 1
