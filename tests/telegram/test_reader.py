"""Reading channels with the real client."""

from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.history import Readable
from telegram_assistant.domain.posts.post import Origin, PostKind, TextEntity
from telegram_assistant.errors import AccessLost, Rejected
from telegram_assistant.telegram.reader import ChannelReader, Listing
from telegram_simulator.control.operations import Control
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY, CLUB_INVITE, TECH
from tests.simulator.conftest import PHONE
from tests.telegram.conftest import Readers


async def find_joined(reader: ChannelReader, channel_id: int = CITY) -> Readable:
    channels, _ = await reader.load_joined()
    return next(
        Readable(listed.channel.channel_id, listed.access_hash)
        for listed in channels
        if listed.channel.channel_id == channel_id
    )


async def test_the_channels_that_the_account_has_joined_are_known(readers: Readers) -> None:
    async with readers() as reader:
        channels, rest = await reader.load_joined()
    assert {listed.channel.channel_id: listed.channel.title for listed in channels} == {
        CITY: "Городские новости",
        TECH: "Tech Daily",
    }
    assert all(listed.joined for listed in channels)
    assert rest is None


async def test_a_page_proves_what_lies_between_its_ends(readers: Readers) -> None:
    async with readers() as reader:
        channel = await find_joined(reader)
        newest = await reader.newest(channel)
        above = await reader.above(channel, MessageId(35))
        below = await reader.below(channel, MessageId(6))
        nothing = await reader.above(channel, MessageId(40))
    assert newest.proven == IdRange(MessageId(1), MessageId(40))
    assert (sorted(post.message_id for post in above.posts), above.proven) == (
        [36, 37, 38, 39, 40],
        IdRange(MessageId(36), MessageId(40)),
    )
    assert (sorted(post.message_id for post in below.posts), below.proven) == (
        [1, 2, 3, 4, 5],
        IdRange(MessageId(1), MessageId(5)),
    )
    assert (nothing.posts, nothing.proven) == ((), None)


async def test_the_last_message_before_a_moment_is_found(readers: Readers) -> None:
    async with readers() as reader:
        channel = await find_joined(reader)
        posts = {post.message_id: post.posted_at for post in (await reader.newest(channel)).posts}
        moment = posts[MessageId(20)] + timedelta(seconds=1)
        assert await reader.last_before(channel, moment) == max(
            message_id for message_id, at in posts.items() if at < moment
        )
        assert await reader.last_before(channel, datetime(2014, 1, 1, tzinfo=UTC)) == 0


async def test_messages_become_posts(readers: Readers) -> None:
    async with readers() as reader:
        posts = {post.message_id: post for post in (await reader.newest(await find_joined(reader))).posts}
    assert len(posts) == 40
    plain = posts[MessageId(2)]
    assert plain.kind is PostKind.TEXT
    forwarded = next(post for post in posts.values() if post.forwarded_from is not None)
    assert isinstance(forwarded.forwarded_from, Origin)
    assert any(isinstance(entity, TextEntity) for post in posts.values() for entity in post.entities)
    kinds = {post.kind for post in posts.values()}
    assert {PostKind.PHOTO, PostKind.DOCUMENT, PostKind.POLL, PostKind.VIDEO, PostKind.UNREADABLE} <= kinds


async def test_a_reaction_is_no_edit_and_an_edit_is_one(readers: Readers, control: Control) -> None:
    async with readers() as reader:
        channel = await find_joined(reader)
        (before,) = (await reader.above(channel, MessageId(39))).posts
        control.react(CITY, 40, [("👍", 500)])
        (reacted,) = (await reader.above(channel, MessageId(39))).posts
        control.edit(CITY, 40, "Исправлено.")
        (edited,) = (await reader.above(channel, MessageId(39))).posts
    assert (reacted.content_hash, reacted.edited_at) == (before.content_hash, None)
    assert edited.content_hash != before.content_hash
    assert edited.edited_at is not None


async def test_a_channel_that_shuts_its_door_is_access_lost(readers: Readers, control: Control) -> None:
    async with readers() as reader:
        channel = await find_joined(reader, TECH)
        control.change_channel(TECH, ban=PHONE)
        with pytest.raises(AccessLost, match="ChannelPrivate"):
            await reader.newest(channel)
        with pytest.raises(AccessLost, match="ChannelInvalid"):
            await reader.newest(Readable(ChannelId(CITY), 12345))


async def test_names_and_invitations_that_lead_nowhere_are_refused_in_words(readers: Readers) -> None:
    async with readers() as reader:
        with pytest.raises(Rejected, match="there is no @nobody_here on Telegram"):
            await reader.resolve("nobody_here")
        with pytest.raises(Rejected, match="no longer valid"):
            await reader.join("AbCdEfGhIj")
        assert (await reader.join(CLUB_INVITE)).channel.is_private


async def test_chats_that_telegram_does_not_show_do_not_hide_the_others(
    readers: Readers, control: Control, sim: Simulator
) -> None:
    account = sim.world.account(PHONE)
    ids = [
        CITY,
        TECH,
        *(control.add_channel(f"Канал {number}", f"kanal_{number}").channel_id for number in range(6)),
    ]
    control.change_channel(TECH, ban=PHONE)
    control.change_channel(ids[-1], ban=PHONE)
    async with readers() as reader:
        listing = await reader.look_up(
            [
                Readable(ChannelId(channel_id), sim.world.access_hash(account, channel_id))
                for channel_id in ids
            ]
        )
        assert await reader.look_up([]) == Listing(())
    assert [listed.channel.channel_id for listed in listing.channels] == [
        channel_id for channel_id in ids if channel_id not in {TECH, ids[-1]}
    ]
    assert (listing.groups, listing.closed) == (0, 2)


async def test_folders_are_read_with_their_numbers_and_titles(readers: Readers, sim: Simulator) -> None:
    number = OtherApps(sim).put_into_folder(PHONE, "Новости", [CITY], all_channels=True, without=[TECH])
    async with readers() as reader:
        (folder,) = await reader.folders()
    assert (folder.number, folder.title, folder.has_all_channels, folder.without) == (
        number,
        "Новости",
        True,
        frozenset({ChannelId(TECH)}),
    )
    assert [chat.channel_id for chat in folder.chats] == [CITY]
