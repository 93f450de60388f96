"""Reading messages: windows over a channel's history, by id, by words, and their counters."""

from typing import Any

from telethon.tl import functions, types

from telegram_simulator.methods.channels import channel_of
from telegram_simulator.methods.registry import Caller, RpcError, answers
from telegram_simulator.mtproto.packets import BOOL_TRUE
from telegram_simulator.tl.objects import channels_in, empty_message, message, origins_of
from telegram_simulator.world.channel import Channel

MAX_PER_PAGE = 100
USUAL_PAGE = 20
MAX_SEARCHED = 10_000


@answers(functions.messages.GetHistoryRequest)
def get_history(request: Any, caller: Caller) -> bytes:
    """The window is cut first; min_id and max_id, both exclusive, filter what is in it."""
    channel = channel_of(caller, request.peer)
    start = _start(channel, request)
    ids = channel.window(start, _limit(request.limit))
    if request.min_id or request.max_id:
        ids = [number for number in ids if _between(request, number)]
    if request.hash and request.hash == hash_of(ids):
        return bytes(types.messages.MessagesNotModified(channel.alive))
    return _page(caller, channel, ids, offset=min(max(start, 0), channel.alive))


@answers(functions.messages.SearchRequest)
def search(request: Any, caller: Caller) -> bytes:
    channel = channel_of(caller, request.peer)
    limit = min(request.limit, MAX_PER_PAGE)
    words, matches = request.q.lower(), []
    if limit > 0:
        for number in channel.window(_start(channel, request), MAX_SEARCHED):
            post = channel.get(number)
            if post is not None and words in post.text.lower() and _between(request, number):
                matches.append(number)
                if len(matches) == limit:
                    break
    return _page(caller, channel, matches)


@answers(functions.channels.GetMessagesRequest, cost=lambda request: (len(request.id) + 9) // 10)
def get_messages(request: Any, caller: Caller) -> bytes:
    """In the order asked; what does not exist is an empty message."""
    channel = channel_of(caller, request.channel)
    if not request.id:
        raise RpcError(400, "MESSAGE_IDS_EMPTY")
    message_ids = [getattr(item, "id", item) for item in request.id[:MAX_PER_PAGE]]
    posts = [channel.get(number) for number in message_ids]
    messages: list[Any] = [
        empty_message(number) if post is None else message(caller.world, channel, post)
        for number, post in zip(message_ids, posts, strict=True)
    ]
    caller.server.counters.posts_served += len(messages)
    chats = channels_in(caller.world, caller.account, channel, origins_of(posts))
    return bytes(types.messages.ChannelMessages(channel.pts, len(messages), messages, [], chats, []))


@answers(functions.messages.GetMessagesViewsRequest)
def get_messages_views(request: Any, caller: Caller) -> bytes:
    channel = channel_of(caller, request.peer)
    views = []
    for number in request.id[:MAX_PER_PAGE]:
        post = channel.get(number)
        if post is None:
            views.append(types.MessageViews())
            continue
        caller.server.counters.errors["views were incremented"] += bool(request.increment)
        replies = (
            None
            if post.comments is None
            else types.MessageReplies(
                post.comments, post.comments, comments=True, channel_id=channel.group_id
            )
        )
        views.append(types.MessageViews(views=post.views, forwards=post.forwards, replies=replies))
    return bytes(
        types.messages.MessageViews(views, channels_in(caller.world, caller.account, channel, ()), [])
    )


@answers(functions.messages.ReadHistoryRequest)
def read_history(_request: Any, _caller: Caller) -> bytes:
    return bytes(types.messages.AffectedMessages(pts=1, pts_count=0))


@answers(functions.messages.ReadMessageContentsRequest)
def read_contents(_request: Any, _caller: Caller) -> bytes:
    return BOOL_TRUE


def _limit(requested_count: int) -> int:
    return min(requested_count, MAX_PER_PAGE) if requested_count > 0 else USUAL_PAGE


def _start(channel: Channel, request: Any) -> int:
    """How many messages of the list, newest first, are passed over."""
    if request.offset_id:
        passed_count = channel.alive_from(request.offset_id)
    else:
        date = getattr(request, "offset_date", None) or getattr(request, "max_date", None)
        passed_count = (
            channel.alive_since(int(date.timestamp())) if date is not None and date.timestamp() > 0 else 0
        )
    return passed_count + int(request.add_offset)


def _between(request: Any, number: int) -> bool:
    return (not request.min_id or number > request.min_id) and (not request.max_id or number < request.max_id)


def _page(caller: Caller, channel: Channel, ids: list[int], *, offset: int = 0) -> bytes:
    posts = [caller.server.ready(channel, number) for number in ids]
    caller.server.counters.posts_served += len(posts)
    chats = channels_in(
        caller.world, caller.account, channel, {post.origin for post in posts if post.origin is not None}
    )
    messages = [post.message for post in posts]
    return bytes(
        types.messages.ChannelMessages(
            channel.pts, channel.alive, messages, [], chats, [], offset_id_offset=offset
        )
    )


def hash_of(ids: list[int]) -> int:
    """The hash by which a client says what it already has."""
    digest = 0
    for number in ids:
        digest ^= digest >> 21
        digest ^= digest << 35 & (2**64 - 1)
        digest ^= digest >> 4
        digest = digest + number & (2**64 - 1)
    return digest - 2**64 if digest >= 2**63 else digest
