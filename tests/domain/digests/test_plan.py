"""When digests come."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.digests.plan import DigestPlan, latest_moment

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
    now=st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 -- hypothesis adds the zone
)
def test_every_plan_names_a_moment_of_the_last_eight_days_and_none_in_the_future(
    times: list[time], days: frozenset[int], now: datetime
) -> None:
    moment = latest_moment(DigestPlan(tuple(times), days), zone=BERLIN, now=now)
    assert moment is not None
    assert 0 <= (now - moment).total_seconds() <= 8 * 86_400
