"""When a person wants a digest, of which length, and where."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

MAX_TIMES = 6
LOOK_BACK_DAYS = 8
"""A plan names a moment at least once a week."""
EVERY_DAY = frozenset(range(1, 8))
PLAN_WRONG = Reason("digest_plan_wrong", "write digest times like 08:00, and days from 1 (Monday) to 7")


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
    """The receivers of digests besides the page."""
    zone: str = "UTC"


def make_plan(
    times: Iterable[time],
    *,
    weekdays: Iterable[int] = EVERY_DAY,
    length: DigestLength = DigestLength.NORMAL,
    zone: str,
    receivers: Iterable[UUID] = (),
) -> DigestPlan:
    """Each time once, to the minute and in order; no day of the week means every day.

    Raises Rejected for an unknown zone or too many times.
    """
    minutes = {at.replace(second=0, microsecond=0, tzinfo=None) for at in times}
    if len(minutes) > MAX_TIMES:
        raise Rejected(Reason("digest_plan_long", "at most {most} digests a day", most=MAX_TIMES))
    try:
        known_zone = ZoneInfo(zone).key
    except (ValueError, ZoneInfoNotFoundError) as error:
        raise Rejected(PLAN_WRONG) from error
    return DigestPlan(
        tuple(sorted(minutes)),
        frozenset(weekdays) & EVERY_DAY or EVERY_DAY,
        length,
        tuple(dict.fromkeys(receivers)),
        known_zone,
    )


def parse_plan(
    times: Iterable[str],
    *,
    weekdays: Iterable[str | int],
    length: str,
    zone: str,
    receivers: Iterable[UUID] = (),
) -> DigestPlan:
    """Reads what a person typed; an empty time counts as none.

    Raises Rejected for a time that is no `HH:MM`, a day that is no number, or an unknown length or zone.
    """
    try:
        parsed_times = [time.fromisoformat(text) for text in times if text]
        parsed_weekdays = [int(weekday) for weekday in weekdays]
        parsed_length = DigestLength(length)
    except ValueError as error:
        raise Rejected(PLAN_WRONG) from error
    return make_plan(
        parsed_times, weekdays=parsed_weekdays, length=parsed_length, zone=zone, receivers=receivers
    )


def latest_moment(plan: DigestPlan, *, zone: ZoneInfo, now: datetime) -> datetime | None:
    """The last moment at or before `now` that the plan names.

    A time that a change of clocks skips or repeats happens once.
    """
    today = now.astimezone(zone).date()
    days = [today - timedelta(days=days_back) for days_back in range(LOOK_BACK_DAYS)]
    moments = [
        datetime.combine(day, at, zone).astimezone(UTC)
        for day in days
        if day.isoweekday() in plan.weekdays
        for at in plan.times
    ]
    return max((moment for moment in moments if moment <= now), default=None)


def next_moment(plan: DigestPlan, *, zone: ZoneInfo, now: datetime) -> datetime | None:
    """The first moment after `now` that the plan names."""
    today = now.astimezone(zone).date()
    moments = [
        datetime.combine(day, at, zone).astimezone(UTC)
        for day in (today + timedelta(days=ahead) for ahead in range(LOOK_BACK_DAYS))
        if day.isoweekday() in plan.weekdays
        for at in plan.times
    ]
    return min((moment for moment in moments if moment > now), default=None)
