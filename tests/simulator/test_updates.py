"""Live updates, gaps and differences: what arrives, and what Telethon loses in silence."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from telethon import TelegramClient, errors, events
from telethon.sessions import MemorySession, SQLiteSession
from telethon.tl import functions, types

from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.post import FileKind
from telegram_simulator.world.tiny import CITY, TECH
from telegram_simulator.world.world import HOME_DC
from tests.simulator.conftest import PHONE, MakeClient, session_for


class RecordedUpdates:
    """The updates that a client's handlers received."""

    def __init__(self, client: TelegramClient) -> None:
        self.new: list[int] = []
        self.edited: list[int] = []
        self.deleted: list[tuple[int, list[int]]] = []
        client.add_event_handler(self._on_new, events.NewMessage())
        client.add_event_handler(self._on_edit, events.MessageEdited())
        client.add_event_handler(self._on_delete, events.MessageDeleted())

    async def _on_new(self, event: Any) -> None:
        self.new.append(event.message.id)

    async def _on_edit(self, event: Any) -> None:
        self.edited.append(event.message.id)

    async def _on_delete(self, event: Any) -> None:
        self.deleted.append((event.chat_id, event.deleted_ids))


async def until(happened: Callable[[], bool], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not happened():
            await asyncio.sleep(0.01)


@pytest.fixture
async def listening(control: Control, make_client: MakeClient) -> tuple[TelegramClient, RecordedUpdates]:
    control.account(PHONE, joined=[CITY, TECH])
    client = await make_client(retry_delay=0)
    listener = RecordedUpdates(client)
    await client.get_me()
    return client, listener


async def test_new_posts_edits_deletions_and_views_are_pushed(
    control: Control, listening: tuple[TelegramClient, RecordedUpdates]
) -> None:
    client, listener = listening
    seen_views: list[int] = []

    async def on_raw(update: Any) -> None:
        if isinstance(update, types.UpdateChannelMessageViews):
            seen_views.append(update.views)

    client.add_event_handler(on_raw, events.Raw())
    post = control.post(CITY, "Свежая новость")
    control.edit(CITY, post.message_id, "Исправленная новость")
    control.view(CITY, post.message_id, 77)
    control.delete(CITY, [5, 6])
    await until(lambda: bool(listener.deleted) and bool(seen_views))
    assert (listener.new, listener.edited, seen_views) == ([41], [41], [77])


async def test_t9_a_deletion_names_its_channel_and_a_reaction_looks_like_an_edit(
    control: Control, listening: tuple[TelegramClient, RecordedUpdates]
) -> None:
    client, listener = listening
    before = (await client.get_messages("gorod_news", ids=40)).message
    control.delete(CITY, [3])
    control.react(CITY, 40, [("👍", 900)])
    await until(lambda: bool(listener.deleted) and bool(listener.edited))
    assert listener.deleted == [(int(f"-100{CITY}"), [3])]
    assert listener.edited == [40]
    after = await client.get_messages("gorod_news", ids=40)
    assert (after.message, after.edit_hide) == (before, True)  # the text is the same: no edit at all


async def test_nothing_is_pushed_for_channels_that_were_not_joined(
    control: Control, listening: tuple[TelegramClient, RecordedUpdates]
) -> None:
    _, listener = listening
    control.post(1_000_000_003, "unheard")
    control.post(CITY, "heard")
    await until(lambda: bool(listener.new))
    assert listener.new == [41]


async def test_a_gap_is_recovered_by_the_next_update(
    control: Control, listening: tuple[TelegramClient, RecordedUpdates]
) -> None:
    _, listener = listening
    control.post(CITY, "first")
    await until(lambda: listener.new == [41])
    for _ in range(250):
        control.post(CITY, "unheard", deliver=False)
    control.post(CITY, "heard again")
    await until(lambda: len(listener.new) == 252)
    assert listener.new == list(range(41, 293))


async def test_t1_a_difference_that_is_too_long_loses_everything_in_silence(
    control: Control, listening: tuple[TelegramClient, RecordedUpdates]
) -> None:
    client, listener = listening
    control.post(CITY, "first")
    await until(lambda: listener.new == [41])
    for _ in range(1200):
        control.post(CITY, "unheard", deliver=False)
    control.post(CITY, "pushed")
    await asyncio.sleep(1.0)
    assert listener.new == [41]  # 1,201 posts, no event, no error
    assert (await client.get_messages("gorod_news", limit=1))[0].id == 1242  # only reading history finds them


async def test_t2_a_reconnect_does_not_catch_up_and_catch_up_does(
    sim: Simulator, control: Control, listening: tuple[TelegramClient, RecordedUpdates]
) -> None:
    client, listener = listening
    control.post(CITY, "first")
    await until(lambda: listener.new == [41])
    sim.faults.refuse_connections = True
    sim.drop_connections(PHONE)
    control.post(CITY, "while away")
    sim.faults.refuse_connections = False
    await until(
        lambda: any(connection.record and connection.record.phone == PHONE for connection in sim.connections)
    )
    await client.get_me()
    await asyncio.sleep(0.3)
    assert listener.new == [41]
    await client.catch_up()
    await until(lambda: listener.new == [41, 42])


async def test_t3_a_new_session_does_not_make_telethon_ask_what_it_missed(
    sim: Simulator, listening: tuple[TelegramClient, RecordedUpdates]
) -> None:
    client, _ = listening
    before = sim.counters.calls[PHONE, "updates.getDifference"]
    sim.drop_connections(PHONE)
    await until(
        lambda: any(connection.record and connection.record.phone == PHONE for connection in sim.connections)
    )
    await client.get_me()
    await asyncio.sleep(0.3)
    assert sim.counters.calls[PHONE, "updates.getDifference"] == before


async def test_t4_a_channel_is_known_only_from_its_first_update_on(
    control: Control, listening: tuple[TelegramClient, RecordedUpdates]
) -> None:
    _, listener = listening
    for _ in range(5):
        control.post(TECH, "lost before the first update", deliver=False)
    control.post(TECH, "the first update")
    await until(lambda: bool(listener.new))
    await asyncio.sleep(0.3)
    assert listener.new == [36]


@pytest.mark.parametrize(("keeps_state", "expected"), [(False, 0), (True, 30)])
async def test_t5_only_a_session_that_keeps_its_counters_catches_up_after_a_restart(
    sim: Simulator,
    control: Control,
    tmp_path: Path,
    make_client: MakeClient,
    keeps_state: bool,
    expected: int,
) -> None:
    control.account(PHONE, joined=[CITY])
    template = session_for(sim)

    def session() -> MemorySession:
        made = SQLiteSession(str(tmp_path / "session")) if keeps_state else MemorySession()
        made.set_dc(HOME_DC, sim.host, sim.ports[HOME_DC])
        made.auth_key = template.auth_key
        return made

    first = await make_client(session=session())
    listener = RecordedUpdates(first)
    await first.get_me()
    control.post(CITY, "first")
    await until(lambda: listener.new == [41])
    await first.disconnect()
    for _ in range(30):
        control.post(CITY, "while down")
    second = await make_client(session=session(), catch_up=True)
    listener = RecordedUpdates(second)
    if expected:
        await until(lambda: len(listener.new) == expected)
    else:
        await asyncio.sleep(0.7)
    assert len(listener.new) == expected


async def test_t7_a_burst_arrives_whole_and_in_order(control: Control, make_client: MakeClient) -> None:
    control.account(PHONE, joined=[CITY])
    client = await make_client(sequential_updates=True)
    listener = RecordedUpdates(client)
    await client.get_me()
    for number in range(1000):
        control.post(CITY, f"burst {number}")
    await until(lambda: len(listener.new) == 1000, seconds=60)
    assert listener.new == list(range(41, 1041))


async def test_t8_an_album_is_pushed_as_messages_of_one_group(
    control: Control, listening: tuple[TelegramClient, RecordedUpdates]
) -> None:
    client, listener = listening
    albums: list[list[int]] = []

    async def on_album(event: Any) -> None:
        albums.append([message.id for message in event.messages])

    client.add_event_handler(on_album, events.Album())
    posts = control.album(CITY, [FileKind.JPEG, FileKind.JPEG, FileKind.MP4], "Три кадра")
    await until(lambda: bool(albums))
    assert albums == [[41, 42, 43]]
    assert listener.new == [41, 42, 43]
    assert len({post.grouped_id for post in posts}) == 1


async def test_a_difference_tells_edits_and_deletions_and_omits_what_was_deleted(
    control: Control, client: TelegramClient
) -> None:
    channel = await client.get_input_entity("gorod_news")
    post = control.post(CITY, "short-lived", deliver=False)
    control.edit(CITY, 40, "Новый текст", deliver=False)
    control.delete(CITY, [post.message_id], deliver=False)
    difference = await client(
        functions.updates.GetChannelDifferenceRequest(
            channel, types.ChannelMessagesFilterEmpty(), 40, 100, force=True
        )
    )
    assert difference.new_messages == []
    assert [type(update).__name__ for update in difference.other_updates] == [
        "UpdateEditChannelMessage",
        "UpdateDeleteChannelMessages",
    ]
    assert (difference.pts, difference.final) == (43, True)


async def test_differences_come_in_slices_and_can_be_trimmed(
    control: Control, client: TelegramClient
) -> None:
    channel = await client.get_input_entity("load_5")
    ask = functions.updates.GetChannelDifferenceRequest
    everything = types.ChannelMessagesFilterEmpty()
    first = await client(ask(channel, everything, 4850, 100, force=True))
    assert (first.pts, bool(first.final), len(first.new_messages)) == (4950, False, 100)
    second = await client(ask(channel, everything, 4950, 100, force=True))
    assert (second.pts, second.final) == (5000, True)
    assert isinstance(
        await client(ask(channel, everything, 5000, 100, force=True)), types.updates.ChannelDifferenceEmpty
    )
    assert isinstance(
        await client(ask(channel, everything, 3000, 100, force=True)), types.updates.ChannelDifferenceTooLong
    )
    control.trim_differences(1_000_000_005, keep=10)
    assert isinstance(
        await client(ask(channel, everything, 4950, 100, force=True)), types.updates.ChannelDifferenceTooLong
    )
    assert isinstance(
        await client(ask(channel, everything, 4995, 100, force=True)), types.updates.ChannelDifference
    )
    with pytest.raises(errors.PersistentTimestampEmptyError):
        await client(ask(channel, everything, 0, 100, force=True))
    with pytest.raises(errors.PersistentTimestampInvalidError):
        await client(ask(channel, everything, -5, 100, force=True))
