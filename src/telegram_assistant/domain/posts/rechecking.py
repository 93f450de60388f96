"""When stored posts are read again: often while they are young, less and less often later.

Most deletions and corrections come soon. A level defines how often a channel is read again, and how far back;
levels of different channels are not due at the same time.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from telegram_assistant.domain.ids import ChannelId

SECOND_LOOK = timedelta(minutes=10)
"""Posts missed in large numbers count as deleted if a look so long after the first one misses them too."""
MAX_GONE, MAX_GONE_SHARE = 20, 0.2
"""More missing posts at once await a second look: the cause may be a fault at Telegram and not an editor."""


class Level(NamedTuple):
    """Posts younger than `depth` are read again once per `period`."""

    period: timedelta
    depth: timedelta


FRESH = timedelta(hours=1)
"""Every poll of a channel that the account has not joined rechecks posts so young:
the poll has fetched their page anyway.
"""
LEVELS = (
    Level(timedelta(hours=1), timedelta(hours=6)),
    Level(timedelta(hours=6), timedelta(days=2)),
    Level(timedelta(days=2), timedelta(days=7)),
    Level(timedelta(days=10), timedelta(days=30)),
)
_SPREAD = 2_654_435_761
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def depth_due(channel_id: ChannelId, rechecked_at: datetime, now: datetime) -> timedelta | None:
    """How far back the channel is due to be read again now; None if it is not due."""
    due_depths = [
        level.depth
        for level in LEVELS
        if _turn(channel_id, level.period, now) > _turn(channel_id, level.period, rechecked_at)
    ]
    return max(due_depths, default=None)


def _turn(channel_id: ChannelId, period: timedelta, moment: datetime) -> int:
    offset = timedelta(seconds=channel_id * _SPREAD % int(period.total_seconds()))
    return (moment - _EPOCH + offset) // period
