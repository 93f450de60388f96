"""Channels, users and dialogs as the schema's objects."""

import struct
from collections.abc import Iterable
from datetime import UTC, datetime

from telethon.tl import types

from telegram_simulator.mtproto.packets import tl_bytes
from telegram_simulator.tl.messages import Raw, message_bytes
from telegram_simulator.world.account import Account
from telegram_simulator.world.channel import Channel
from telegram_simulator.world.post import Post
from telegram_simulator.world.world import World

LEFT, BROADCAST, USERNAME, MEGAGROUP, ACCESS_HASH, MEMBERS, HAS_LINK, NOFORWARDS = (
    1 << bit for bit in (2, 5, 6, 8, 13, 17, 20, 27)
)
_CHANNEL, _NO_PHOTO = types.Channel.CONSTRUCTOR_ID, types.ChatPhotoEmpty.CONSTRUCTOR_ID
_channel_head = struct.Struct("<IIIqq").pack
_channel_tail = struct.Struct("<Iii").pack


def moment_of(seconds: float) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)


def channel_object(world: World, account: Account, channel: Channel) -> Raw:
    """A channel as this account sees it, written by hand like the messages: every page carries several."""
    access_hash, is_joined = (
        world.access_hash(account, channel.channel_id),
        channel.channel_id in account.joined,
    )
    if account.phone in channel.banned or (channel.is_private and not is_joined):
        return Raw(
            bytes(
                types.ChannelForbidden(
                    channel.channel_id, access_hash, channel.title, broadcast=not channel.is_group or None
                )
            )
        )
    flags = HAS_LINK | ACCESS_HASH | MEMBERS | (MEGAGROUP if channel.is_group else BROADCAST)
    flags |= (0 if is_joined else LEFT) | (NOFORWARDS if channel.protected else 0)
    name = b""
    if channel.username is not None:
        flags |= USERNAME
        name = tl_bytes(channel.username.encode())
    head = _channel_head(_CHANNEL, flags, 0, channel.channel_id, access_hash)
    return Raw(
        head
        + tl_bytes(channel.title.encode())
        + name
        + _channel_tail(_NO_PHOTO, channel.created, channel.members)
    )


def channels_in(world: World, account: Account, channel: Channel, origins: Iterable[int]) -> list[Raw]:
    """The channel itself and the origins of posts forwarded in it."""
    other_channels = (world.channel(channel_id) for channel_id in sorted(set(origins) - {channel.channel_id}))
    return [
        channel_object(world, account, other) for other in (channel, *other_channels) if other is not None
    ]


def origins_of(posts: Iterable[Post | None]) -> set[int]:
    return {post.origin.channel_id for post in posts if post is not None and post.origin is not None}


def message(world: World, channel: Channel, post: Post) -> Raw:
    def reference(message_id: int) -> bytes:
        return world.file_reference(channel.channel_id, message_id)

    return Raw(
        message_bytes(
            post,
            channel_id=channel.channel_id,
            group_id=channel.group_id,
            is_protected=channel.protected,
            reference=reference,
        )
    )


def empty_message(message_id: int) -> Raw:
    """The placeholder for a message that does not exist."""
    return Raw(struct.pack("<IIi", types.MessageEmpty.CONSTRUCTOR_ID, 0, message_id))


def user_object(account: Account, *, is_self: bool) -> types.User:
    return types.User(
        id=account.user_id,
        is_self=is_self or None,
        access_hash=account.user_id ^ 0x2545F491,
        first_name=account.name,
        phone=account.phone.lstrip("+") if is_self and account.bot_token is None else None,
        bot=account.bot_token is not None or None,
        bot_info_version=1 if account.bot_token is not None else None,
        premium=account.premium or None,
    )


def dialog(channel: Channel) -> types.Dialog:
    newest = channel.newest_id
    return types.Dialog(
        peer=types.PeerChannel(channel.channel_id),
        top_message=newest,
        read_inbox_max_id=newest,
        read_outbox_max_id=0,
        unread_count=0,
        unread_mentions_count=0,
        unread_reactions_count=0,
        unread_poll_votes_count=0,
        notify_settings=types.PeerNotifySettings(),
        pts=channel.pts,
    )
