"""Keywords that trend: names and tags that many channels mention at once, far more often than at this hour of
the week before.

A mention is an hour in which a channel posts about a keyword, however many posts it takes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from math import exp, lgamma, log, log1p

from telegram_assistant.domain.ids import PostId

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
CHART = timedelta(hours=12)
"""Of what is a trend now; that of a day shows the day."""
WEEKS = 4
MIN_CHANNELS = 5
MIN_SURPRISE = 4.0
"""Once in ten thousand times.

A name that was never mentioned in four weeks needs five channels, one that was needs more.
"""
MIN_TIMES = 3.0
"""Channels repeat each other, so counts vary more than those of independent events:
many mentions are surprising soon, and half of them usual.
"""
PRIOR = 0.5
"""Mentions that are added to those of all weeks: what was never mentioned is not impossible."""
SHARED = 0.5
"""Keywords with this share of common posts are about the same."""
MAX_KEYWORDS = 5
"""Of one trend."""
MAX_POSTS = 30
"""That explain a trend: the first of each channel."""


class KeywordKind(StrEnum):
    """A name has one key in all scripts and grammatical cases; a tag is its own."""

    NAME = "name"
    TAG = "tag"


@dataclass(frozen=True, slots=True, order=True)
class Keyword:
    """A name or tag whose mentions are counted."""

    kind: KeywordKind
    key: str


@dataclass(frozen=True, slots=True)
class KeywordCount:
    """The mentions of a keyword in a period, and in the same hours one to four weeks before."""

    keyword: Keyword
    channels: int
    mentions: int
    before: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KeywordCounts:
    """All keywords of a period that enough channels mention.

    `weeks` is how much of the weeks before is known, measured by this period's posts.
    """

    weeks: float
    counts: tuple[KeywordCount, ...]


@dataclass(frozen=True, slots=True)
class WrittenKeyword:
    """A keyword and how it is written: a name in the words of a post, a tag as it is."""

    keyword: Keyword
    text: str


@dataclass(frozen=True, slots=True)
class KeywordTrend:
    """Keywords of the same posts. The figures are those of the first keyword."""

    keywords: tuple[WrittenKeyword, ...]
    channels: int
    mentions: int
    usual: float
    """Mentions in the same hours of a usual week."""
    pace: tuple[int, ...]
    """Channels per hour."""
    usual_pace: tuple[float, ...]
    posts: tuple[PostId, ...]
    """Those that explain it, the first of each channel."""


@dataclass(frozen=True, slots=True)
class TrendDay:
    """The trends of a day in UTC."""

    day: date
    trends: tuple[KeywordTrend, ...]


def weeks_known(mention_count: int, before: Iterable[int]) -> float:
    """How many of the weeks before are known, given the mentions of all keywords.

    A tenant that followed half of the channels then knows half of each week.
    """
    return sum(before) / mention_count if mention_count else 0.0


def usual_of(earlier_counts: Iterable[int], weeks: float) -> float:
    """The mentions of a usual week."""
    return (sum(earlier_counts) + PRIOR) / weeks if weeks else 0.0


def surprise_of(mention_count: int, before: Iterable[int], weeks: float) -> float:
    """How improbable so many mentions are, as the number of zeros: 4 is once in 10,000 times. 0 if they are
    usual, or if nothing is known.

    Mentions are taken to come at a steady rate, which is known from the weeks before only: a negative
    binomial distribution.
    """
    earlier_count = sum(before) + PRIOR
    if weeks <= 0 or mention_count * weeks <= earlier_count:
        return 0.0
    log_share_before = -log1p(
        weeks
    )  # of the probability that the next mention falls into this period, not into the weeks before
    first = (
        lgamma(mention_count + earlier_count)
        - lgamma(earlier_count)
        - lgamma(mention_count + 1)
        + earlier_count * (log(weeks) + log_share_before)
        + mention_count * log_share_before
    )
    tail, term, count = 1.0, 1.0, mention_count
    while term > tail * 1e-9:
        term *= (count + earlier_count) / (count + 1) * exp(log_share_before)
        tail += term
        count += 1
    return max(0.0, -(first + log(tail)) / log(10))


def trending(keyword_counts: KeywordCounts) -> tuple[KeywordCount, ...]:
    """The keywords that trend, the most surprising first."""
    judged_keywords = [
        (surprise_of(count.mentions, count.before, keyword_counts.weeks), count)
        for count in keyword_counts.counts
        if count.channels >= MIN_CHANNELS
    ]
    surprising = [
        (surprise, count)
        for surprise, count in judged_keywords
        if surprise >= MIN_SURPRISE
        and count.mentions >= MIN_TIMES * usual_of(count.before, keyword_counts.weeks)
    ]
    return tuple(count for _, count in sorted(surprising, key=lambda pair: (-pair[0], pair[1].keyword)))


def is_about(post_ids: frozenset[PostId], other_post_ids: Iterable[PostId]) -> bool:
    """Whether most of the posts are among the others."""
    return len(post_ids.intersection(other_post_ids)) >= SHARED * len(post_ids)


def gather(posts_by_keyword: Sequence[tuple[Keyword, frozenset[PostId]]]) -> tuple[tuple[Keyword, ...], ...]:
    """Keywords of the same posts together, each group under its first keyword:
    of one event several names are mentioned.
    """
    groups: list[tuple[frozenset[PostId], list[Keyword]]] = []
    for keyword, post_ids in posts_by_keyword:
        matching_group = next((keywords for lead, keywords in groups if is_about(post_ids, lead)), None)
        if matching_group is None:
            groups.append((post_ids, [keyword]))
        else:
            matching_group.append(keyword)
    return tuple(tuple(keywords[:MAX_KEYWORDS]) for _, keywords in groups)
