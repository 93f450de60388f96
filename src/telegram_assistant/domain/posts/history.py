"""A page of a channel's history, read by an account or from a preview."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Post


@dataclass(frozen=True, slots=True)
class Readable:
    """How a reader addresses a channel: an account by its own access hash, a preview by the public name."""

    channel_id: ChannelId
    access_hash: int = 0
    username: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One page of a channel, and the ids that it proves."""

    posts: tuple[Post, ...]
    proven: IdRange | None
    pack: Callable[[Sequence[MessageId]], bytes] | None = None
    """Packs these messages as they were received, for the raw archive; None if nothing is archived."""

    @property
    def oldest_at(self) -> datetime | None:
        return min((post.posted_at for post in self.posts), default=None)


class HistoryReader(Protocol):
    """Reads channels page by page. Raises AccessLost without access, and Busy for passing errors."""

    async def newest(self, channel: Readable) -> HistoryPage: ...
    async def below(self, channel: Readable, message_id: MessageId) -> HistoryPage: ...
    async def above(self, channel: Readable, message_id: MessageId) -> HistoryPage: ...
    async def last_before(self, channel: Readable, moment: datetime) -> MessageId: ...
