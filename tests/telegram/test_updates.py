"""The updates that an account receives, and how it notices missed ones."""

import inspect
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from telethon import TelegramClient
from telethon.tl import functions, types

from telegram_assistant.domain.accounts.updates import SeenUpdates
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.telegram.account_client import AccountClient
from telegram_assistant.telegram.client import TelethonClient
from telegram_assistant.telegram.updates import (
    MAX_WAITING,
    ChannelUpdates,
    Gap,
    UpdateBuffer,
    load_missed,
    load_state,
    read_difference,
)
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.post import FileKind
from telegram_simulator.world.tiny import CITY, TECH
from tests.simulator.conftest import PHONE
from tests.streams.conftest import until
from tests.telegram.conftest import Lines

ME = functions.users.GetUsersRequest([types.InputUserSelf()])
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture
def receiver() -> UpdateBuffer:
    return UpdateBuffer()


@pytest.fixture
async def line(lines: Lines, receiver: UpdateBuffer) -> AsyncIterator[AccountClient]:
    async with lines(receiver=receiver) as opened:
        await opened.ask(ME)
        yield opened


async def wait_for_updates(receiver: UpdateBuffer, count: int = 1) -> dict[int, ChannelUpdates]:
    async def enough() -> bool:
        return receiver.waiting >= count

    await until(enough)
    return {channel_updates.channel_id: channel_updates for channel_updates in receiver.take()}


def make_new_message(
    message_id: int, *, pts: int, text: str = "Снег", channel_id: int = CITY
) -> types.Updates:
    message = types.Message(
        id=message_id, peer_id=types.PeerChannel(channel_id), date=NOW, message=text, post=True
    )
    return make_updates(types.UpdateNewChannelMessage(message, pts, 1))


def make_updates(*updates: object) -> types.Updates:
    return types.Updates(list(updates), [], [], NOW, 0)


# --- over the wire ---


async def test_posts_edits_and_deletions_come_by_themselves(
    line: AccountClient, receiver: UpdateBuffer, control: Control
) -> None:
    assert line is not None
    post = control.post(CITY, "Свежая новость")
    control.post(TECH, "News")
    control.edit(CITY, post.message_id, "Исправленная новость")
    control.delete(CITY, [5, 6])
    updates = await wait_for_updates(receiver, 4)
    assert [post.text for post in updates[CITY].posts] == ["Исправленная новость"]
    assert updates[CITY].deleted_ids == (5, 6)
    assert [post.text for post in updates[TECH].posts] == ["News"]
    assert {channel_updates.gap for channel_updates in updates.values()} == {None}


async def test_a_line_without_an_ear_is_told_nothing(lines: Lines, sim: Simulator, control: Control) -> None:
    async with lines() as line:
        await line.ask(ME)
        control.post(CITY, "Свежая новость")
        await line.ask(ME)
        assert all(connection.wants_updates is None for connection in sim.connections)


async def test_listening_asks_nothing_that_is_not_asked_without_it(
    lines: Lines, receiver: UpdateBuffer, sim: Simulator
) -> None:
    calls = []
    for options in ({}, {"receiver": receiver}):
        sim.counters.calls.clear()
        async with lines(**options) as line:
            await line.ask(ME)
        calls.append(dict(sim.counters.calls))
    assert calls[0] == calls[1]


async def test_t6_a_busy_channel_never_costs_a_difference(
    line: AccountClient, receiver: UpdateBuffer, sim: Simulator, control: Control
) -> None:
    channels = [control.add_channel(f"Busy {number}", f"busy_{number}") for number in range(200)]
    control.account(PHONE, joined=[channel.channel_id for channel in channels])
    await line.ask(ME)
    for channel in channels:
        control.post(channel.channel_id, "heard")
        control.post(channel.channel_id, "unheard", deliver=False)
        control.post(channel.channel_id, "heard")
    updates = await wait_for_updates(receiver, 400)
    assert {channel_updates.gap for channel_updates in updates.values()} == {Gap.MISSED}
    assert sim.counters.calls[PHONE, "updates.getChannelDifference"] == 0


async def test_t7_a_burst_over_the_wire_waits_in_little_room(
    lines: Lines, sim: Simulator, control: Control
) -> None:
    receiver = UpdateBuffer(max_waiting=100)
    async with lines(receiver=receiver) as line:
        await line.ask(ME)
        for number in range(1000):
            control.post(CITY if number % 2 else TECH, f"Новость {number}.")
        await line.ask(ME)
    assert sim.counters.updates_sent == 1000
    assert receiver.waiting <= 100
    assert {channel_updates.gap for channel_updates in receiver.take()} == {Gap.DROPPED}
    assert receiver.waiting == 0


async def test_t8_an_album_is_heard_as_its_messages(
    line: AccountClient, receiver: UpdateBuffer, control: Control
) -> None:
    assert line is not None
    control.album(CITY, [FileKind.JPEG, FileKind.MP4], "Два кадра")
    (updates,) = (await wait_for_updates(receiver, 2)).values()
    assert [post.message_id for post in updates.posts] == [41, 42]
    assert len({post.grouped_id for post in updates.posts}) == 1


async def test_a_connection_that_is_made_or_lost_is_a_doubt(
    line: AccountClient, receiver: UpdateBuffer, sim: Simulator
) -> None:
    before = receiver.possible_gaps
    sim.drop_connections(PHONE)

    async def has_noticed() -> bool:
        return receiver.possible_gaps > before

    await until(has_noticed)
    between = receiver.possible_gaps
    await line.ask(ME)
    assert receiver.possible_gaps > between


async def test_telegram_names_the_channels_of_which_something_was_missed(
    line: AccountClient, receiver: UpdateBuffer, control: Control
) -> None:
    seen = await load_state(line)
    assert (await load_missed(seen, client=line, receiver=receiver)).is_all
    control.post(CITY, "heard")
    await wait_for_updates(receiver)
    control.post(TECH, "unheard", deliver=False)
    missed = await load_missed(seen, client=line, receiver=receiver)
    assert missed.channels == frozenset({ChannelId(TECH)})  # of the other one everything was heard
    assert (await load_missed(missed.state, client=line, receiver=receiver)).channels == frozenset()


async def test_telethon_still_lets_the_updates_be_taken_where_we_take_them(
    line: AccountClient, receiver: UpdateBuffer
) -> None:
    """Fails when a new Telethon has another loop, or another queue: then nothing would be heard,
    without a word.
    """
    assert line is not None
    assert receiver.possible_gaps
    assert inspect.iscoroutinefunction(TelegramClient._update_loop)  # noqa: SLF001 -- what we stand in for
    assert "self._update_loop()" in inspect.getsource(TelegramClient.connect)
    loop = inspect.getsource(TelegramClient._update_loop)  # noqa: SLF001 -- as above
    assert "self._updates_queue.get()" in loop
    assert TelethonClient._update_loop is not TelegramClient._update_loop  # noqa: SLF001 -- as above


# --- numbers ---


def test_t4_the_first_event_of_a_channel_is_no_gap_and_a_number_left_out_is(receiver: UpdateBuffer) -> None:
    receiver.receive(make_new_message(41, pts=41))
    assert [channel_updates.gap for channel_updates in receiver.take()] == [None]
    receiver.receive(make_new_message(42, pts=42))
    assert [channel_updates.gap for channel_updates in receiver.take()] == [None]
    receiver.receive(make_new_message(50, pts=50))
    (updates,) = receiver.take()
    assert (updates.gap, [post.message_id for post in updates.posts]) == (Gap.MISSED, [50])


def test_t7_of_twenty_thousand_events_no_more_than_two_thousand_ever_wait(receiver: UpdateBuffer) -> None:
    waited = []
    for number in range(1, 20_001):
        receiver.receive(make_new_message(number, pts=number))
        waited.append(receiver.waiting)
    assert max(waited) == MAX_WAITING == 2000


def test_what_was_covered_before_or_comes_late_is_nothing_new(receiver: UpdateBuffer) -> None:
    for message_id in (41, 43, 42, 43):
        receiver.receive(make_new_message(message_id, pts=message_id))
    (updates,) = receiver.take()
    assert (updates.gap, [post.message_id for post in updates.posts]) == (Gap.MISSED, [41, 43])


def test_events_that_bring_no_post_are_counted_too(receiver: UpdateBuffer) -> None:
    receiver.receive(make_new_message(41, pts=41))
    receiver.receive(make_updates(types.UpdatePinnedChannelMessages(CITY, [41], 42, 1)))
    receiver.receive(make_updates(types.UpdateDeleteChannelMessages(CITY, [3, 4], 44, 2)))
    receiver.receive(types.UpdateShort(types.UpdateChannelMessageViews(CITY, 41, 1000), NOW))
    receiver.receive(make_new_message(42, pts=45))
    (updates,) = receiver.take()
    assert (updates.gap, updates.deleted_ids) == (None, (3, 4))


def test_a_channel_of_which_there_is_more_than_is_told_is_a_gap(receiver: UpdateBuffer) -> None:
    receiver.receive(make_updates(types.UpdateChannelTooLong(CITY), types.UpdateChannel(TECH)))
    assert {
        channel_updates.channel_id: (channel_updates.gap, channel_updates.posts)
        for channel_updates in receiver.take()
    } == {
        CITY: (Gap.INCOMPLETE, ()),
        TECH: (Gap.INCOMPLETE, ()),
    }


def test_what_is_deleted_before_it_is_taken_is_only_deleted(receiver: UpdateBuffer) -> None:
    receiver.receive(make_new_message(41, pts=41))
    receiver.receive(make_updates(types.UpdateDeleteChannelMessages(CITY, [41], 42, 1)))
    (updates,) = receiver.take()
    assert (updates.posts, updates.deleted_ids) == ((), (41,))


def test_a_deletion_without_a_channel_touches_no_channel(receiver: UpdateBuffer) -> None:
    """Ids of people's own chats and of channels collide."""
    receiver.receive(make_new_message(41, pts=41))
    receiver.receive(make_updates(types.UpdateDeleteMessages([41], 7, 1)))
    receiver.receive(types.UpdateShort(types.UpdateDeleteMessages([41], 8, 1), NOW))
    (updates,) = receiver.take()
    assert ([post.message_id for post in updates.posts], updates.deleted_ids) == ([41], ())


def test_a_burst_that_telegram_cuts_short_is_a_doubt(receiver: UpdateBuffer) -> None:
    receiver.receive(types.UpdatesTooLong())
    assert (receiver.possible_gaps, receiver.take()) == (1, ())


def test_peoples_own_chats_are_not_listened_to(receiver: UpdateBuffer) -> None:
    private = types.Message(id=7, peer_id=types.PeerUser(1), date=NOW, message="hi")
    receiver.receive(make_updates(types.UpdateNewMessage(private, 3, 1)))
    receiver.receive(types.UpdateShortMessage(id=7, user_id=1, message="hi", pts=3, pts_count=1, date=NOW))
    assert receiver.take() == ()


def test_channels_that_were_heard_in_full_are_not_missed(receiver: UpdateBuffer) -> None:
    receiver.receive(make_new_message(41, pts=41))
    named = [
        types.UpdateChannelTooLong(CITY, 41),
        types.UpdateChannelTooLong(TECH, 5),
        types.UpdateNewChannelMessage(None, 1, 1),
    ]
    assert receiver.channels_to_read(named) == {TECH}
    assert receiver.channels_to_read(
        [types.UpdateChannelTooLong(CITY, 42), types.UpdateChannelTooLong(TECH)]
    ) == {
        CITY,
        TECH,
    }


@pytest.mark.parametrize(
    ("answer", "channels", "is_all"),
    [
        (types.updates.DifferenceEmpty(NOW, 9), frozenset(), True),
        (types.updates.DifferenceTooLong(77), None, False),
        (
            types.updates.DifferenceSlice(
                [], [], [types.UpdateChannelTooLong(5)], [], [], types.updates.State(77, 1, NOW, 9, 0)
            ),
            {5},
            False,
        ),
        (
            types.updates.Difference(
                [], [], [types.UpdateChannelTooLong(5)], [], [], types.updates.State(77, 1, NOW, 9, 0)
            ),
            {5},
            True,
        ),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_every_form_of_a_difference_is_understood(
    receiver: UpdateBuffer, answer: object, channels: frozenset[int] | None, is_all: bool
) -> None:
    missed = read_difference(answer, SeenUpdates(1, 0, 0, NOW), receiver=receiver)
    assert (missed.channels, missed.is_all) == (channels, is_all)
    assert missed.state.pts == (1 if isinstance(answer, types.updates.DifferenceEmpty) else 77)
