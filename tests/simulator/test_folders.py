"""Folders, links to folders, and similar channels, through Telethon."""

import asyncio
from typing import Any

import pytest
from telethon import TelegramClient, errors, events
from telethon.tl import functions, types

from telegram_simulator.control.operations import Control
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY, CLUB, TECH
from tests.simulator.conftest import PHONE


@pytest.fixture
def other_apps(sim: Simulator) -> OtherApps:
    return OtherApps(sim)


async def folders(client: TelegramClient) -> dict[str, Any]:
    answer = await client(functions.messages.GetDialogFiltersRequest())
    return {folder.title.text: folder for folder in answer.filters if isinstance(folder, types.DialogFilter)}


async def test_a_folder_names_its_channels_so_that_they_can_be_opened(
    other_apps: OtherApps, client: TelegramClient
) -> None:
    number = other_apps.put_into_folder(PHONE, "Новости", [CITY, TECH], without=[CLUB], all_channels=True)
    folder = (await folders(client))["Новости"]
    assert (
        folder.id,
        folder.broadcasts,
        [exclude_peer.channel_id for exclude_peer in folder.exclude_peers],
    ) == (
        number,
        True,
        [CLUB],
    )
    opened = await client(functions.channels.GetChannelsRequest(folder.include_peers))
    assert [chat.title for chat in opened.chats] == ["Городские новости", "Tech Daily"]


async def test_changes_of_folders_are_told(other_apps: OtherApps, client: TelegramClient) -> None:
    updates: asyncio.Queue[Any] = asyncio.Queue()
    client.add_event_handler(updates.put, events.Raw(types.UpdateDialogFilter))
    await client.get_me()
    number = other_apps.put_into_folder(PHONE, "Новости", [CITY])
    assert other_apps.put_into_folder(PHONE, "News", [CITY, TECH], number=number) == number
    other_apps.drop_folder(PHONE, number)
    made, renamed, gone = [await asyncio.wait_for(updates.get(), 60) for _ in range(3)]
    assert (made.filter.title.text, renamed.filter.title.text, gone.filter) == ("Новости", "News", None)
    assert await folders(client) == {}


async def test_a_link_to_a_folder_shows_its_channels_and_joins_nothing(
    other_apps: OtherApps, control: Control, sim: Simulator, client: TelegramClient
) -> None:
    group = control.add_channel("Соседи", "sosedi_chat", group=True)
    other_apps.share_folder("AbCdEf", "Новости", [CITY, group.channel_id, CLUB])
    invite = await client(functions.chatlists.CheckChatlistInviteRequest("AbCdEf"))
    city, neighbours, club = invite.chats
    assert [peer.channel_id for peer in invite.peers] == [CITY, group.channel_id, CLUB]
    assert (city.broadcast, city.left, neighbours.megagroup, neighbours.broadcast) == (
        True,
        True,
        True,
        False,
    )
    assert isinstance(club, types.ChannelForbidden)
    assert not sim.world.account(PHONE).joined
    page = await client(
        functions.messages.GetHistoryRequest(
            types.InputPeerChannel(CITY, city.access_hash), 0, None, 0, 5, 0, 0, 0
        )
    )
    assert len(page.messages) == 5


async def test_a_link_without_channels_has_expired(other_apps: OtherApps, client: TelegramClient) -> None:
    other_apps.share_folder("AbCdEf", "Новости", [CITY])
    other_apps.share_folder("AbCdEf", "", [])
    with pytest.raises(errors.BadRequestError, match="INVITE_SLUG_EXPIRED"):
        await client(functions.chatlists.CheckChatlistInviteRequest("AbCdEf"))
    with pytest.raises(errors.BadRequestError, match="INVITE_SLUG_EMPTY"):
        await client(functions.chatlists.CheckChatlistInviteRequest(""))


async def test_similar_channels_are_public_and_fewer_without_premium(
    control: Control, client: TelegramClient
) -> None:
    ask = functions.channels.GetChannelRecommendationsRequest(await client.get_input_entity("gorod_news"))
    some = await client(ask)
    assert isinstance(some, types.messages.ChatsSlice)
    assert (len(some.chats), some.count > 10, some.chats[0].username) == (10, True, "tech_daily")
    control.account(PHONE, premium=True, joined=[CITY, TECH])
    more = await client(ask)
    assert len(more.chats) > 10
    assert not {CITY, TECH, CLUB} & {chat.id for chat in more.chats}
