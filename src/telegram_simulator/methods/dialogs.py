"""The list of joined channels."""

from typing import Any

from telethon.tl import functions, types

from telegram_simulator.methods.registry import Caller, answers
from telegram_simulator.tl.objects import channel_object, dialog, message
from telegram_simulator.world.channel import Channel

MAX_PER_PAGE = 100


@answers(functions.messages.GetDialogsRequest)
def get_dialogs(request: Any, caller: Caller) -> bytes:
    """Newest first. The client goes on with the date of the last message it got."""
    channels = sorted(
        _joined_channels(caller),
        key=lambda channel: (-channel.date_of(channel.newest_id), channel.channel_id),
    )
    later_channels = channels
    if request.offset_date is not None and request.offset_date.timestamp() > 0:
        before = int(request.offset_date.timestamp())
        last_channel_id = getattr(request.offset_peer, "channel_id", 0)
        later_channels = [
            channel
            for channel in channels
            if (channel.date_of(channel.newest_id), -channel.channel_id) < (before, -last_channel_id)
        ]
    page = later_channels[: min(request.limit, MAX_PER_PAGE) if request.limit > 0 else MAX_PER_PAGE]
    dialogs = [dialog(channel) for channel in page]
    posts = [(channel, channel.get(channel.newest_id)) for channel in page]
    messages = [message(caller.world, channel, post) for channel, post in posts if post is not None]
    chats = [channel_object(caller.world, caller.account, channel) for channel in page]
    if len(page) == len(channels):
        return bytes(types.messages.Dialogs(dialogs, messages, chats, []))
    return bytes(types.messages.DialogsSlice(len(channels), dialogs, messages, chats, []))


def _joined_channels(caller: Caller) -> list[Channel]:
    channels = (caller.world.channel(channel_id) for channel_id in caller.account.joined)
    return [channel for channel in channels if channel is not None and channel.newest_id > 0]
