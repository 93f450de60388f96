"""Reading: the window rules of getHistory, and the methods around it, through unmodified Telethon."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telethon import TelegramClient, errors
from telethon.tl import functions, types

from telegram_simulator.control.operations import Control
from telegram_simulator.methods.history import hash_of
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.channel import Channel, Listed
from telegram_simulator.world.post import Post
from telegram_simulator.world.tiny import CITY, CLUB, CLUB_INVITE, TECH
from tests.simulator.conftest import PHONE, MakeClient


async def history(client: TelegramClient, name: str = "load_1", **window: int) -> list[int]:
    arguments = {
        "offset_id": 0,
        "offset_date": None,
        "add_offset": 0,
        "limit": 100,
        "max_id": 0,
        "min_id": 0,
        "hash": 0,
        **window,
    }
    result = await client(
        functions.messages.GetHistoryRequest(await client.get_input_entity(name), **arguments)
    )
    return [message.id for message in result.messages]


async def test_five_thousand_messages_are_contiguous_forward_and_back(client: TelegramClient) -> None:
    down = [message.id async for message in client.iter_messages("load_1", limit=5000, wait_time=0)]
    assert down == list(range(5000, 0, -1))
    up = [
        message.id async for message in client.iter_messages("load_1", limit=5000, wait_time=0, reverse=True)
    ]
    assert up == list(range(1, 5001))


async def test_min_id_gives_only_what_is_new(client: TelegramClient) -> None:
    assert [message.id async for message in client.iter_messages("load_1", min_id=4990)] == list(
        range(5000, 4990, -1)
    )


async def test_offset_date_gives_what_is_strictly_older(client: TelegramClient) -> None:
    messages = await client.get_messages("gorod_news", limit=100)
    middle = messages[10]
    older = await client.get_messages("gorod_news", limit=100, offset_date=middle.date)
    assert older[0].id < middle.id
    assert all(message.date < middle.date for message in older)
    assert len(older) == sum(message.date < middle.date for message in messages)


async def test_the_window_is_cut_first_and_filtered_after(client: TelegramClient) -> None:
    assert (
        await history(client, max_id=100) == []
    )  # a low max_id alone finds nothing: the window holds the newest
    assert await history(client, min_id=4995) == [5000, 4999, 4998, 4997, 4996]
    assert await history(client, offset_id=51, max_id=45) == list(range(44, 0, -1))


async def test_a_negative_offset_shows_newer_messages_and_pulls_in_no_older_ones(
    client: TelegramClient,
) -> None:
    assert await history(client, offset_id=4990, add_offset=-5, limit=5) == [4994, 4993, 4992, 4991, 4990]
    assert await history(client, offset_id=4998, add_offset=-10, limit=10) == [5000, 4999, 4998]
    assert await history(client, offset_id=0, add_offset=-10, limit=10) == []


async def test_limits_are_clamped(client: TelegramClient) -> None:
    assert len(await history(client, limit=1000)) == 100
    assert len(await history(client, limit=0)) == 20


async def test_deleted_ids_are_simply_absent(control: Control, client: TelegramClient) -> None:
    control.delete(CITY, [39, 38, 5])
    ids = [message.id for message in await client.get_messages("gorod_news", limit=100)]
    assert ids == [number for number in range(40, 0, -1) if number not in {39, 38, 5}]
    result = await client(
        functions.messages.GetHistoryRequest(
            await client.get_input_entity("gorod_news"), 0, None, 0, 5, 0, 0, 0
        )
    )
    assert result.count == 37


async def test_a_known_page_is_not_sent_again(client: TelegramClient) -> None:
    peer = await client.get_input_entity("gorod_news")
    again = await client(
        functions.messages.GetHistoryRequest(peer, 0, None, 0, 5, 0, 0, hash_of([40, 39, 38, 37, 36]))
    )
    assert isinstance(again, types.messages.MessagesNotModified)


class Model:
    """The same channel as a plain list, and the rules written down once more, naively."""

    def __init__(self, count: int, deleted: set[int]) -> None:
        self.ids = [number for number in range(count, 0, -1) if number not in deleted]

    def window(self, start: int, limit: int) -> list[int]:
        return [number for place, number in enumerate(self.ids) if start <= place < start + limit]


@given(
    count=st.integers(1, 60),
    deleted=st.sets(st.integers(1, 60)),
    offset_id=st.integers(0, 70),
    start=st.integers(-70, 70),
    limit=st.integers(1, 70),
)
def test_windows_agree_with_a_plain_list(
    count: int, deleted: set[int], offset_id: int, start: int, limit: int
) -> None:
    past = Listed(tuple(Post(message_id=number, date=1000 + number) for number in range(1, count + 1)))
    channel = Channel(1, title="x", username="x", created=1, past=past, past_count=count)
    channel.delete(sorted(deleted), at=5000)
    model = Model(count, deleted)
    passed = sum(number >= offset_id for number in model.ids) if offset_id else 0
    assert (channel.alive_from(offset_id) if offset_id else 0) == passed
    assert channel.window(passed + start, limit) == model.window(passed + start, limit)
    assert channel.alive_since(1000 + offset_id) == sum(
        1000 + number >= 1000 + offset_id for number in model.ids
    )
    assert channel.alive == len(model.ids)


async def test_messages_by_id_come_in_the_order_asked_with_empty_ones_for_the_missing(
    control: Control, client: TelegramClient
) -> None:
    control.delete(CITY, [7])
    channel = await client.get_input_entity("gorod_news")
    result = await client(
        functions.channels.GetMessagesRequest(
            channel, [types.InputMessageID(number) for number in (9, 7, 3, 999)]
        )
    )
    assert [type(message).__name__ for message in result.messages] == [
        "Message",
        "MessageEmpty",
        "Message",
        "MessageEmpty",
    ]
    assert [message.id for message in result.messages] == [9, 7, 3, 999]
    with pytest.raises(errors.MessageIdsEmptyError):
        await client(functions.channels.GetMessagesRequest(channel, []))


async def test_search_finds_words_and_nothing_with_limit_zero(client: TelegramClient) -> None:
    messages = await client.get_messages("gorod_news", search="театр", limit=5)
    assert messages
    assert all("Театр" in message.text for message in messages)
    peer = await client.get_input_entity("gorod_news")
    nothing = functions.messages.SearchRequest(
        peer, "театр", types.InputMessagesFilterEmpty(), None, None, 0, 0, 0, 0, 0, 0
    )
    assert (await client(nothing)).messages == []


async def test_every_kind_of_message_is_understood(client: TelegramClient) -> None:
    messages = {message.id: message for message in await client.get_messages("gorod_news", limit=100)}
    assert messages[1].action is not None
    assert messages[30].action.__class__ is types.MessageActionPinMessage
    assert messages[8].photo is not None
    assert messages[10].document.mime_type == "application/pdf"
    assert messages[11].web_preview.title == "Мост закрыт"
    assert messages[12].poll is not None
    assert isinstance(messages[13].media, types.MessageMediaUnsupported)
    assert messages[15].forward.chat_id is not None
    assert messages[16].reply_to_msg_id == 15
    assert messages[9].reactions.results[0].count == 9
    assert messages[9].replies.replies == 2
    assert messages[9].post
    assert messages[9].views == 900
    assert [messages[number].grouped_id for number in (20, 21, 22)] == [777] * 3
    assert [bool(messages[number].text) for number in (20, 21, 22)] == [True, False, False]
    assert messages[20].date == messages[22].date
    tech = await client.get_messages("tech_daily", ids=5)
    assert tech.post_author == "Ann Lee"


async def test_views_are_refreshed_without_being_counted(
    sim: Simulator, control: Control, client: TelegramClient
) -> None:
    control.view(CITY, 40, 123_456)
    peer = await client.get_input_entity("gorod_news")
    result = await client(functions.messages.GetMessagesViewsRequest(peer, [40, 999], increment=False))
    assert [view.views for view in result.views] == [123_456, None]
    assert sim.counters.errors["views were incremented"] == 0


async def test_comments_live_in_the_discussion_group(client: TelegramClient) -> None:
    peer = await client.get_input_entity("gorod_news")
    discussion = await client(functions.messages.GetDiscussionMessageRequest(peer, 9))
    comments = await client(functions.messages.GetRepliesRequest(peer, 9, 0, None, 0, 100, 0, 0, 0))
    assert len(comments.messages) == 2
    assert {message.reply_to.reply_to_msg_id for message in comments.messages} == {discussion.messages[0].id}
    with pytest.raises(errors.MsgIdInvalidError):
        await client(functions.messages.GetDiscussionMessageRequest(peer, 8))


async def test_a_name_leads_to_a_channel_or_to_a_clear_error(client: TelegramClient) -> None:
    assert (await client.get_entity("gorod_news")).id == CITY
    with pytest.raises(errors.UsernameNotOccupiedError):
        await client(functions.contacts.ResolveUsernameRequest("nobody_here"))
    with pytest.raises(errors.UsernameInvalidError):
        await client(functions.contacts.ResolveUsernameRequest("ошибка"))


async def test_t19_an_access_hash_is_valid_for_one_account_only(
    client: TelegramClient, make_client: MakeClient
) -> None:
    other = await make_client("79990000002")
    channel = await client.get_input_entity("gorod_news")
    assert channel.access_hash != (await other.get_input_entity("gorod_news")).access_hash
    with pytest.raises(errors.ChannelInvalidError):
        await other(
            functions.channels.GetChannelsRequest(
                [types.InputChannel(channel.channel_id, channel.access_hash)]
            )
        )


async def test_t19_a_renamed_channel_is_found_by_its_new_name_and_its_id(
    control: Control, client: TelegramClient
) -> None:
    channel = await client.get_input_entity("tech_daily")
    control.change_channel(TECH, username="tech_weekly", title="Tech Weekly")
    assert (await client.get_messages(channel, limit=1))[0].id == 30
    assert (await client(functions.contacts.ResolveUsernameRequest("tech_weekly"))).chats[
        0
    ].title == "Tech Weekly"
    with pytest.raises(errors.UsernameNotOccupiedError):
        await client(functions.contacts.ResolveUsernameRequest("tech_daily"))


async def test_t15_a_private_channel_is_an_error_of_its_class_whatever_the_code(
    sim: Simulator, control: Control, client: TelegramClient
) -> None:
    channel = await client.get_input_entity("gorod_news")
    control.change_channel(CITY, ban=PHONE)
    with pytest.raises(errors.ChannelPrivateError) as refusal:
        await client.get_messages(channel, limit=1)
    assert refusal.value.code == 400  # Telethon's table; the server said 406
    assert sim.counters.errors["CHANNEL_PRIVATE"] == 1


async def test_an_invite_opens_a_private_channel(client: TelegramClient) -> None:
    invite = await client(functions.messages.CheckChatInviteRequest(CLUB_INVITE))
    assert (invite.title, invite.broadcast) == ("Закрытый клуб", True)
    joined = await client(functions.messages.ImportChatInviteRequest(CLUB_INVITE))
    club = joined.chats[0]
    assert club.id == CLUB
    assert len(await client.get_messages(club, limit=100)) == 10
    assert isinstance(
        await client(functions.messages.CheckChatInviteRequest(CLUB_INVITE)), types.ChatInviteAlready
    )
    with pytest.raises(errors.UserAlreadyParticipantError):
        await client(functions.messages.ImportChatInviteRequest(CLUB_INVITE))
    with pytest.raises(errors.InviteHashExpiredError):
        await client(functions.messages.ImportChatInviteRequest("nonsense"))


async def test_an_invite_may_ask_first(sim: Simulator, client: TelegramClient) -> None:
    club = sim.world.channel(CLUB)
    assert club is not None
    club.asks_before_joining = True
    with pytest.raises(errors.InviteRequestSentError):
        await client(functions.messages.ImportChatInviteRequest(CLUB_INVITE))


async def test_joining_has_a_limit(control: Control, client: TelegramClient) -> None:
    control.account(PHONE, joined=range(1_000_000_100, 1_000_000_600))
    with pytest.raises(errors.ChannelsTooMuchError):
        await client(functions.channels.JoinChannelRequest(await client.get_input_entity("gorod_news")))
    control.account(PHONE, premium=True)
    assert (
        await client(functions.channels.JoinChannelRequest(await client.get_input_entity("gorod_news")))
    ).chats[0].left is False
    assert (
        await client(functions.channels.LeaveChannelRequest(await client.get_input_entity("gorod_news")))
    ).chats[0].left is True


async def test_dialogs_list_what_was_joined_with_its_counter(
    control: Control, client: TelegramClient
) -> None:
    control.account(PHONE, joined=[CITY, TECH, *range(1_000_000_000, 1_000_000_150)])
    dialogs = await client.get_dialogs(limit=None)
    assert len(dialogs) == 152
    assert len({dialog.entity.id for dialog in dialogs}) == 152
    assert {dialog.entity.id: dialog.dialog.pts for dialog in dialogs}[CITY] == 40
    assert [dialog.date for dialog in dialogs] == sorted((dialog.date for dialog in dialogs), reverse=True)


async def test_full_channels_tell_counter_members_and_group(client: TelegramClient) -> None:
    full = (
        await client(functions.channels.GetFullChannelRequest(await client.get_input_entity("gorod_news")))
    ).full_chat
    assert (full.pts, full.participants_count) == (40, 1000)
    assert full.linked_chat_id


async def test_t14_a_long_reading_pauses_a_second_per_page_and_a_short_one_does_not(
    client: TelegramClient,
) -> None:
    began = time.monotonic()
    assert len(await client.get_messages("load_1", limit=250)) == 250
    assert time.monotonic() - began < 2  # a pause each after the first and the second hundred
    began = time.monotonic()
    count = 0
    async for _ in client.iter_messages("load_1"):
        count += 1
        if count == 201:
            break
    assert time.monotonic() - began >= 2


async def test_dates_are_never_later_than_the_wall_clock(client: TelegramClient) -> None:
    for number in range(20):
        messages = await client.get_messages(f"load_{number}", limit=100)
        assert max(message.date for message in messages) <= datetime.now(UTC) + timedelta(seconds=1)
        assert [message.date for message in messages] == sorted(
            (message.date for message in messages), reverse=True
        )
