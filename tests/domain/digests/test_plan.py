"""When digests come."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.digests.plan import (
    EVERY_DAY,
    DigestLength,
    DigestPlan,
    latest_moment,
    make_plan,
    next_moment,
    parse_plan,
)
from telegram_assistant.errors import Rejected

MOSCOW, BERLIN = ZoneInfo("Europe/Moscow"), ZoneInfo("Europe/Berlin")
MORNING = DigestPlan((time(8),))


@pytest.mark.parametrize(
    ("plan", "zone", "now", "expected"),
    [
        (MORNING, MOSCOW, "2026-11-16T05:00+00:00", "2026-11-16T05:00+00:00"),
        (MORNING, MOSCOW, "2026-11-16T04:59+00:00", "2026-11-15T05:00+00:00"),
        (DigestPlan((time(8), time(20))), MOSCOW, "2026-11-16T18:00+00:00", "2026-11-16T17:00+00:00"),
        (DigestPlan((time(8),), frozenset({1})), MOSCOW, "2026-11-18T12:00+00:00", "2026-11-16T05:00+00:00"),
        (
            DigestPlan((time(2, 30),)),
            BERLIN,
            "2026-03-29T12:00+00:00",
            "2026-03-29T01:30+00:00",
        ),  # the clocks skip it
        (
            DigestPlan((time(2, 30),)),
            BERLIN,
            "2026-10-25T12:00+00:00",
            "2026-10-25T00:30+00:00",
        ),  # the clocks repeat it
    ],
)
def test_the_last_moment_of_a_plan_is_told_in_the_persons_zone(
    plan: DigestPlan, zone: ZoneInfo, now: str, expected: str
) -> None:
    assert latest_moment(plan, zone=zone, now=datetime.fromisoformat(now)) == datetime.fromisoformat(expected)


def test_without_times_there_is_no_moment() -> None:
    assert latest_moment(DigestPlan(), zone=MOSCOW, now=datetime(2026, 11, 16, tzinfo=UTC)) is None


@given(
    times=st.lists(st.times(), min_size=1, max_size=4),
    days=st.frozensets(st.integers(1, 7), min_size=1),
    now=st.datetimes(
        datetime(2026, 1, 1),  # noqa: DTZ001 -- hypothesis adds the zone
        datetime(2028, 1, 1),  # noqa: DTZ001 -- as above
        timezones=st.just(UTC),
    ),
)
def test_every_plan_names_a_moment_of_the_last_eight_days_and_none_in_the_future(
    times: list[time], days: frozenset[int], now: datetime
) -> None:
    moment = latest_moment(DigestPlan(tuple(times), days), zone=BERLIN, now=now)
    assert moment is not None
    assert 0 <= (now - moment).total_seconds() <= 8 * 86_400


def test_what_a_person_types_is_read_into_a_plan() -> None:
    typed = parse_plan(
        ["19:30", "", "08:00", "08:00"], weekdays=["5", "1"], length="short", zone="Europe/Moscow"
    )
    assert typed == DigestPlan(
        (time(8), time(19, 30)), frozenset({1, 5}), DigestLength.SHORT, zone="Europe/Moscow"
    )
    assert parse_plan([], weekdays=[], length="long", zone="UTC").weekdays == EVERY_DAY


@pytest.mark.parametrize(
    ("times", "weekdays", "length", "zone"),
    [
        (["late"], ["1"], "short", "UTC"),
        (["08:00"], ["Monday"], "short", "UTC"),
        (["08:00"], ["1"], "endless", "UTC"),
        (["08:00"], ["1"], "short", "Europe/Halbrook"),
    ],
)
def test_what_is_no_plan_is_refused(times: list[str], weekdays: list[str], length: str, zone: str) -> None:
    with pytest.raises(Rejected) as refused:
        parse_plan(times, weekdays=weekdays, length=length, zone=zone)
    assert refused.value.reason.code == "digest_plan_wrong"


def test_a_plan_counts_times_to_the_minute_and_has_a_few_at_most() -> None:
    assert make_plan([time(8, 0, 30), time(8, tzinfo=UTC)], zone="UTC").times == (time(8),)
    with pytest.raises(Rejected, match="digests a day"):
        make_plan([time(hour) for hour in range(7)], zone="UTC")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-11-16T04:59:00+00:00", "2026-11-16T05:00:00+00:00"),
        ("2026-11-16T05:00:00+00:00", "2026-11-23T05:00:00+00:00"),
    ],
)
def test_the_next_moment_lies_ahead_on_a_day_of_the_plan(now: str, expected: str) -> None:
    plan = make_plan([time(8, 0)], weekdays=[1], zone="Europe/Moscow")
    moment = next_moment(plan, zone=MOSCOW, now=datetime.fromisoformat(now))
    assert moment == datetime.fromisoformat(expected)
    assert next_moment(DigestPlan(), zone=MOSCOW, now=datetime.fromisoformat(now)) is None
