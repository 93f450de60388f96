"""Missed updates: the account's state and the differences of channels."""

from typing import Any

from telethon.tl import functions, types

from telegram_simulator.methods.channels import channel_of
from telegram_simulator.methods.registry import Caller, RpcError, answers
from telegram_simulator.tl.objects import channel_object, channels_in, dialog, message, moment_of, origins_of
from telegram_simulator.world.channel import Channel, Event, Kind

FEWEST, MOST = 10, 100
TOO_MANY = 1000
ASK_AGAIN_SECONDS = 30


@answers(functions.updates.GetStateRequest)
def get_state(_request: Any, caller: Caller) -> bytes:
    return bytes(_state(caller))


@answers(functions.updates.GetDifferenceRequest)
def get_difference(request: Any, caller: Caller) -> bytes:
    """Channels have counters of their own: those that changed are only named."""
    since = int(request.date.timestamp()) if request.date else 0
    changed_posts = [
        channel
        for channel in map(caller.world.channel, sorted(caller.account.joined))
        if channel is not None and channel.changed_at >= since
    ]
    if not changed_posts:
        return bytes(types.updates.DifferenceEmpty(moment_of(caller.server.now()), 0))
    named = [types.UpdateChannelTooLong(channel.channel_id, channel.pts) for channel in changed_posts]
    chats = [channel_object(caller.world, caller.account, channel) for channel in changed_posts]
    return bytes(types.updates.Difference([], [], named, chats, [], _state(caller)))


@answers(functions.updates.GetChannelDifferenceRequest)
def get_channel_difference(request: Any, caller: Caller) -> bytes:
    channel = channel_of(caller, request.channel)
    if request.pts < 0:
        raise RpcError(400, "PERSISTENT_TIMESTAMP_INVALID")
    if request.pts == 0:
        raise RpcError(400, "PERSISTENT_TIMESTAMP_EMPTY")
    if request.pts >= channel.pts:
        return bytes(types.updates.ChannelDifferenceEmpty(channel.pts, final=True, timeout=ASK_AGAIN_SECONDS))
    events = (
        None
        if channel.pts - request.pts > TOO_MANY
        else channel.events_after(request.pts, max(FEWEST, min(request.limit, MOST)))
    )
    return _too_long(caller, channel) if events is None else _pack_difference(caller, channel, events)


def _pack_difference(caller: Caller, channel: Channel, events: list[Event]) -> bytes:
    new_messages: list[Any] = []
    other_updates: list[Any] = []
    posts = []
    for event in events:
        post = channel.get(event.message_id)
        if event.kind is Kind.DELETE:
            other_updates.append(
                types.UpdateDeleteChannelMessages(channel.channel_id, [event.message_id], event.pts, 1)
            )
        elif post is not None:  # what was deleted later is not told
            posts.append(post)
            message_object = message(caller.world, channel, post)
            if event.kind is Kind.NEW:
                new_messages.append(message_object)
            else:
                other_updates.append(types.UpdateEditChannelMessage(message_object, event.pts, 1))
    last_pts = events[-1].pts if events else channel.pts
    chats = channels_in(caller.world, caller.account, channel, origins_of(posts))
    return bytes(
        types.updates.ChannelDifference(
            last_pts,
            new_messages,
            other_updates,
            chats,
            [],
            final=last_pts >= channel.pts or None,
            timeout=ASK_AGAIN_SECONDS,
        )
    )


def _too_long(caller: Caller, channel: Channel) -> bytes:
    posts = [post for post in map(channel.get, channel.window(0, 20)) if post is not None]
    messages = [message(caller.world, channel, post) for post in posts]
    chats = channels_in(caller.world, caller.account, channel, origins_of(posts))
    return bytes(
        types.updates.ChannelDifferenceTooLong(
            dialog(channel), messages, chats, [], final=True, timeout=ASK_AGAIN_SECONDS
        )
    )


def _state(caller: Caller) -> types.updates.State:
    return types.updates.State(
        pts=caller.account.pts, qts=0, date=moment_of(caller.server.now()), seq=1, unread_count=0
    )
