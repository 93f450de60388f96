"""How a channel is read: the mode, the start of the window, and how long silence is normal.

Times choose the mode and the window; message ids and the coverage ledger decide which posts are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from telegram_assistant.settings import ModeOverride, ParserSettings

EWMA_WEIGHT = 0.2
THIN_BELOW_POSTS = 20
FIXED_OVERLAP = timedelta(minutes=5)
MAX_OVERLAP = timedelta(minutes=10)
FALLBACK_THRESHOLD = timedelta(hours=1)
MAX_THRESHOLD = timedelta(hours=24)
NIGHT_FACTOR, WEEKEND_FACTOR = 1.5, 1.8
NIGHT_BEGINS, NIGHT_ENDS, SATURDAY = 22, 8, 6
PARKED_AFTER_FAILURES = 5
SHORTEST_PARKING, MAX_PARKING = timedelta(hours=1), timedelta(hours=24)
FIRST_PAUSE = timedelta(minutes=1)


class Mode(StrEnum):
    """Incremental reads new posts; historical reads its whole window again."""

    INCREMENTAL = "incremental"
    HISTORICAL = "historical"


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of the intervals between two posts, in seconds. An album is one post."""

    median: float
    p95: float
    ewma: float
    sample_count: int
    window_days: int
    calculated_at: datetime

    @property
    def thin(self) -> bool:
        """Whether there are too few posts to learn from."""
        return self.sample_count < THIN_BELOW_POSTS


def choose_mode(
    settings: ParserSettings,
    *,
    last_parsed_at: datetime | None,
    last_polled_at: datetime | None,
    now: datetime,
) -> tuple[Mode, bool]:
    """The mode, and whether it was forced because the channel was not read for too long."""
    if settings.mode is not ModeOverride.AUTO:
        return Mode(settings.mode.value), False
    if not settings.incremental or last_polled_at is None or last_parsed_at is None:
        return Mode.HISTORICAL, False
    if now - last_polled_at > timedelta(hours=settings.max_age_hours):
        return Mode.HISTORICAL, True
    return Mode.INCREMENTAL, False


def overlap_of(statistics: Statistics | None) -> timedelta:
    """How far before the last success a run starts, because a post may become visible late."""
    if statistics is None or statistics.thin:
        return FIXED_OVERLAP
    return min(max(timedelta(seconds=0.5 * statistics.p95), timedelta(minutes=2)), MAX_OVERLAP)


def start_of(
    mode: Mode,
    *,
    mark: datetime | None,
    last_parsed_at: datetime | None,
    overlap: timedelta,
    now: datetime,
    window: timedelta,
) -> datetime:
    """The time from which a run reads.

    The historical window is a minimum: older unread posts are read too.
    """
    read_until = mark or last_parsed_at
    if read_until is None:
        return now - window
    return read_until - overlap if mode is Mode.INCREMENTAL else min(now - window, read_until - overlap)


def quiet_hours(now: datetime, zone: ZoneInfo) -> tuple[bool, str]:
    """Whether silence is usual now, and why."""
    local_time = now.astimezone(zone)
    if _is_weekend(local_time):
        return True, "weekend"
    if _is_night(local_time):
        return True, "night_hours"
    return False, "normal"


def _is_weekend(local_time: datetime) -> bool:
    return local_time.isoweekday() >= SATURDAY


def _is_night(local_time: datetime) -> bool:
    return local_time.hour >= NIGHT_BEGINS or local_time.hour < NIGHT_ENDS


def threshold_of(statistics: Statistics | None, now: datetime, zone: ZoneInfo) -> timedelta:
    """How long silence may last before the channel is checked."""
    if statistics is None or statistics.thin:
        return FALLBACK_THRESHOLD
    usual_gap = min(max(timedelta(seconds=1.5 * statistics.p95), timedelta(minutes=30)), timedelta(hours=12))
    local_time = now.astimezone(zone)
    night = NIGHT_FACTOR if _is_night(local_time) else 1.0
    weekend = WEEKEND_FACTOR if _is_weekend(local_time) else 1.0
    return min(usual_gap * night * weekend, MAX_THRESHOLD)


def ewma_of(intervals: Sequence[float]) -> float:
    """The exponentially weighted moving average of the intervals, the oldest first."""
    average = intervals[0] if intervals else 0.0
    for interval_seconds in intervals[1:]:
        average += EWMA_WEIGHT * (interval_seconds - average)
    return average


def pause_after(failure_count: int) -> tuple[timedelta, bool]:
    """How long a channel pauses after so many failed runs in a row, and whether it is parked."""
    if failure_count < PARKED_AFTER_FAILURES:
        return FIRST_PAUSE * 2 ** (failure_count - 1), False
    return min(SHORTEST_PARKING * 2 ** min(failure_count - PARKED_AFTER_FAILURES, 10), MAX_PARKING), True
