"""Translates the header of a message: forward, reply, service action, buttons and counts."""

from operator import attrgetter

from telethon.tl import types

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Facts, Origin
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.telegram.translation.media import media_of
from telegram_assistant.telegram.translation.values import fact_of, facts_of, pick_facts, snake_case_name


def origin_of(header: types.MessageFwdHeader) -> Origin | None:
    """Return the channel that a message was forwarded from. People and hidden senders are facts instead."""
    if type(header.from_id) is not types.PeerChannel:
        return None
    message_id = None if header.channel_post is None else MessageId(header.channel_post)
    return Origin(ChannelId(header.from_id.channel_id), message_id)


def reply_to_of(channel_id: ChannelId, header: types.TypeMessageReplyHeader) -> MessageId | None:
    """Return the post of this channel that is replied to.

    Replies to other chats or to stories are facts instead.
    """
    if (
        type(header) is types.MessageReplyHeader
        and header.reply_to_msg_id is not None
        and not _is_in_other_chat(channel_id, header)
    ):
        return MessageId(header.reply_to_msg_id)
    return None


def _is_in_other_chat(channel_id: ChannelId, header: types.MessageReplyHeader) -> bool:
    peer = header.reply_to_peer_id
    return peer is not None and getattr(peer, "channel_id", None) != channel_id


def header_facts(channel_id: ChannelId, message: types.TypeMessage) -> Facts:
    """Return only what Telegram says: an absent fact is left out."""
    facts: Facts = {}
    if message.action is not None:
        facts["service"] = _service(message)
    if message.fwd_from is not None:
        facts["forward"] = _forward(message.fwd_from)
    if message.reply_to is not None and (reply := _reply(channel_id, message.reply_to)):
        facts["reply"] = reply
    if message.from_id is not None:
        facts["sender"] = facts_of(message.from_id)
    if message.reply_markup is not None and (buttons := _buttons(message.reply_markup)):
        facts["buttons"] = buttons
    if counts := _counts(message):
        facts["counts"] = counts
    if message.replies is not None and message.replies.channel_id is not None:
        facts["discussion_id"] = message.replies.channel_id
    for name, value in zip(_COPIED_FIELDS, _copied_fields(message), strict=True):
        if value and (fact := fact_of(value)) is not None:
            facts[name] = fact
    return facts if not message.edit_hide else facts | _change_facts(message)


def _change_facts(message: types.TypeMessage) -> Facts:
    """Return the time of a change that is not shown as an edit:
    it still tells which of two readings is newer.
    """
    return {} if message.edit_date is None else {"touched_at": message.edit_date.isoformat()}


_COPIED_FIELDS = (
    "edit_hide",
    "pinned",
    "noforwards",
    "restriction_reason",
    "via_bot_id",
    "ttl_period",
    "factcheck",
)
"""Fields that keep Telegram's own names."""
_copied_fields = attrgetter(*_COPIED_FIELDS)


def _service(message: types.MessageService) -> Facts:
    """Return the name of the action and its small facts. A pin also names the pinned message."""
    facts: Facts = {
        "action": snake_case_name(type(message.action).__name__, "MessageAction"),
        **facts_of(message.action),
    }
    pinned_message_id = getattr(message.reply_to, "reply_to_msg_id", None)
    if pinned_message_id is not None and type(message.action) is types.MessageActionPinMessage:
        facts["pinned_id"] = pinned_message_id
    return facts


def _forward(header: types.MessageFwdHeader) -> Facts:
    """Return the facts of a forward. For a channel, only those that Origin does not hold."""
    facts: Facts = {"date": header.date.isoformat()}
    if header.from_id is None:
        facts["hidden"] = True
    elif type(header.from_id) is not types.PeerChannel:
        facts |= facts_of(header.from_id)
    return facts | pick_facts(header, ("from_name", "post_author", "psa_type", "imported"))


def _reply(channel_id: ChannelId, header: types.TypeMessageReplyHeader) -> Facts:
    if type(header) is not types.MessageReplyHeader:
        return facts_of(header)
    facts: Facts = {}
    if _is_in_other_chat(channel_id, header):
        facts["peer"] = facts_of(header.reply_to_peer_id)
        if header.reply_to_msg_id is not None:
            facts["message_id"] = header.reply_to_msg_id
    if header.reply_from is not None:
        facts["from"] = _forward(header.reply_from)
    if media := media_of(header.reply_media).facts.get("media"):
        facts["media"] = media
    return facts | pick_facts(header, ("quote_text", "quote_offset", "reply_to_top_id", "todo_item_id"))


def _buttons(markup: types.TypeReplyMarkup) -> list[Facts]:
    """Return the buttons that have a link. The others are for the bot that set them."""
    if type(markup) is not types.ReplyInlineMarkup:
        return []
    buttons = [button for row in markup.rows for button in row.buttons if getattr(button.type, "url", None)]
    return [{"text": storable(button.text), "url": storable(button.type.url)} for button in buttons]


def _counts(message: types.TypeMessage) -> Facts:
    """Return the counts at the time of reading. They never make a new revision."""
    counts: Facts = {}
    if message.views is not None:
        counts["views"] = message.views
    if message.forwards is not None:
        counts["forwards"] = message.forwards
    if message.replies is not None:
        counts["replies"] = message.replies.replies
    if message.reactions is not None and message.reactions.results:
        counts["reactions"] = {
            _reaction(result.reaction): result.count for result in message.reactions.results
        }
    return counts


def _reaction(reaction: types.TypeReaction) -> str:
    """Return the emoji itself, the id of a custom one, or `paid`."""
    if type(reaction) is types.ReactionEmoji:
        return storable(reaction.emoticon)
    return (
        str(reaction.document_id)
        if type(reaction) is types.ReactionCustomEmoji
        else snake_case_name(type(reaction).__name__, "Reaction")
    )
