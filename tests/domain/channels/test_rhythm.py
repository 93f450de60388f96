import math
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.channels.rhythm import (
    BURST_MEMORY_SECONDS,
    DAY,
    DAYS_A_WEEK,
    FADING,
    FLAT,
    FOLLOWING,
    HOUR,
    SHORTEST_SECONDS,
    TRIM_HIGHEST,
    TRIM_LOWEST,
    Profile,
    Rhythm,
    adjust_trim,
    after_posts,
    base,
    hour_of_week,
    new_rhythm,
    price,
    profile_of,
    rate,
    wait_seconds,
)

MONDAY = 1_767_571_200.0
NEVER = 1000 * DAY

ages = st.lists(st.floats(0.0, 20 * DAY), max_size=30)
prices = st.floats(0.1, 1e6)
profiles = st.lists(st.floats(0.05, 8.0), min_size=48, max_size=48)
counts = st.lists(st.integers(0, 500), min_size=48, max_size=48)
moments = st.floats(MONDAY, MONDAY + 14 * DAY)


def usual(posts_a_day: float, now: float = MONDAY) -> Rhythm:
    """A channel with that rate, whose last minutes were neither quiet nor loud."""
    known = Rhythm(since=-math.inf, level=posts_a_day * 7.5 - 0.5, level_at=now, burst=0.0, burst_at=now)
    return Rhythm(known.since, known.level, now, rate(known, now) * BURST_MEMORY_SECONDS, now)


def make_rhythm(posted: list[float], now: float) -> Rhythm:
    return new_rhythm(posted, now, since=now - 20 * DAY)


@pytest.mark.parametrize("posts_a_day", [0.5, 3.0, 40.0, 300.0])
def test_a_steady_channel_is_left_alone_for_one_over_the_square_root_of_its_rate(posts_a_day: float) -> None:
    waits = wait_seconds(usual(posts_a_day), FLAT, now=MONDAY, price=5.0, max_seconds=NEVER)
    assert waits == pytest.approx(math.sqrt(2 * 5.0 * DAY / posts_a_day), abs=0.1)


@given(posted=ages, profile=profiles, cost=prices, now=moments)
def test_the_posts_expected_meanwhile_have_waited_for_the_price(
    posted: list[float], profile: Profile, cost: float, now: float
) -> None:
    rhythm = make_rhythm([now - age for age in posted], now)
    waits = wait_seconds(rhythm, profile, now=now, price=cost, max_seconds=6 * HOUR)
    steps = 600
    middles = [waits * (number + 0.5) / steps for number in range(steps)]
    waited = sum(
        intensity(rhythm, profile, now, middle) * (waits - middle) * waits / steps for middle in middles
    )
    if SHORTEST_SECONDS < waits < 6 * HOUR:
        assert waited == pytest.approx(cost, rel=0.02)
    else:
        assert (waited >= cost * 0.98) == (waits == SHORTEST_SECONDS)


def intensity(rhythm: Rhythm, profile: Profile, now: float, later: float) -> float:
    hour = rate(rhythm, now) * profile[hour_of_week(now + later)]
    loud = FOLLOWING / BURST_MEMORY_SECONDS * rhythm.burst
    return hour + (loud - FOLLOWING * hour) * math.exp(-FADING * later)


@given(posted=ages, more=st.floats(0.0, 7 * DAY), profile=profiles, cost=prices, now=moments)
def test_one_more_post_never_makes_the_next_poll_later(
    posted: list[float], more: float, profile: Profile, cost: float, now: float
) -> None:
    few, many = (make_rhythm([now - age for age in some], now) for some in (posted, [*posted, more]))
    waits = [wait_seconds(rhythm, profile, now=now, price=cost, max_seconds=NEVER) for rhythm in (few, many)]
    assert waits[1] <= waits[0] + 0.2


@given(posted=ages, cost=prices, weight=st.sampled_from([0.25, 1.0, 4.0]), now=moments)
def test_a_channel_of_four_times_the_weight_pays_a_quarter_of_the_price(
    posted: list[float], cost: float, weight: float, now: float
) -> None:
    rhythm = make_rhythm([now - age for age in posted], now)
    weighed = wait_seconds(rhythm, FLAT, now=now, price=cost, weight=weight, max_seconds=NEVER)
    assert weighed == wait_seconds(rhythm, FLAT, now=now, price=cost / weight, max_seconds=NEVER)


def test_no_wait_is_shorter_than_the_shortest_or_longer_than_the_longest() -> None:
    assert wait_seconds(usual(300.0), FLAT, now=MONDAY, price=0.0, max_seconds=2000.0) == SHORTEST_SECONDS
    assert wait_seconds(usual(300.0), FLAT, now=MONDAY, price=1e-6, max_seconds=2000.0) == SHORTEST_SECONDS
    assert wait_seconds(usual(0.1), FLAT, now=MONDAY, price=1e6, max_seconds=2000.0) == 2000.0
    assert wait_seconds(usual(300.0), FLAT, now=MONDAY, price=50.0, max_seconds=2.0) == SHORTEST_SECONDS


def test_after_posts_come_more_and_after_quiet_minutes_fewer() -> None:
    calm = usual(10.0)
    loud = after_posts(calm, [MONDAY - 60.0, MONDAY - 30.0], MONDAY)
    waits = [
        wait_seconds(rhythm, FLAT, now=now, price=50.0, max_seconds=NEVER)
        for rhythm, now in ((loud, MONDAY), (calm, MONDAY), (calm, MONDAY + HOUR))
    ]
    assert waits[0] < 0.5 * waits[1]
    assert waits[1] < waits[2]


def test_a_channel_that_wakes_up_at_nine_is_looked_at_soon_after_nine() -> None:
    profile = profile_of([0] * 9 + [5000] * 10 + [0] * 5 + [0] * 24, FLAT)
    asleep = MONDAY + 4 * HOUR
    polled = asleep + wait_seconds(
        replace(usual(5.0, asleep), burst=0.0), profile, now=asleep, price=100.0, max_seconds=NEVER
    )
    assert MONDAY + 8 * HOUR < polled < MONDAY + 9.5 * HOUR


@given(posted=ages, cuts=st.lists(st.floats(0.0, 20 * DAY), max_size=4))
def test_it_does_not_matter_how_many_polls_found_the_posts(posted: list[float], cuts: list[float]) -> None:
    start = Rhythm(MONDAY, 3.0, MONDAY, 1.0, MONDAY)
    end = MONDAY + 20 * DAY
    times = sorted(MONDAY + age for age in posted)
    polls = [MONDAY, *sorted(MONDAY + cut for cut in cuts), end]
    piecewise = start
    for begin, now in pairwise(polls):
        piecewise = after_posts(piecewise, [at for at in times if begin < at <= now], now)
    at_once = after_posts(start, [at for at in times if at > MONDAY], end)
    assert piecewise.level == pytest.approx(at_once.level)
    assert piecewise.burst == pytest.approx(at_once.burst)


@given(posted=ages, empty=st.floats(1.0, DAY), cost=prices)
def test_a_poll_without_posts_has_nothing_to_write(posted: list[float], empty: float, cost: float) -> None:
    rhythm = make_rhythm([MONDAY - age for age in posted], MONDAY)
    now = MONDAY + empty
    waits = [
        wait_seconds(variant, FLAT, now=now, price=cost, max_seconds=NEVER)
        for variant in (rhythm, after_posts(rhythm, (), now))
    ]
    assert waits[0] == pytest.approx(waits[1], abs=0.2)


def test_of_an_unknown_channel_one_post_a_day_is_expected_and_soon_what_is_seen() -> None:
    assert rate(new_rhythm((), MONDAY, since=MONDAY), MONDAY) * DAY == 1.0
    for posts_a_day, expected in ((24, 23.5), (1, 1.0)):
        month = [MONDAY - number * DAY / posts_a_day for number in range(30 * posts_a_day)]
        assert rate(new_rhythm(month, MONDAY, since=MONDAY - 30 * DAY), MONDAY) * DAY == pytest.approx(
            expected, rel=0.1
        )


def test_a_channel_that_fell_silent_is_forgotten_slowly() -> None:
    rhythm = usual(20.0)
    assert rate(rhythm, MONDAY + 7 * DAY) == pytest.approx(rate(rhythm, MONDAY) / math.e, rel=0.01)


def test_a_post_from_a_clock_ahead_of_ours_counts_as_one_of_now() -> None:
    assert after_posts(usual(1.0), [MONDAY + HOUR], MONDAY) == after_posts(usual(1.0), [MONDAY], MONDAY)


@given(days=st.lists(st.floats(0.3, 200.0), min_size=1, max_size=20), per_second=st.floats(0.001, 0.01))
def test_the_price_makes_the_polls_of_steady_channels_fit_into_the_requests(
    days: list[float], per_second: float
) -> None:
    channels = [usual(posts_a_day) for posts_a_day in days]
    cost = price(sum(math.sqrt(base(channel, FLAT, MONDAY)) for channel in channels), per_second)
    waits = [wait_seconds(channel, FLAT, now=MONDAY, price=cost, max_seconds=NEVER) for channel in channels]
    assert sum(1 / wait for wait in waits) == pytest.approx(per_second, rel=0.01)


def test_late_polls_raise_the_price_early_ones_lower_it_and_an_outage_says_nothing() -> None:
    assert adjust_trim(1.0, [0.1] * 50, channel_count=100) > 1.0
    assert adjust_trim(1.0, [-0.1] * 50, channel_count=100) < 1.0
    assert adjust_trim(1.0, [8.0] * 1000, channel_count=100) == 1.0
    assert adjust_trim(1.0, (), channel_count=100) == 1.0


@given(
    trim=st.floats(TRIM_LOWEST, TRIM_HIGHEST),
    late=st.lists(st.floats(-1.0, 100.0)),
    channels=st.integers(1, 1000),
)
def test_the_correction_of_the_price_stays_within_its_bounds(
    trim: float, late: list[float], channels: int
) -> None:
    assert TRIM_LOWEST <= adjust_trim(trim, late, channel_count=channels) <= TRIM_HIGHEST


@given(own=counts, together=counts)
def test_a_profile_has_mean_one_over_the_week_and_no_hour_without_hope(
    own: list[int], together: list[int]
) -> None:
    profile = profile_of(own, profile_of(together, FLAT))
    assert sum(
        factor * days for factor, days in zip(profile, DAYS_A_WEEK, strict=True)
    ) / 168 == pytest.approx(1.0)
    assert min(profile) > 0.0


def test_few_posts_leave_the_profile_of_all_and_many_make_an_own_one() -> None:
    together = profile_of([100] * 12 + [300] * 12 + [50] * 24, FLAT)
    night = [1] * 6 + [0] * 18 + [0] * 24
    assert profile_of([0] * 48, together) == pytest.approx(together)
    assert profile_of(night, together)[3] < 2 * together[3]
    assert profile_of([1000 * count for count in night], together)[3] == pytest.approx(168 / 30, rel=0.02)


@given(at=st.floats(0.0, 4e9))
def test_the_hour_of_the_week_is_that_of_the_calendar(at: float) -> None:
    moment = datetime.fromtimestamp(at // 1, UTC)
    assert hour_of_week(at) == moment.hour + (24 if moment.weekday() >= 5 else 0)
