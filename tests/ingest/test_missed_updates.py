"""Missed updates: ingest finds them by gaps in the numbers or by asking Telegram, and reads the posts."""

import asyncio
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from telethon.extensions import BinaryReader
from telethon.tl import types

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.history import Readable
from telegram_assistant.settings import Settings
from telegram_assistant.telegram.reader import ChannelReader
from telegram_assistant.telegram.updates import UpdateBuffer
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.tl.objects import message
from telegram_simulator.world.channel import Channel as SimulatedChannel
from tests.conftest import Admin
from tests.ingest.listeners import (
    all_stored,
    at_work,
    is_due,
    join_channels,
    load_rows,
    long_ago,
    poll_what_is_due,
)
from tests.ingest.office import PHONE, Office, open_office, truth
from tests.streams.conftest import until

# --- gaps ---


@pytest.mark.parametrize("missed", [30, 1200])
async def test_t1_whatever_was_missed_before_a_pushed_post_is_read(
    office: Office, control: Control, missed: int
) -> None:
    (channel,) = await join_channels(office, control)
    async with at_work(office):
        control.post(channel.channel_id, "heard")
        await all_stored(office, channel)
        for number in range(missed):
            control.post(channel.channel_id, f"unheard {number}", deliver=False)
        control.post(channel.channel_id, "heard again")
        await all_stored(office, channel, but=missed)
        await until(lambda: is_due(office, channel))
    await poll_what_is_due(office)
    assert await office.load_texts(channel.channel_id) == truth(channel)
    assert await office.gaps(channel.channel_id) == []


async def test_t2_posts_made_while_the_connection_was_down_are_read_after_it_is_back(
    office: Office, control: Control, sim: Simulator
) -> None:
    (channel,) = await join_channels(office, control)
    async with at_work(office):
        control.post(channel.channel_id, "first")
        await all_stored(office, channel)
        sim.faults.refuse_connections = True
        sim.drop_connections(PHONE)
        control.post(channel.channel_id, "while away")
        sim.faults.refuse_connections = False
        began = time.monotonic()
        await until(lambda: is_due(office, channel))
        assert time.monotonic() - began < 20
    await poll_what_is_due(office)
    assert await office.load_texts(channel.channel_id) == truth(channel)


async def test_t3_every_new_connection_asks_what_was_missed(
    office: Office, control: Control, sim: Simulator
) -> None:
    await join_channels(office, control)
    async with at_work(office):
        for _ in range(3):
            before = sim.counters.calls[PHONE, "updates.getDifference"]
            sim.drop_connections(PHONE)

            async def has_asked(before: int = before) -> bool:
                return (
                    sim.counters.calls[PHONE, "updates.getDifference"] >= before + 2
                )  # Telethon's own, and ours

            await until(has_asked)


async def test_t4_what_was_lost_before_the_first_update_of_a_channel_is_found(
    office: Office, control: Control
) -> None:
    (channel,) = await join_channels(office, control)
    office.catching_up.every_seconds = 0.2
    async with at_work(office):
        for _ in range(5):
            control.post(channel.channel_id, "lost before the first update", deliver=False)
        await until(lambda: is_due(office, channel))
    await poll_what_is_due(office)
    assert await office.load_texts(channel.channel_id) == truth(channel)


async def test_t5_a_restart_goes_on_where_the_last_one_saw_and_a_replay_changes_nothing(
    office: Office, control: Control
) -> None:
    first, second = await join_channels(office, control, channels=2)
    async with at_work(office):
        control.post(first.channel_id, "first")
        await all_stored(office, first)
    seen = await office.app.system.push_states.load_seen_updates(office.mine.account_id)
    assert seen is not None
    await office.poll(first.channel_id)
    rows, schedule = await load_rows(office, first), await office.load_schedule(first.channel_id)
    await long_ago(office)
    await asyncio.sleep(
        max(0.0, seen.moment.timestamp() + 1.01 - time.time())
    )  # Telegram's clock has whole seconds
    for _ in range(30):
        control.post(second.channel_id, "while down", deliver=False)
    again = replace_ear(office)
    async with at_work(again):
        await until(lambda: is_due(office, second))
    await poll_what_is_due(office)
    await office.poll(first.channel_id)
    assert await office.load_texts(second.channel_id) == truth(second)
    assert await load_rows(office, first) == rows
    assert (await office.load_schedule(first.channel_id))["newest_message_id"] == schedule[
        "newest_message_id"
    ]


def replace_ear(office: Office) -> Office:
    """Gives the office an empty update buffer, as after a restart."""
    receiver = UpdateBuffer()
    office.listening = replace(office.listening, receiver=receiver)
    caught = replace(office.catching_up)
    caught.receiver = receiver
    office.catching_up = caught
    return office


async def test_channels_of_which_everything_was_heard_are_not_read_for_it(
    office: Office, control: Control, sim: Simulator
) -> None:
    channels = await join_channels(office, control, channels=3)
    office.catching_up.every_seconds = 0.1
    async with at_work(office):
        for channel in channels:
            control.post(channel.channel_id, "first")
            await all_stored(office, channel)
            await long_ago(office)
        before = sim.counters.calls[PHONE, "updates.getDifference"]

        async def has_asked() -> bool:
            return sim.counters.calls[PHONE, "updates.getDifference"] > before + 3

        await until(has_asked)
        assert [await is_due(office, channel) for channel in channels] == [False] * 3
    assert sim.counters.calls[PHONE, "updates.getChannelDifference"] == 0


async def test_t7_a_burst_that_is_dropped_is_read(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    async with open_office(installation, sim, admin, max_waiting=50) as office:
        (channel,) = await join_channels(office, control)
        async with at_work(office):
            control.post(channel.channel_id, "first")
            await all_stored(office, channel)
            for number in range(2000):
                control.post(channel.channel_id, f"burst {number}")
            await until(lambda: is_due(office, channel))
        await poll_what_is_due(office)
        assert await office.load_texts(channel.channel_id) == truth(channel)


async def test_updates_that_never_come_cost_only_time(
    office: Office, control: Control, sim: Simulator
) -> None:
    (channel,) = await join_channels(office, control)
    sim.faults.drop_updates = True
    async with at_work(office):
        for number in range(5):
            control.post(channel.channel_id, f"unheard {number}")
            control.edit(channel.channel_id, 3, f"правка {number}")
    await office.poll(channel.channel_id)
    assert await office.load_texts(channel.channel_id) == truth(channel)


# --- due now ---


async def test_a_hint_does_not_wake_what_rests_and_reads_nothing_twice_in_fifteen_seconds(
    office: Office, control: Control
) -> None:
    resting, fresh, busy, idle = await join_channels(office, control, channels=4)
    hint, mine = office.app.system.hints.make_due, office.mine
    await office.admin.execute(
        "UPDATE poll_schedule SET fail_count = 5 WHERE channel_id = $1", resting.channel_id
    )
    await office.admin.execute(
        "UPDATE poll_schedule SET last_polled_at = now() WHERE channel_id = $1", fresh.channel_id
    )
    await office.admin.execute(
        "UPDATE poll_schedule SET claimed = true, next_poll_at = now() + interval '1 minute' "
        "WHERE channel_id = $1",
        busy.channel_id,
    )
    await hint(
        mine.account_id,
        mine.lease_epoch,
        [ChannelId(channel.channel_id) for channel in (resting, fresh, busy, idle)],
    )
    assert [await is_due(office, channel) for channel in (resting, fresh, busy, idle)] == [
        False,
        False,
        False,
        True,
    ]
    wait = (await office.load_schedule(fresh.channel_id))["next_poll_at"] - office.now()
    assert timedelta(seconds=5) < wait < timedelta(seconds=16)
    assert (await office.load_schedule(busy.channel_id))[
        "asked_at"
    ] is not None  # it is read again when the run is over


async def test_when_everything_may_be_missed_all_that_was_joined_is_due(
    office: Office, control: Control
) -> None:
    first, other = await join_channels(office, control, channels=2)
    await office.admin.execute(
        "UPDATE account_channels SET joined = channel_id = $2 WHERE account_id = $1",
        office.mine.account_id,
        first.channel_id,
    )
    await office.app.system.hints.make_due(office.mine.account_id, office.mine.lease_epoch, None)
    assert [await is_due(office, channel) for channel in (first, other)] == [True, False]


# --- the law ---


@settings(max_examples=25)
@given(
    events=st.lists(st.sampled_from(["post", "edit", "react"]), min_size=1, max_size=6),
    deliveries=st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=14),
)
async def test_whatever_becomes_of_updates_the_rows_are_the_same_after_a_poll(
    office: Office, control: Control, events: list[str], deliveries: list[tuple[int, bool]]
) -> None:
    """Any of them lost, doubled, late, in any order, and taken in at any moment."""
    (channel,) = await join_channels(office, control)
    updates = [happens(office, control, channel, event, number) for number, event in enumerate(events)]
    for number, take_in in deliveries:
        if number < len(updates):
            office.receiver.receive(updates[number])
        if take_in:
            await office.listening.process_updates()
    await office.listening.process_updates()
    await office.poll(channel.channel_id)
    access_hash = office.sim.world.access_hash(office.sim.world.account(PHONE), channel.channel_id)
    page = await ChannelReader(office.line).newest(Readable(ChannelId(channel.channel_id), access_hash))
    expected = {post.message_id: (post.text, post.content_hash, post.posted_at) for post in page.posts}
    rows = await office.admin.fetch(
        "SELECT message_id, text, content_hash, posted_at FROM posts WHERE channel_id = $1",
        channel.channel_id,
    )
    assert {
        row["message_id"]: (row["text"], row["content_hash"], row["posted_at"]) for row in rows
    } == expected
    assert await office.gaps(channel.channel_id) == []


def happens(office: Office, control: Control, channel: SimulatedChannel, event: str, number: int) -> Any:
    """The update that tells of it, told to nobody yet.

    A post is edited or reacted to, not both: a reaction would hide the edit.
    """
    where = channel.channel_id
    match event:
        case "post":
            post = control.post(where, f"новость {number}", deliver=False)
        case "edit":
            post = control.edit(where, 2, f"правка {number}", deliver=False)
        case _:
            post = control.react(where, 3, [("👍", number + 1)], deliver=False)
    kind = types.UpdateNewChannelMessage if event == "post" else types.UpdateEditChannelMessage
    update = kind(message(office.sim.world, channel, post), channel.pts, 1)
    return BinaryReader(bytes(types.Updates([update], [], [], office.now(), 0))).tgread_object()
