"""A page of a channel's history, whoever has read it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Post


@dataclass(frozen=True, slots=True)
class Readable:
    """A channel as a reader may address it: an account by its own access hash, a preview by the public name."""

    channel_id: ChannelId
    access_hash: int = 0
    username: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One page of a channel, and the ids that it proves."""

    posts: tuple[Post, ...]
    proven: IdRange | None
    pack: Callable[[Sequence[MessageId]], bytes] | None = None
    """Makes of these messages what is kept of them as they came; None where nothing is kept."""

    @property
    def oldest_at(self) -> datetime | None:
        return min((post.posted_at for post in self.posts), default=None)


class HistoryReader(Protocol):
    """Reads channels page by page. AccessLost where it may not look, Busy for whatever passes."""

    async def newest(self, channel: Readable) -> HistoryPage: ...
    async def below(self, channel: Readable, message_id: MessageId) -> HistoryPage: ...
    async def above(self, channel: Readable, message_id: MessageId) -> HistoryPage: ...
    async def last_before(self, channel: Readable, moment: datetime) -> MessageId: ...
