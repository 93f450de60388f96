"""In which mode a channel is read, from when on, and what silence means."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.channels.parsing import (
    Mode,
    Statistics,
    choose_mode,
    ewma_of,
    overlap_of,
    pause_after,
    quiet_hours,
    start_of,
    threshold_of,
)
from telegram_assistant.settings import ModeOverride, ParserSettings

MOSCOW = ZoneInfo("Europe/Moscow")
NOW = datetime(2026, 11, 11, 9, 0, tzinfo=UTC)  # a Wednesday, noon in Moscow
HOUR = timedelta(hours=1)
USUAL = Statistics(median=600, p95=3600, ewma=700, sample_count=50, window_days=14, calculated_at=NOW)


def mode(**more: Any) -> tuple[Mode, bool]:
    read: dict[str, Any] = {name: more.pop(name, NOW - HOUR) for name in ("last_parsed_at", "last_polled_at")}
    return choose_mode(ParserSettings(**more), **read, now=NOW)


def test_a_channel_that_was_never_read_is_read_historically() -> None:
    assert mode(last_parsed_at=None, last_polled_at=None) == (Mode.HISTORICAL, False)


def test_a_quiet_channel_that_is_polled_stays_incremental() -> None:
    assert mode(last_parsed_at=NOW - 1000 * HOUR) == (Mode.INCREMENTAL, False)


@pytest.mark.turns("LPA_MAX_AGE_HOURS")
def test_a_channel_that_was_not_polled_for_too_long_is_forced() -> None:
    assert mode(last_polled_at=NOW - 49 * HOUR) == (Mode.HISTORICAL, True)
    assert mode(last_polled_at=NOW - 49 * HOUR, max_age_hours=72) == (Mode.INCREMENTAL, False)


@pytest.mark.turns("PARSER_MODE_OVERRIDE")
def test_an_operator_may_fix_the_mode() -> None:
    assert mode(mode=ModeOverride.HISTORICAL) == (Mode.HISTORICAL, False)
    assert mode(mode=ModeOverride.INCREMENTAL, last_polled_at=None) == (Mode.INCREMENTAL, False)


@pytest.mark.turns("FEATURE_INCREMENTAL_PARSING_ENABLED")
def test_without_the_feature_every_run_is_historical() -> None:
    assert mode(incremental=False) == (Mode.HISTORICAL, False)


@given(st.floats(0, 1e6), st.integers(0, 100))
def test_runs_overlap_by_two_to_ten_minutes(p95: float, posts: int) -> None:
    overlap = overlap_of(replace(USUAL, p95=p95, sample_count=posts))
    assert timedelta(minutes=2) <= overlap <= timedelta(minutes=10)
    if posts < 20:
        assert overlap == timedelta(minutes=5)


@pytest.mark.turns("PARSER_HISTORICAL_HOURS")
def test_the_historical_window_is_a_minimum_and_never_a_cut() -> None:
    window = timedelta(hours=ParserSettings(historical_hours=6).historical_hours)
    overlap = timedelta(minutes=5)
    long_ago, lately = NOW - 100 * HOUR, NOW - HOUR

    def start(mark: datetime | None, parsed: datetime | None, mode: Mode = Mode.HISTORICAL) -> datetime:
        return start_of(mode, mark=mark, last_parsed_at=parsed, overlap=overlap, now=NOW, window=window)

    assert start(None, None) == NOW - 6 * HOUR
    assert start(None, lately) == NOW - 6 * HOUR
    assert start(None, long_ago) == long_ago - overlap
    assert start(None, lately, Mode.INCREMENTAL) == lately - overlap
    assert start(long_ago, lately, Mode.INCREMENTAL) == long_ago - overlap


def test_a_threshold_follows_the_channel_and_the_clock() -> None:
    assert threshold_of(USUAL, NOW, MOSCOW) == timedelta(seconds=1.5 * 3600)
    night, weekend = datetime(2026, 11, 11, 22, 0, tzinfo=UTC), datetime(2026, 11, 14, 9, 0, tzinfo=UTC)
    assert threshold_of(USUAL, night, MOSCOW) == 1.5 * timedelta(seconds=1.5 * 3600)
    assert threshold_of(USUAL, weekend, MOSCOW) == 1.8 * timedelta(seconds=1.5 * 3600)
    assert threshold_of(replace(USUAL, p95=1e6), weekend, MOSCOW) == timedelta(hours=12) * 1.8
    assert threshold_of(
        replace(USUAL, p95=1e6), datetime(2026, 11, 14, 22, 0, tzinfo=UTC), MOSCOW
    ) == timedelta(hours=24)
    assert threshold_of(replace(USUAL, p95=1), NOW, MOSCOW) == timedelta(minutes=30)
    assert threshold_of(replace(USUAL, sample_count=19), weekend, MOSCOW) == HOUR
    assert threshold_of(None, weekend, MOSCOW) == HOUR


@pytest.mark.turns("QUIET_HOURS_TZ")
def test_quiet_hours_are_those_of_the_zone_that_was_set() -> None:
    moscow = ZoneInfo(ParserSettings().quiet_zone)
    assert quiet_hours(datetime(2026, 11, 11, 4, 59, tzinfo=UTC), moscow) == (True, "night_hours")
    assert quiet_hours(datetime(2026, 11, 11, 5, 0, tzinfo=UTC), moscow) == (False, "normal")
    assert quiet_hours(datetime(2026, 11, 11, 19, 0, tzinfo=UTC), moscow) == (True, "night_hours")
    assert quiet_hours(datetime(2026, 11, 13, 21, 0, tzinfo=UTC), moscow) == (True, "weekend")
    tokyo = ZoneInfo(ParserSettings(quiet_zone="Asia/Tokyo").quiet_zone)
    assert quiet_hours(datetime(2026, 11, 11, 5, 0, tzinfo=UTC), tokyo) == (False, "normal")
    assert quiet_hours(datetime(2026, 11, 11, 13, 0, tzinfo=UTC), tokyo) == (True, "night_hours")


def test_the_average_forgets() -> None:
    assert ewma_of([]) == 0
    assert ewma_of([100.0]) == 100
    assert ewma_of([100.0, 200.0]) == 120


def test_failures_pause_a_channel_and_five_park_it() -> None:
    assert [pause_after(failures) for failures in (1, 4, 5, 6, 30)] == [
        (timedelta(minutes=1), False),
        (timedelta(minutes=8), False),
        (HOUR, True),
        (2 * HOUR, True),
        (24 * HOUR, True),
    ]
