"""Finding, opening and joining channels."""

from heapq import nsmallest
from typing import Any

from telethon.tl import functions, types

from telegram_simulator.methods.registry import Caller, RpcError, answers
from telegram_simulator.mtproto.packets import BOOL_TRUE
from telegram_simulator.tl.objects import channel_object, moment_of
from telegram_simulator.world.channel import Channel

MAX_SIMILAR, SHOWN_SIMILAR = 100, 10


def channel_of(caller: Caller, input_channel: Any) -> Channel:
    """The channel that an InputChannel or an InputPeerChannel names."""
    if not isinstance(input_channel, types.InputChannel | types.InputPeerChannel):
        raise RpcError(
            400,
            "CHANNEL_INVALID" if isinstance(input_channel, types.InputChannelEmpty) else "PEER_ID_INVALID",
        )
    return caller.channel(input_channel.channel_id, input_channel.access_hash)


@answers(functions.contacts.ResolveUsernameRequest)
def resolve_username(request: Any, caller: Caller) -> bytes:
    name = request.username.lstrip("@")
    if not (name and name.isascii() and name.replace("_", "").isalnum()):
        raise RpcError(400, "USERNAME_INVALID")
    channel = caller.world.find_by_username(name)
    if channel is None:
        raise RpcError(400, "USERNAME_NOT_OCCUPIED")
    chat = channel_object(caller.world, caller.account, channel)
    return bytes(
        types.contacts.ResolvedPeer(peer=types.PeerChannel(channel.channel_id), chats=[chat], users=[])
    )


@answers(functions.channels.GetChannelsRequest)
def get_channels(request: Any, caller: Caller) -> bytes:
    chats = [
        channel_object(caller.world, caller.account, channel_of(caller, input_channel))
        for input_channel in request.id[:100]
    ]
    return bytes(types.messages.Chats(chats))


@answers(functions.channels.GetFullChannelRequest)
def get_full_channel(request: Any, caller: Caller) -> bytes:
    channel = channel_of(caller, request.channel)
    full_channel = types.ChannelFull(
        id=channel.channel_id,
        about=f"{channel.title} (simulated)",
        read_inbox_max_id=channel.newest_id,
        read_outbox_max_id=0,
        unread_count=0,
        chat_photo=types.PhotoEmpty(0),
        notify_settings=types.PeerNotifySettings(),
        bot_info=[],
        pts=channel.pts,
        participants_count=channel.members,
        linked_chat_id=channel.group_id,
    )
    return bytes(
        types.messages.ChatFull(
            full_chat=full_channel, chats=[channel_object(caller.world, caller.account, channel)], users=[]
        )
    )


@answers(functions.channels.JoinChannelRequest)
def join_channel(request: Any, caller: Caller) -> bytes:
    return _join(caller, channel_of(caller, request.channel))


@answers(functions.channels.LeaveChannelRequest)
def leave_channel(request: Any, caller: Caller) -> bytes:
    channel = channel_of(caller, request.channel)
    if channel.channel_id not in caller.account.joined:
        raise RpcError(400, "USER_NOT_PARTICIPANT")
    caller.account.joined.discard(channel.channel_id)
    return _now_looks_so(caller, channel)


@answers(functions.messages.CheckChatInviteRequest)
def check_chat_invite(request: Any, caller: Caller) -> bytes:
    channel = _find_invited(caller, request.hash)
    if channel.channel_id in caller.account.joined:
        return bytes(types.ChatInviteAlready(channel_object(caller.world, caller.account, channel)))
    invite = types.ChatInvite(
        title=channel.title,
        photo=types.PhotoEmpty(0),
        participants_count=channel.members,
        color=1,
        channel=True,
        broadcast=True,
    )
    return bytes(invite)


@answers(functions.messages.ImportChatInviteRequest)
def import_chat_invite(request: Any, caller: Caller) -> bytes:
    channel = _find_invited(caller, request.hash)
    if channel.channel_id in caller.account.joined:
        raise RpcError(400, "USER_ALREADY_PARTICIPANT")
    if channel.asks_before_joining:
        raise RpcError(400, "INVITE_REQUEST_SENT")
    return _join(caller, channel)


@answers(functions.channels.GetChannelRecommendationsRequest)
def get_channel_recommendations(request: Any, caller: Caller) -> bytes:
    """Its neighbours, or those of what was joined; premium accounts see more of them."""
    account, world = caller.account, caller.world
    centre = (
        channel_of(caller, request.channel).channel_id
        if request.channel is not None
        else min(account.joined, default=0)
    )
    ids = (
        channel_id
        for channel_id in world.channel_ids()
        if channel_id != centre and channel_id not in account.joined
    )
    other_channels = (
        world.channel(channel_id)
        for channel_id in nsmallest(MAX_SIMILAR, ids, key=lambda channel_id: abs(channel_id - centre))
    )
    similar = [
        other for other in other_channels if other is not None and not (other.is_private or other.is_group)
    ]
    visible_channels = [
        channel_object(world, account, channel)
        for channel in (similar if account.premium else similar[:SHOWN_SIMILAR])
    ]
    return bytes(
        types.messages.Chats(visible_channels)
        if len(visible_channels) == len(similar)
        else types.messages.ChatsSlice(len(similar), visible_channels)
    )


@answers(functions.channels.ReadHistoryRequest)
def read_history(_request: Any, _caller: Caller) -> bytes:
    return BOOL_TRUE


def _find_invited(caller: Caller, invite: str) -> Channel:
    channel = caller.world.find_by_invite(invite)
    if channel is None or caller.account.phone in channel.banned:
        raise RpcError(400, "INVITE_HASH_EXPIRED")
    return channel


def _join(caller: Caller, channel: Channel) -> bytes:
    account = caller.account
    if channel.channel_id not in account.joined and len(account.joined) >= account.max_channels:
        raise RpcError(400, "CHANNELS_TOO_MUCH")
    account.joined.add(channel.channel_id)
    return _now_looks_so(caller, channel)


def _now_looks_so(caller: Caller, channel: Channel) -> bytes:
    chat = channel_object(caller.world, caller.account, channel)
    return bytes(
        types.Updates(
            [types.UpdateChannel(channel.channel_id)], [], [chat], moment_of(caller.server.now()), 0
        )
    )
