"""When a person wants a digest, of which length, and where."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from uuid import UUID
from zoneinfo import ZoneInfo

MAX_TIMES = 6
LOOK_BACK_DAYS = 8
"""A plan names a moment at least once a week."""
EVERY_DAY = frozenset(range(1, 8))


class DigestLength(StrEnum):
    """How much a digest tells."""

    SHORT = "short"
    NORMAL = "normal"
    LONG = "long"

    @property
    def stories(self) -> int:
        return {DigestLength.SHORT: 5, DigestLength.NORMAL: 12, DigestLength.LONG: 25}[self]

    @property
    def sentences(self) -> int:
        """The most sentences of one story, its headline apart."""
        return {DigestLength.SHORT: 1, DigestLength.NORMAL: 2, DigestLength.LONG: 3}[self]


@dataclass(frozen=True, slots=True)
class DigestPlan:
    """Times of day in `zone`, on days of the week (1 is Monday). No times: no digests."""

    times: tuple[time, ...] = ()
    weekdays: frozenset[int] = EVERY_DAY
    length: DigestLength = DigestLength.NORMAL
    receivers: tuple[UUID, ...] = ()
    """Where digests go besides the page."""
    zone: str = "UTC"


def latest_moment(plan: DigestPlan, *, zone: ZoneInfo, now: datetime) -> datetime | None:
    """The last moment at or before `now` that the plan names.

    A time that a change of clocks skips or repeats happens once.
    """
    today = now.astimezone(zone).date()
    days = [today - timedelta(days=back) for back in range(LOOK_BACK_DAYS)]
    moments = [
        datetime.combine(day, at, zone).astimezone(UTC)
        for day in days
        if day.isoweekday() in plan.weekdays
        for at in plan.times
    ]
    return max((moment for moment in moments if moment <= now), default=None)
