"""Facets of a search: counts of the matches by channel, language, day, kind and tag."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from telegram_assistant.domain.ids import ChannelId

MAX_VALUES = 10
MAX_DAYS = 31


@dataclass(frozen=True, slots=True)
class Counted:
    """A matching post, with the values it is counted by."""

    channel_id: ChannelId
    day: date
    lang: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facet[T]:
    """A value, and how many posts have it."""

    value: T
    posts: int
    name: str = ""
    """The title of a channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The most frequent values first; days newest first."""

    posts: int = 0
    channels: tuple[Facet[ChannelId], ...] = ()
    languages: tuple[Facet[str], ...] = ()
    kinds: tuple[Facet[str], ...] = ()
    tags: tuple[Facet[str], ...] = ()
    days: tuple[Facet[date], ...] = ()


def facets_of(matches: Iterable[Counted]) -> Facets:
    posts = list(matches)
    days = Counter(post.day for post in posts)
    return Facets(
        posts=len(posts),
        channels=_most(post.channel_id for post in posts),
        languages=_most(post.lang for post in posts if post.lang),
        kinds=_most(post.kind for post in posts if post.kind),
        tags=_most(tag for post in posts for tag in post.tags),
        days=tuple(Facet(day, days[day]) for day in sorted(days, reverse=True)[:MAX_DAYS]),
    )


def _most[T: (str, ChannelId)](values: Iterable[T]) -> tuple[Facet[T], ...]:
    """The most frequent values; equal ones by value, so that the same posts give the same result."""
    counts = Counter(values)
    return tuple(
        Facet(value, counts[value])
        for value in sorted(counts, key=lambda value: (-counts[value], value))[:MAX_VALUES]
    )
