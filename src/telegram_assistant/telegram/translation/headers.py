"""What stands around a message: where it comes from, what it answers, what became of it, and how often it was seen."""

from operator import attrgetter

from telethon.tl import types

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Facts, Origin
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.telegram.translation.media import shown_by
from telegram_assistant.telegram.translation.values import fact_of, facts_of, named_facts, spelled


def origin_of(header: types.MessageFwdHeader) -> Origin | None:
    """A channel only; people and hidden senders are facts."""
    if type(header.from_id) is not types.PeerChannel:
        return None
    message_id = None if header.channel_post is None else MessageId(header.channel_post)
    return Origin(ChannelId(header.from_id.channel_id), message_id)


def reply_to_of(channel_id: ChannelId, header: types.TypeMessageReplyHeader) -> MessageId | None:
    """The post of this channel that is answered; what another chat holds, or a story, is a fact."""
    if type(header) is types.MessageReplyHeader and header.reply_to_msg_id is not None and not _elsewhere(channel_id, header):
        return MessageId(header.reply_to_msg_id)
    return None


def _elsewhere(channel_id: ChannelId, header: types.MessageReplyHeader) -> bool:
    peer = header.reply_to_peer_id
    return peer is not None and getattr(peer, "channel_id", None) != channel_id


def header_facts(channel_id: ChannelId, message: types.TypeMessage) -> Facts:
    """Only what Telegram said: absent is not there."""
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
    for name, value in zip(_AS_THEY_ARE, _as_they_are(message), strict=True):
        if value and (fact := fact_of(value)) is not None:
            facts[name] = fact
    return facts if not message.edit_hide else facts | _touched(message)


def _touched(message: types.TypeMessage) -> Facts:
    """A change that is not shown as an edit still tells which of two readings is newer."""
    return {} if message.edit_date is None else {"touched_at": message.edit_date.isoformat()}


_AS_THEY_ARE = ("edit_hide", "pinned", "noforwards", "restriction_reason", "via_bot_id", "ttl_period", "factcheck")
"""Said by Telegram in words that need no others."""
_as_they_are = attrgetter(*_AS_THEY_ARE)


def _service(message: types.MessageService) -> Facts:
    """Every action says its name and what small facts it has; a pin also says what is pinned."""
    facts: Facts = {"action": spelled(type(message.action).__name__, "MessageAction"), **facts_of(message.action)}
    pinned = getattr(message.reply_to, "reply_to_msg_id", None)
    if pinned is not None and type(message.action) is types.MessageActionPinMessage:
        facts["pinned_id"] = pinned
    return facts


def _forward(header: types.MessageFwdHeader) -> Facts:
    """Of a channel only what Origin does not hold."""
    facts: Facts = {"date": header.date.isoformat()}
    if header.from_id is None:
        facts["hidden"] = True
    elif type(header.from_id) is not types.PeerChannel:
        facts |= facts_of(header.from_id)
    return facts | named_facts(header, ("from_name", "post_author", "psa_type", "imported"))


def _reply(channel_id: ChannelId, header: types.TypeMessageReplyHeader) -> Facts:
    if type(header) is not types.MessageReplyHeader:
        return facts_of(header)
    facts: Facts = {}
    if _elsewhere(channel_id, header):
        facts["peer"] = facts_of(header.reply_to_peer_id)
        if header.reply_to_msg_id is not None:
            facts["message_id"] = header.reply_to_msg_id
    if header.reply_from is not None:
        facts["from"] = _forward(header.reply_from)
    if media := shown_by(header.reply_media).facts.get("media"):
        facts["media"] = media
    return facts | named_facts(header, ("quote_text", "quote_offset", "reply_to_top_id", "todo_item_id"))


def _buttons(markup: types.TypeReplyMarkup) -> list[Facts]:
    """Those that lead somewhere: the others are for the bot that set them."""
    if type(markup) is not types.ReplyInlineMarkup:
        return []
    buttons = [one for row in markup.rows for one in row.buttons if getattr(one.type, "url", None)]
    return [{"text": storable(one.text), "url": storable(one.type.url)} for one in buttons]


def _counts(message: types.TypeMessage) -> Facts:
    """As they were when the message was read; they never make a new revision."""
    counts: Facts = {}
    if message.views is not None:
        counts["views"] = message.views
    if message.forwards is not None:
        counts["forwards"] = message.forwards
    if message.replies is not None:
        counts["replies"] = message.replies.replies
    if message.reactions is not None and message.reactions.results:
        counts["reactions"] = {_reaction(one.reaction): one.count for one in message.reactions.results}
    return counts


def _reaction(reaction: types.TypeReaction) -> str:
    """The emoji itself, the id of a custom one, or `paid`."""
    if type(reaction) is types.ReactionEmoji:
        return storable(reaction.emoticon)
    return str(reaction.document_id) if type(reaction) is types.ReactionCustomEmoji else spelled(type(reaction).__name__, "Reaction")
