"""Folders of chats: a person's own, and those that are shared by a link."""

from collections.abc import Iterable
from typing import Any

from telethon.tl import functions, types

from telegram_simulator.methods.registry import Caller, RpcError, answers
from telegram_simulator.tl.objects import channel_object
from telegram_simulator.world.account import Account, Folder
from telegram_simulator.world.world import World


@answers(functions.messages.GetDialogFiltersRequest)
def get_dialog_filters(_request: Any, caller: Caller) -> bytes:
    own = [
        folder_object(caller.world, caller.account, number, folder)
        for number, folder in sorted(caller.account.folders.items())
    ]
    return bytes(types.messages.DialogFilters([types.DialogFilterDefault(), *own]))


@answers(functions.chatlists.CheckChatlistInviteRequest)
def check_chatlist_invite(request: Any, caller: Caller) -> bytes:
    """The folder behind an invite link. The call joins no channel."""
    if not request.slug:
        raise RpcError(400, "INVITE_SLUG_EMPTY")
    shared_folder = caller.world.shared_folders.get(request.slug)
    if shared_folder is None:
        raise RpcError(400, "INVITE_SLUG_EXPIRED")
    channels = [
        channel for channel in map(caller.world.channel, shared_folder.channels) if channel is not None
    ]
    chats = [channel_object(caller.world, caller.account, channel) for channel in channels]
    title = types.TextWithEntities(shared_folder.title, [])
    return bytes(
        types.chatlists.ChatlistInvite(
            title, [types.PeerChannel(channel.channel_id) for channel in channels], chats, []
        )
    )


def folder_object(world: World, account: Account, number: int, folder: Folder) -> types.DialogFilter:
    def peers(channel_ids: Iterable[int]) -> list[types.InputPeerChannel]:
        return [
            types.InputPeerChannel(channel_id, world.access_hash(account, channel_id))
            for channel_id in channel_ids
        ]

    title = types.TextWithEntities(folder.title, [])
    return types.DialogFilter(
        number,
        title,
        [],
        peers(folder.channels),
        peers(folder.without),
        broadcasts=folder.all_channels or None,
    )
