"""Comments: they live in the channel's discussion group, under ids of their own."""

from typing import Any

from telethon.tl import functions, types

from telegram_simulator.methods.channels import channel_of
from telegram_simulator.methods.registry import Caller, RpcError, answers
from telegram_simulator.tl.objects import channel_object, moment_of
from telegram_simulator.world.channel import Channel
from telegram_simulator.world.post import Post

MAX_PER_PAGE = 100
IDS_PER_POST = 1000
"""The copy of post N in the group has the id N * 1000, its comments follow."""


@answers(functions.messages.GetDiscussionMessageRequest)
def get_discussion_message(request: Any, caller: Caller) -> bytes:
    channel, post = _find_commented(request, caller)
    top = post.message_id * IDS_PER_POST
    copy = _in_group(channel, top, post.date, post.text, reply_to=None)
    chats = [channel_object(caller.world, caller.account, channel), _group(caller, channel)]
    return bytes(
        types.messages.DiscussionMessage(
            [copy], unread_count=0, chats=chats, users=[], max_id=top + (post.comments or 0)
        )
    )


@answers(functions.messages.GetRepliesRequest)
def get_replies(request: Any, caller: Caller) -> bytes:
    channel, post = _find_commented(request, caller)
    top, count = post.message_id * IDS_PER_POST, post.comments or 0
    ids = [
        top + number
        for number in range(count, 0, -1)
        if not request.offset_id or top + number < request.offset_id
    ]
    page = ids[max(request.add_offset, 0) :][: min(request.limit, MAX_PER_PAGE)]
    comments = [
        _in_group(
            channel, number, post.date + (number - top) * 60, f"Комментарий {number - top}", reply_to=top
        )
        for number in page
    ]
    chats = [channel_object(caller.world, caller.account, channel), _group(caller, channel)]
    return bytes(types.messages.ChannelMessages(1, count, comments, [], chats, []))


def _find_commented(request: Any, caller: Caller) -> tuple[Channel, Post]:
    channel = channel_of(caller, request.peer)
    post = channel.get(request.msg_id)
    if post is None or post.comments is None:
        raise RpcError(400, "MSG_ID_INVALID")
    return channel, post


def _in_group(
    channel: Channel, message_id: int, date: int, text: str, *, reply_to: int | None
) -> types.Message:
    header = None if reply_to is None else types.MessageReplyHeader(reply_to_msg_id=reply_to)
    return types.Message(
        id=message_id,
        peer_id=types.PeerChannel(channel.group_id),
        date=moment_of(date),
        message=text,
        reply_to=header,
    )


def _group(caller: Caller, channel: Channel) -> types.Channel:
    return types.Channel(
        id=channel.group_id,
        title=f"{channel.title} chat",
        photo=types.ChatPhotoEmpty(),
        date=moment_of(channel.created),
        megagroup=True,
        left=True,
        access_hash=caller.world.access_hash(caller.account, channel.group_id),
    )
