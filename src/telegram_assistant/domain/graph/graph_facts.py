"""The contribution of a post to the graph: its source, its links, its names and tags."""

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
"""A longer text is no name. Strangers write these texts, and the length of an index entry is limited."""


class Visibility(StrEnum):
    """The tenants that see an enrichment.

    Tenants with access to providers see the provider's result if there is one, otherwise the local one.
    """

    ALL = "all"
    """The local result of a post without a provider's result."""
    LOCAL = "local"
    """The local result of a post that also has a provider's, for tenants that may not see the latter."""
    PROVIDER = "provider"


VISIBILITIES_OF = {
    Tier.LOCAL: (Visibility.ALL, Visibility.LOCAL),
    Tier.PROVIDER: (Visibility.ALL, Visibility.PROVIDER),
}
"""The visibilities that each tier sees: every fact of a post exactly once."""


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A person, place or organisation as the post writes it."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Contribution:
    """Everything that the graph stores about one post."""

    post_id: PostId
    posted_at: datetime
    source: ChannelId | None = None
    origin: PostId | None = None
    """None also if the source hides which message it was."""
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
        """Whether the post has a node of its own.

        Most have none: they are numbers on the edges of their channel's day.
        """
        return self.origin is not None or self.reply_to is not None


def contribution_of(post: Post, facts: PostFacts) -> Contribution:
    came = post.forwarded_from
    understood = list(_list_visible_tags(facts))
    return Contribution(
        post.id,
        post.posted_at,
        source=came.channel_id if came else None,
        origin=PostId(came.channel_id, came.message_id) if came and came.message_id is not None else None,
        reply_to=PostId(post.channel_id, post.reply_to) if post.reply_to is not None else None,
        pages=tuple(dict.fromkeys(map(page_of, urls_of(post.text, post.entities)))),
        names=tuple(dict.fromkeys((sight, name) for sight, data in understood for name in _names(data))),
        tags=tuple(
            dict.fromkeys(
                (sight, tag)
                for sight, data in understood
                for raw_tag in _list(data, "tags")
                if (tag := str(raw_tag)[:MAX_NAME_LENGTH])
            )
        ),
    )


def page_of(url: str) -> str:
    """The canonical URL of a link; the link itself if the canonical URL is too long."""
    page = canonical_url(url)
    return page if len(page) <= MAX_URL_LENGTH else url


def _list_visible_tags(facts: PostFacts) -> Iterator[tuple[Visibility, Data]]:
    by_provider = facts.tags.get(Tier.PROVIDER)
    if (local_tags := facts.tags.get(Tier.LOCAL)) is not None:
        yield Visibility.ALL if by_provider is None else Visibility.LOCAL, local_tags
    if by_provider is not None:
        yield Visibility.PROVIDER, by_provider


def _names(data: Data) -> Iterator[Name]:
    for entity in _list(data, "entities"):
        if isinstance(entity, Mapping) and (text := str(entity.get("text") or "").strip()[:MAX_NAME_LENGTH]):
            yield Name(str(entity.get("kind") or "")[:MAX_NAME_LENGTH], text)


def _list(data: Data, name: str) -> list[object]:
    values = data.get(name)
    return list(values) if isinstance(values, list | tuple) else []


def oldest_day(now: datetime) -> date:
    """The oldest day that the graph keeps."""
    return day_before(now, DAYS_KEPT)


def day_before(now: datetime, days: int) -> date:
    return now.astimezone(UTC).date() - timedelta(days=days)


@dataclass(frozen=True, slots=True)
class Visible:
    """The channels that a tenant sees, and those whose local or provider results it may see."""

    channels: frozenset[ChannelId] = frozenset()
    local: frozenset[ChannelId] = frozenset()
    provider: frozenset[ChannelId] = frozenset()
    since: Mapping[ChannelId, date] = field(default_factory=dict)
    """The day on which the window of a channel begins;
    a channel without an entry is visible from its beginning.
    """


@dataclass(frozen=True, slots=True)
class Forwarding:
    """How often one channel has forwarded another."""

    channel_id: ChannelId
    source_id: ChannelId
    posts: int
    first_day: date
    last_day: date


@dataclass(frozen=True, slots=True)
class Appearance:
    """A post in which the requested item appears."""

    post_id: PostId
    posted_at: datetime
