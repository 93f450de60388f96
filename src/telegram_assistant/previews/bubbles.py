"""Translates the bubbles of a preview page into posts.

An album is one bubble and as many posts as it names.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Facts, Json, Post, PostKind, fingerprint
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.errors import UnknownMarkup
from telegram_assistant.previews.media import PreviewMedia, first_media_in, media_of, poll_in, web_page_in
from telegram_assistant.previews.text import PreviewText, text_of
from telegram_assistant.previews.tree import Node
from telegram_assistant.reasons import Reason

QUOTED = frozenset({"tgme_widget_message_reply", "tgme_widget_message_link_preview"})
"""Boxes that use the classes of a message for content that is not its own."""
LINK = re.compile(r"^https?://[^/]+/(?:s/)?(?P<name>\w+)/(?P<id>\d{1,10})(?:\?single)?$", re.ASCII)
POST = re.compile(r"^(?P<name>\w{1,64})/(?P<id>\d{1,10})$", re.ASCII)
COUNT = re.compile(r"^(?P<number>\d{1,12}(?:\.\d{1,3})?)(?P<unit>[KM]?)$", re.ASCII)
UNITS = {"": 1, "K": 10**3, "M": 10**6}
MAX_ID = 2**31 - 1

NO_SUCH_FILE = -1
"""Part of the fingerprint, so that a preview never counts as equal to what an account has read:
its files have no id.
"""
SOURCE: Facts = {"source": "preview"}
NO_TEXT = PreviewText("", ())
NOT_SHOWN = PreviewMedia(PostKind.UNREADABLE, {"media": {"kind": "unsupported"}})


class PreviewLink(NamedTuple):
    """The target of a link on the page."""

    name: str
    message_id: MessageId


def address_of(text: str, pattern: re.Pattern[str] = LINK) -> PreviewLink | None:
    match = pattern.match(text)
    if match is None or not 1 <= int(match["id"]) <= MAX_ID:
        return None
    return PreviewLink(match["name"], MessageId(int(match["id"])))


@dataclass(frozen=True, slots=True)
class _Bubble:
    """The properties that all posts of a bubble share."""

    channel_id: ChannelId
    posted_at: datetime
    reply_to: MessageId | None
    author: str | None
    facts: Facts

    def post(
        self,
        message_id: MessageId,
        media: PreviewMedia,
        body: PreviewText,
        *,
        more_facts: Facts,
        group: MessageId | None = None,
    ) -> Post:
        return Post(
            channel_id=self.channel_id,
            message_id=message_id,
            posted_at=self.posted_at,
            content_hash=fingerprint(body.text, body.entities, (NO_SUCH_FILE,)),
            kind=media.kind,
            text=body.text,
            entities=body.entities,
            reply_to=self.reply_to,
            grouped_id=group,
            author=self.author,
            facts={**SOURCE, **self.facts, **more_facts, **media.facts},
        )


def posts_in(node: Node, channel_id: ChannelId) -> list[Post]:
    """Return all posts of a bubble, by id. Raises UnknownMarkup if it has no post id or date."""
    own = address_of(node.get("data-post"), POST)
    if own is None:
        raise UnknownMarkup(Reason("markup_without_number", "a post has no number"))
    reply_to_id, facts = _reply_and_forward(node, own)
    bubble = _Bubble(
        channel_id, _posted_at(node), reply_to_id, _text_in(node, "tgme_widget_message_from_author"), facts
    )
    text = node.first("js-message_text", leave_out=QUOTED)
    body = text_of(text) if text is not None else NO_TEXT
    if "service_message" in node.classes:
        return [
            bubble.post(
                own.message_id,
                PreviewMedia(PostKind.SERVICE, {}),
                NO_TEXT,
                more_facts={"service": {"shown": " ".join(body.text.split())}},
            )
        ]
    items, counts_facts = _items(node), _counts_of(node)
    if not items:
        return [
            bubble.post(
                own.message_id, _media_of(node, has_text=bool(body.text)), body, more_facts=counts_facts
            )
        ]
    first_message_id = min(items)
    return [
        bubble.post(
            message_id,
            media,
            body if message_id == first_message_id else NO_TEXT,
            more_facts=counts_facts if message_id == first_message_id else {},
            group=first_message_id,
        )
        for message_id, media in sorted(items.items())
    ]


def _items(node: Node) -> dict[MessageId, PreviewMedia]:
    group = node.first("tgme_widget_message_grouped_wrap", leave_out=QUOTED)
    items: dict[MessageId, PreviewMedia] = {}
    for element in group.inside() if group is not None else ():
        link = address_of(element.get("href")) if element.get("href").endswith("?single") else None
        if link is not None:
            items.setdefault(link.message_id, media_of(element) or NOT_SHOWN)
    return items


def _media_of(node: Node, *, has_text: bool) -> PreviewMedia:
    """Return the media, unreadable if a browser cannot show them. If there is text, the text is the post."""
    media = first_media_in(node, leave_out=QUOTED) or poll_in(node) or web_page_in(node)
    if media is None and node.first("message_media_not_supported_wrap", leave_out=QUOTED) is not None:
        return NOT_SHOWN if not has_text else PreviewMedia(PostKind.TEXT, NOT_SHOWN.facts)
    return media or PreviewMedia(PostKind.TEXT, {})


def _posted_at(node: Node) -> datetime:
    date_node = node.first("tgme_widget_message_date", leave_out=QUOTED) or node
    time = next(
        (
            inside
            for inside in date_node.inside(leave_out=QUOTED)
            if inside.tag == "time" and inside.get("datetime")
        ),
        None,
    )
    try:
        moment = datetime.fromisoformat(time.get("datetime") if time is not None else "")
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UnknownMarkup(Reason("markup_without_date", "a post has no date")) from error
    raise UnknownMarkup(Reason("markup_without_zone", "a post has a date without its zone"))


def _reply_and_forward(node: Node, own: PreviewLink) -> tuple[MessageId | None, Facts]:
    """Return the post of this channel that is replied to,
    and facts about a forward or a reply to elsewhere.
    """
    facts: Facts = {}
    forwarded_node = node.first("tgme_widget_message_forwarded_from_name", leave_out=QUOTED)
    if forwarded_node is not None:
        facts["forward"] = {
            "from_name": storable(forwarded_node.words()),
            **_link_facts(address_of(forwarded_node.get("href"))),
        }
    reply = node.first("tgme_widget_message_reply")
    replied_to = address_of(reply.get("href")) if reply is not None else None
    if replied_to is None or replied_to.name.lower() == own.name.lower():
        return (replied_to.message_id if replied_to else None), facts
    return None, {**facts, "reply": _link_facts(replied_to)}


def _link_facts(link: PreviewLink | None) -> Facts:
    return {"username": link.name, "message_id": link.message_id} if link else {}


def _counts_of(node: Node) -> Facts:
    """Return counts, edit mark and buttons at the time of reading.

    An album is counted, and marked as edited, as a whole.
    """
    facts: Facts = {}
    counts: Facts = {}
    is_exact = True
    views = _count(_text_in(node, "tgme_widget_message_views"))
    if views is not None:
        counts["views"], is_exact = views
    reactions: dict[str, Json] = {}
    for reaction in node.all("tgme_reaction", leave_out=QUOTED):
        count = _count("".join(child for child in reaction.children if isinstance(child, str)).strip())
        custom = next(
            (inner_node.get("emoji-id") for inner_node in reaction.inside() if inner_node.tag == "tg-emoji"),
            None,
        )
        emoji = next(reaction.all("emoji"), None)
        if count is not None and (custom or emoji is not None):
            reactions[storable(custom or (emoji.words() if emoji else ""))] = count[0]
            is_exact = is_exact and count[1]
    if reactions:
        counts["reactions"] = reactions
    if counts:
        facts["counts"] = counts if is_exact else {**counts, "rounded": True}
    meta = node.first("tgme_widget_message_meta", leave_out=QUOTED)
    if (
        meta is not None
        and "edited" in " ".join(child for child in meta.children if isinstance(child, str)).split()
    ):
        facts["edited"] = True
    buttons: list[Json] = [
        {"text": storable(button.words()), "url": storable(button.get("href"))}
        for button in node.all("tgme_widget_message_inline_button")
        if button.get("href").startswith(("http://", "https://"))
    ]
    return {**facts, "buttons": buttons} if buttons else facts


def _count(text: str | None) -> tuple[int, bool] | None:
    """Parse a number as people see it. Returns it and whether it is exact: 12.3K is not."""
    match = COUNT.match(text or "")
    return (
        None if match is None else (round(float(match["number"]) * UNITS[match["unit"]]), not match["unit"])
    )


def _text_in(node: Node, class_name: str) -> str | None:
    element = node.first(class_name, leave_out=QUOTED)
    return storable(element.words()) or None if element is not None else None
