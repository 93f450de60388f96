"""When channels post: heavy-tailed rates, and a rhythm of day and week.

Time is stretched so that a channel posts evenly in *busy hours*; a night has few of them, a working morning
many.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from statistics import NormalDist

from telegram_simulator.world.chance import draw, share

MEDIAN_PER_DAY, SPREAD = 3.0, 1.6
SLOWEST_PER_DAY, FASTEST_PER_DAY = 0.05, 300.0
HOURS_PER_WEEK = 168
EPOCH = 345_600
"""The first Monday of Unix time, so that weeks begin on Mondays."""

# Busy hours per hour of a working day, and how much of it is left on a weekend.
PROFILES = (
    ((1, 1, 1, 1, 1, 2, 5, 9, 12, 13, 12, 12, 13, 12, 12, 12, 12, 11, 10, 8, 6, 4, 3, 2), 0.55),  # a newsroom
    ((0, 0, 0, 0, 0, 0, 1, 4, 12, 15, 15, 13, 10, 13, 14, 13, 11, 7, 3, 1, 1, 0, 0, 0), 0.15),  # an office
    (
        (2, 1, 1, 0, 0, 1, 2, 5, 7, 8, 8, 9, 10, 9, 8, 8, 9, 11, 13, 15, 15, 13, 9, 5),
        1.2,
    ),  # an evening person
    (
        (5, 4, 4, 3, 3, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 6, 5),
        1.0,
    ),  # a robot with people in it
    ((1, 0, 0, 0, 0, 0, 3, 14, 18, 8, 3, 2, 8, 10, 4, 2, 2, 5, 14, 16, 8, 3, 1, 1), 0.7),  # three times a day
    ((8, 6, 4, 2, 1, 0, 0, 0, 1, 3, 5, 6, 7, 7, 7, 8, 8, 9, 10, 11, 12, 12, 11, 10), 1.1),  # a night bird
)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """One channel's habits."""

    per_day: float
    profile: int
    shift_hours: float


def rhythm_of(seed: int, channel: int) -> Rhythm:
    pace, profile, shift, *_ = draw(seed, "rhythm", channel)
    quantile = min(max(share(pace), 1e-9), 1 - 1e-9)
    per_day = MEDIAN_PER_DAY * math.exp(SPREAD * NormalDist().inv_cdf(quantile))
    return Rhythm(
        min(max(per_day, SLOWEST_PER_DAY), FASTEST_PER_DAY), profile % len(PROFILES), share(shift) * 6 - 3
    )


@cache
def _busy_until(profile: int) -> tuple[float, ...]:
    """Busy hours from the week's begin to each of its hours; a week has as many as it has hours."""
    day, weekend = PROFILES[profile]
    hours = [weight * (weekend if number >= 5 else 1.0) + 0.05 for number in range(7) for weight in day]
    scale = HOURS_PER_WEEK / sum(hours)
    return tuple(accumulate((weight * scale for weight in hours), initial=0.0))


def busy_at(rhythm: Rhythm, moment: float) -> float:
    """Busy hours from the epoch to a moment of Unix time."""
    hours = (moment - EPOCH) / 3600 + rhythm.shift_hours
    week, hour = divmod(hours, HOURS_PER_WEEK)
    until = _busy_until(rhythm.profile)
    whole_hours = min(int(hour), HOURS_PER_WEEK - 1)
    return (
        week * HOURS_PER_WEEK
        + until[whole_hours]
        + (until[whole_hours + 1] - until[whole_hours]) * (hour - whole_hours)
    )


def moments_at(rhythm: Rhythm, busy: Iterable[float]) -> list[int]:
    """The moments, in whole seconds, at which so many busy hours have passed: the inverse of busy_at."""
    until, shift, moments = _busy_until(rhythm.profile), rhythm.shift_hours, []
    for hours in busy:
        week, remaining_hours = divmod(hours, HOURS_PER_WEEK)
        whole_hours = min(bisect_right(until, remaining_hours) - 1, HOURS_PER_WEEK - 1)
        before = until[whole_hours]
        hour = whole_hours + (remaining_hours - before) / (until[whole_hours + 1] - before)
        moments.append(int(EPOCH + (week * HOURS_PER_WEEK + hour - shift) * 3600))
    return moments
