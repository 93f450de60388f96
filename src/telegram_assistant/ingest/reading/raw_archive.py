"""What is kept beside the posts, after they are safe: messages as Telegram sent them, and how often posts were seen. To lose it loses no post."""

from collections.abc import Sequence
from datetime import datetime

from telegram_assistant.domain.ids import MessageId
from telegram_assistant.domain.posts.history import HistoryPage
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.posts.counts import Counts
from telegram_assistant.stores.postgres.posts.raw_messages import RawArchive, RawMessages
from telegram_assistant.telegram.translation.raw_messages import LAYER, packed
from telegram_assistant.telegram.updates import ChannelUpdates
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()


def raw_of(posts: Sequence[Post], page: HistoryPage, read_at: datetime) -> list[RawMessages]:
    """What was landed of a page; nothing where nothing was."""
    if not posts or page.pack is None:
        return []
    ids = sorted(post.message_id for post in posts)
    return [RawMessages(posts[0].channel_id, ids[0], ids[-1], read_at, LAYER, page.pack(ids))]


def raw_of_pushed(heard: ChannelUpdates, read_at: datetime) -> list[RawMessages]:
    """What was told of a channel."""
    if not heard.messages:
        return []
    ids = sorted(MessageId(message.id) for message in heard.messages)
    return [RawMessages(heard.channel_id, ids[0], ids[-1], read_at, LAYER, packed(heard.messages))]


async def keep_raw(messages: Sequence[RawMessages], *, archive: RawArchive) -> None:
    """A mistake in our reading is repaired without asking again."""
    if not messages:
        return
    try:
        await archive.keep(messages)
    except Busy as busy:
        log.info("raw_not_kept", pages=len(messages), why=str(busy))


async def keep_counts(posts: Sequence[Post], *, counts: Counts, seen_at: datetime) -> None:
    """Of posts that were read again."""
    try:
        await counts.keep(posts, seen_at=seen_at)
    except Busy as busy:
        log.info("counts_not_kept", posts=len(posts), why=str(busy))
