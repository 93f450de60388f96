"""When posts are read once more after they were stored: often while they are young, ever more rarely later.

Most deletions and corrections come soon. A level says how often a channel is read again, and how far back; levels of
different channels do not fall due together.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from telegram_assistant.domain.ids import ChannelId

SECOND_LOOK = timedelta(minutes=10)
"""So long after the first look, what was missed by many at once is missed for good."""
MAX_GONE, MAX_GONE_SHARE = 20, 0.2
"""More than that gone at once waits for a second look: it may be Telegram's trouble and not an editor's."""


class Level(NamedTuple):
    """Everything younger than `depth` is read again once per `period`."""

    period: timedelta
    depth: timedelta


FRESH = timedelta(hours=1)
"""Posts so young are looked at by every poll of a channel that the account has not joined: the page is there anyway."""
LEVELS = (
    Level(timedelta(hours=1), timedelta(hours=6)),
    Level(timedelta(hours=6), timedelta(days=2)),
    Level(timedelta(days=2), timedelta(days=7)),
    Level(timedelta(days=10), timedelta(days=30)),
)
_SPREAD = 2_654_435_761
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def depth_due(channel_id: ChannelId, rechecked_at: datetime, now: datetime) -> timedelta | None:
    """How far back the channel is to be read again now; None when it need not be."""
    due = [level.depth for level in LEVELS if _turn(channel_id, level.period, now) > _turn(channel_id, level.period, rechecked_at)]
    return max(due, default=None)


def _turn(channel_id: ChannelId, period: timedelta, moment: datetime) -> int:
    offset = timedelta(seconds=channel_id * _SPREAD % int(period.total_seconds()))
    return (moment - _EPOCH + offset) // period
