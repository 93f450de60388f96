"""Reads a whole preview page: which channel it shows, its posts,
and whether there are older and newer ones.
"""

import base64
import binascii
import json
from dataclasses import dataclass

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.errors import AccessLost, UnknownMarkup
from telegram_assistant.previews.bubbles import POST, address_of, posts_in
from telegram_assistant.previews.tree import Node, tree_of
from telegram_assistant.reasons import Reason

MAX_TITLE_LENGTH = 256


@dataclass(frozen=True, slots=True)
class PreviewPage:
    """A parsed page. Without a post, the page does not say which channel it is."""

    channel_id: ChannelId | None
    title: str
    posts: tuple[Post, ...]
    """Newest first."""
    has_older: bool
    has_newer: bool

    @property
    def ids(self) -> list[MessageId]:
        return [post.message_id for post in self.posts]


def read_page(html: str, username: str) -> PreviewPage:
    """Parse a page.

    Raises AccessLost if the page has no preview, and UnknownMarkup if its markup is not known.
    """
    root = tree_of(html)
    history = root.first("tgme_channel_history")
    if history is None:
        if root.first("tgme_page") is not None:
            raise AccessLost(
                Reason("preview_not_shown", "@{username} shows no public preview", username=username)
            )
        raise UnknownMarkup(Reason("markup_without_history", "it has no list of posts"))
    bubbles = [node for node in history.all("tgme_widget_message") if node.get("data-post")]
    if not bubbles and history.first("tme_no_messages_found") is None:
        raise UnknownMarkup(
            Reason("markup_without_post", "it has no posts and does not say that there are none")
        )
    channel_ids = {_channel_id(bubble, username) for bubble in bubbles}
    if len(channel_ids) > 1:
        raise UnknownMarkup(Reason("markup_of_several_channels", "its posts belong to several channels"))
    channel_id = channel_ids.pop() if channel_ids else None
    posts = {
        post.message_id: post
        for bubble in bubbles
        if channel_id is not None
        for post in posts_in(bubble, channel_id)
    }
    newest_first = tuple(posts[message_id] for message_id in sorted(posts, reverse=True))
    return PreviewPage(
        channel_id,
        _title(root),
        newest_first,
        _has_more(history, "data-before"),
        _has_more(history, "data-after"),
    )


def _channel_id(bubble: Node, username: str) -> ChannelId:
    """Return the channel id from `data-view`, which is meant for counting views."""
    link = address_of(bubble.get("data-post"), POST)
    if link is None or link.name.lower() != username.lower():
        raise UnknownMarkup(Reason("markup_of_another_channel", "a post belongs to another channel"))
    view = bubble.get("data-view")
    try:
        channel = json.loads(base64.urlsafe_b64decode(view + "=" * (-len(view) % 4)))["c"]
    except (ValueError, binascii.Error, KeyError, TypeError, RecursionError) as error:
        raise UnknownMarkup(Reason("markup_without_channel", "a post does not name its channel")) from error
    if type(channel) is not int or not 0 < -channel < 2**63:
        raise UnknownMarkup(Reason("markup_without_channel", "a post does not name its channel"))
    return ChannelId(-channel)


def _title(root: Node) -> str:
    header = root.first("tgme_channel_info_header_title")
    if header is None:
        raise UnknownMarkup(Reason("markup_without_title", "it does not name the channel"))
    return storable(header.words())[:MAX_TITLE_LENGTH]


def _has_more(history: Node, attribute: str) -> bool:
    return any(node.get(attribute) for node in history.all("tme_messages_more"))
