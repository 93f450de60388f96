"""Posts as the schema writes them.

Written by hand for speed; a test holds every byte against Telethon's own writer.
"""

import struct
from collections.abc import Callable
from functools import lru_cache

from telethon.tl import types

from telegram_simulator.mtproto.packets import VECTOR, tl_bytes
from telegram_simulator.tl.media import media_bytes
from telegram_simulator.world.post import Entity, Post, Service

POST, EDIT_HIDE, NOFORWARDS = 1 << 14, 1 << 21, 1 << 26
FORWARDED, REPLY, ENTITIES, MEDIA, VIEWS = 1 << 2, 1 << 3, 1 << 7, 1 << 9, 1 << 10
EDIT_DATE, AUTHOR, GROUPED, REACTIONS, REPLIES = 1 << 15, 1 << 16, 1 << 17, 1 << 20, 1 << 23

_MESSAGE, _SERVICE = types.Message.CONSTRUCTOR_ID, types.MessageService.CONSTRUCTOR_ID
_head = struct.Struct("<IIIiIq").pack
_service_head = struct.Struct("<IIiIq").pack
_peer_channel = types.PeerChannel.CONSTRUCTOR_ID
_forward = struct.Struct("<IIIqii").pack
_reply = struct.Struct("<IIi").pack
_replies = struct.Struct("<IIiiq").pack
_two = struct.Struct("<ii").pack
_int = struct.Struct("<i").pack
_long = struct.Struct("<q").pack
_vector = struct.Struct("<Ii").pack
_reaction_count = struct.Struct("<III").pack
_reactions_head = struct.Struct("<IIIi").pack
_entity = struct.Struct("<Iii").pack

_FORWARD_HEADER = types.MessageFwdHeader.CONSTRUCTOR_ID
_REPLY_HEADER = types.MessageReplyHeader.CONSTRUCTOR_ID
_MESSAGE_REPLIES = types.MessageReplies.CONSTRUCTOR_ID
_MESSAGE_REACTIONS = types.MessageReactions.CONSTRUCTOR_ID
_REACTION_COUNT, _REACTION_EMOJI = types.ReactionCount.CONSTRUCTOR_ID, types.ReactionEmoji.CONSTRUCTOR_ID
_ENTITIES = {
    "bold": types.MessageEntityBold.CONSTRUCTOR_ID,
    "italic": types.MessageEntityItalic.CONSTRUCTOR_ID,
    "url": types.MessageEntityUrl.CONSTRUCTOR_ID,
    "text_url": types.MessageEntityTextUrl.CONSTRUCTOR_ID,
    "hashtag": types.MessageEntityHashtag.CONSTRUCTOR_ID,
    "mention": types.MessageEntityMention.CONSTRUCTOR_ID,
    "underline": types.MessageEntityUnderline.CONSTRUCTOR_ID,
    "strike": types.MessageEntityStrike.CONSTRUCTOR_ID,
    "spoiler": types.MessageEntitySpoiler.CONSTRUCTOR_ID,
    "code": types.MessageEntityCode.CONSTRUCTOR_ID,
    "pre": types.MessageEntityPre.CONSTRUCTOR_ID,
    "cashtag": types.MessageEntityCashtag.CONSTRUCTOR_ID,
    "email": types.MessageEntityEmail.CONSTRUCTOR_ID,
}

_WITH_TEXT = {"text_url", "pre"}
"""Entities that carry one more string: an address or a language."""

type Reference = Callable[[int], bytes]
"""Gives the file reference for a message id."""


class Raw:
    """Bytes that are already written, where Telethon expects an object."""

    __slots__ = ("_written",)

    def __init__(self, serialized: bytes) -> None:
        self._written = serialized

    def _bytes(self) -> bytes:
        return self._written

    __bytes__ = _bytes


def message_bytes(  # noqa: C901 -- one branch per optional field of the schema, in the schema's order
    post: Post, *, channel_id: int, group_id: int, is_protected: bool, reference: Reference
) -> bytes:
    """One message. `group_id` is the channel's discussion group, for its comments."""
    if post.service is not None:
        return _service_bytes(post, channel_id)
    flags = POST | VIEWS
    parts: list[bytes] = [b"", b"", b""]
    if post.origin is not None:
        flags |= FORWARDED
        origin = post.origin
        parts[1] = _forward(
            _FORWARD_HEADER, 1 | 4, _peer_channel, origin.channel_id, origin.date, origin.message_id
        )
    if post.reply_to is not None:
        flags |= REPLY
        parts[2] = _reply(_REPLY_HEADER, 16, post.reply_to)
    parts += (_int(post.date), tl_bytes(post.text.encode()))
    if post.media is not None:
        flags |= MEDIA
        parts.append(media_bytes(post, reference))
    if post.entities:
        flags |= ENTITIES
        parts.append(_vector(VECTOR, len(post.entities)))
        parts += [_entity_bytes(entity) for entity in post.entities]
    parts.append(_two(post.views, post.forwards))
    if post.comments is not None:
        flags |= REPLIES
        parts.append(_replies(_MESSAGE_REPLIES, 1, post.comments, post.comments, group_id))
    if post.edit_date is not None:
        flags |= EDIT_DATE | (EDIT_HIDE if post.edit_hidden else 0)
        parts.append(_int(post.edit_date))
    if post.author is not None:
        flags |= AUTHOR
        parts.append(tl_bytes(post.author.encode()))
    if post.grouped_id is not None:
        flags |= GROUPED
        parts.append(_long(post.grouped_id))
    if post.reactions:
        flags |= REACTIONS
        parts.append(_reactions_bytes(post.reactions))
    if is_protected:
        flags |= NOFORWARDS
    parts[0] = _head(_MESSAGE, flags, 0, post.message_id, _peer_channel, channel_id)
    return b"".join(parts)


def _entity_bytes(entity: Entity) -> bytes:
    if entity.kind == "blockquote":
        return bytes(types.MessageEntityBlockquote(entity.offset, entity.length, collapsed=bool(entity.url)))
    if entity.kind == "custom_emoji":
        return bytes(types.MessageEntityCustomEmoji(entity.offset, entity.length, int(entity.url)))
    entity_object = _entity(_ENTITIES[entity.kind], entity.offset, entity.length)
    return entity_object + tl_bytes(entity.url.encode()) if entity.kind in _WITH_TEXT else entity_object


@lru_cache(maxsize=4096)
def _reactions_bytes(reactions: tuple[tuple[str, int], ...]) -> bytes:
    """Counts of reactions without names, as a reader of a channel gets them."""
    parts = [_reactions_head(_MESSAGE_REACTIONS, 1, VECTOR, len(reactions))]
    for emoji, count in reactions:
        parts += (_reaction_count(_REACTION_COUNT, 0, _REACTION_EMOJI), tl_bytes(emoji.encode()), _int(count))
    return b"".join(parts)


def _service_bytes(post: Post, channel_id: int) -> bytes:
    flags, reply = POST, b""
    if post.reply_to is not None:
        flags |= REPLY
        reply = _reply(_REPLY_HEADER, 16, post.reply_to)
    head = _service_head(_SERVICE, flags, post.message_id, _peer_channel, channel_id)
    return head + reply + _int(post.date) + bytes(_action(post))


def _action(post: Post) -> types.TypeMessageAction:
    match post.service:
        case Service.PINNED:
            return types.MessageActionPinMessage()
        case Service.TITLE:
            return types.MessageActionChatEditTitle(post.text or "…")
        case _:
            return types.MessageActionChannelCreate(post.text or "…")
