"""What a post adds to the graph: where it comes from, where it leads, and what it speaks of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.links import MAX_URL_LENGTH, canonical_url, urls_of
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.understanding.embedding_text import Data, PostFacts
from telegram_assistant.domain.understanding.policy import Tier

DAYS_KEPT = 90
MAX_NAME_LENGTH = 200
"""What is longer is no name; strangers write these, and an index takes only so much."""


class Visibility(StrEnum):
    """Who sees what was understood: who may see a provider's result sees that where there is one, and the local one elsewhere."""

    ALL = "all"
    """The local result of a post that no provider has understood."""
    LOCAL = "local"
    """The local result of a post that has a provider's too: for those who may not see that."""
    PROVIDER = "provider"


SIGHTS = {Tier.LOCAL: (Visibility.ALL, Visibility.LOCAL), Tier.PROVIDER: (Visibility.ALL, Visibility.PROVIDER)}
"""What is seen by whom: everything of a post exactly once."""


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A person, a place, an organisation, as the post writes it."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Contribution:
    """All that the graph knows of one post."""

    post_id: PostId
    posted_at: datetime
    source: ChannelId | None = None
    origin: PostId | None = None
    """None also where the source hides which message it was."""
    reply_to: PostId | None = None
    pages: tuple[str, ...] = ()
    names: tuple[tuple[Visibility, Name], ...] = ()
    tags: tuple[tuple[Visibility, str], ...] = ()

    @property
    def day(self) -> date:
        return self.posted_at.astimezone(UTC).date()

    @property
    def is_counted(self) -> bool:
        return bool(self.source or self.pages or self.names or self.tags)

    @property
    def has_node(self) -> bool:
        """Most posts have none: they are numbers on the edges of their channel's day."""
        return self.origin is not None or self.reply_to is not None


def contribution_of(post: Post, learnt: PostFacts) -> Contribution:
    came = post.forwarded_from
    understood = list(_understood(learnt))
    return Contribution(
        post.id,
        post.posted_at,
        source=came.channel_id if came else None,
        origin=PostId(came.channel_id, came.message_id) if came and came.message_id is not None else None,
        reply_to=PostId(post.channel_id, post.reply_to) if post.reply_to is not None else None,
        pages=tuple(dict.fromkeys(map(page_of, urls_of(post.text, post.entities)))),
        names=tuple(dict.fromkeys((sight, name) for sight, data in understood for name in _names(data))),
        tags=tuple(dict.fromkeys((sight, tag) for sight, data in understood for one in _list(data, "tags") if (tag := str(one)[:MAX_NAME_LENGTH]))),
    )


def page_of(url: str) -> str:
    """The page that an address leads to; one that would be too long without what only counts stays as it was written."""
    page = canonical_url(url)
    return page if len(page) <= MAX_URL_LENGTH else url


def _understood(learnt: PostFacts) -> Iterator[tuple[Visibility, Data]]:
    by_provider = learnt.tags.get(Tier.PROVIDER)
    if (local := learnt.tags.get(Tier.LOCAL)) is not None:
        yield Visibility.ALL if by_provider is None else Visibility.LOCAL, local
    if by_provider is not None:
        yield Visibility.PROVIDER, by_provider


def _names(data: Data) -> Iterator[Name]:
    for one in _list(data, "entities"):
        if isinstance(one, Mapping) and (text := str(one.get("text") or "").strip()[:MAX_NAME_LENGTH]):
            yield Name(str(one.get("kind") or "")[:MAX_NAME_LENGTH], text)


def _list(data: Data, name: str) -> list[object]:
    found = data.get(name)
    return list(found) if isinstance(found, list | tuple) else []


def oldest_day(now: datetime) -> date:
    """What is older is not kept."""
    return day_before(now, DAYS_KEPT)


def day_before(now: datetime, days: int) -> date:
    return now.astimezone(UTC).date() - timedelta(days=days)


@dataclass(frozen=True, slots=True)
class Visible:
    """The channels that somebody sees, and where what was understood is theirs to see: by this machine, or by a provider too."""

    channels: frozenset[ChannelId] = frozenset()
    local: frozenset[ChannelId] = frozenset()
    provider: frozenset[ChannelId] = frozenset()
    since: Mapping[ChannelId, date] = field(default_factory=dict)
    """The day on which the window of a channel begins; one that is not named here is seen from its beginning."""


@dataclass(frozen=True, slots=True)
class Forwarding:
    """How often a channel has forwarded another."""

    channel_id: ChannelId
    source_id: ChannelId
    posts: int
    first_day: date
    last_day: date


@dataclass(frozen=True, slots=True)
class Appearance:
    """A post that shows what was asked for."""

    post_id: PostId
    posted_at: datetime
