"""A channel's activity and how soon we know it: posts by hour of the week, its rhythm, freshness,
edits and deletions.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

DAYS_OF_WEEK = 7
HOURS_OF_DAY = 24
type WeekHours = tuple[tuple[int, ...], ...]
"""Posts per hour: seven days from Monday on, 24 hours each, in somebody's time zone."""


@dataclass(frozen=True, slots=True)
class PostRhythm:
    """The usual pause between two posts, and a long one, which 19 of 20 pauses stay below.

    An album is one post.
    """

    median_seconds: float
    long_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How soon posts were stored, of those posted since the tenant follows the channel."""

    since: datetime
    promised: timedelta
    posts: int
    on_time: int
    """Posts that were stored within the promised time."""
    median_seconds: float | None
    slowest_seconds: float | None

    @property
    def on_time_share(self) -> float | None:
        return self.on_time / self.posts if self.posts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelActivity:
    """A channel within the tenant's window; `since` is where the counts begin,
    `changed_since` where those of edits and deletions do.
    """

    followed_at: datetime
    since: datetime
    posts: int
    hours: WeekHours
    rhythm: PostRhythm | None
    freshness: Freshness
    changed_since: datetime
    edited: int
    deleted: int
    stored_posts: int
    """Everything that is stored, counted up to MAX_COUNTED."""

    def posts_per_day(self, now: datetime) -> float:
        return posts_per_day(self.posts, since=self.since, now=now)


def posts_per_day(post_count: int, *, since: datetime, now: datetime) -> float:
    """Over at least one day: the first hour of a new channel says nothing about its days."""
    return post_count / max(1.0, (now - since) / timedelta(days=1))


MAX_COUNTED = 10_000
