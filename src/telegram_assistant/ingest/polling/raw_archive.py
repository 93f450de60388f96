"""Saves extras after the posts are safe: messages as Telegram sent them, and view counts.

Losing these loses no post.
"""

from collections.abc import Sequence
from datetime import datetime

from telegram_assistant.domain.ids import MessageId
from telegram_assistant.domain.posts.history import HistoryPage
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.posts.counts import Counts
from telegram_assistant.stores.postgres.posts.raw_messages import RawArchive, RawMessages
from telegram_assistant.telegram.translation.raw_messages import LAYER, pack_messages
from telegram_assistant.telegram.updates import ChannelUpdates
from telegram_assistant.telemetry.outages import OutageLog


def raw_of(posts: Sequence[Post], page: HistoryPage, read_at: datetime) -> list[RawMessages]:
    """Return the landed messages of a page, packed; empty if none was landed."""
    if not posts or page.pack is None:
        return []
    ids = sorted(post.message_id for post in posts)
    return [RawMessages(posts[0].channel_id, ids[0], ids[-1], read_at, LAYER, page.pack(ids))]


def raw_of_pushed(updates: ChannelUpdates, read_at: datetime) -> list[RawMessages]:
    """Return the pushed messages of a channel, packed."""
    if not updates.messages:
        return []
    ids = sorted(MessageId(message.id) for message in updates.messages)
    return [RawMessages(updates.channel_id, ids[0], ids[-1], read_at, LAYER, pack_messages(updates.messages))]


async def save_raw(messages: Sequence[RawMessages], *, archive: RawArchive, outage: OutageLog) -> None:
    """Save raw messages,
    so that a mistake in our translation can be repaired without asking Telegram again.
    """
    if not messages:
        return
    try:
        await archive.keep(messages)
        outage.log_recovery()
    except Busy as busy:
        outage.log_failure(busy, is_routine=True, pages=len(messages))


async def save_counts(posts: Sequence[Post], *, counts: Counts, seen_at: datetime, outage: OutageLog) -> None:
    """Save the counts of posts that were read again."""
    try:
        await counts.keep(posts, seen_at=seen_at)
        outage.log_recovery()
    except Busy as busy:
        outage.log_failure(busy, is_routine=True, posts=len(posts))
