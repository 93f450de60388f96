"""How channels post, made up: rates, days, weekends, bursts, drift and silence, with the truth beside the
posts.

Nothing here is fitted to Telegram's own figures, because nobody publishes them per channel. Rates are
log-normal, each channel keeps one of six daily rhythms in its own variation, and every post may bring others
(Hawkes).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from telegram_assistant.domain.channels.rhythm import DAY

type Floats = NDArray[np.float64]

BIN_SECONDS = 600.0
BINS_A_DAY = 144
MONDAY = 1_767_571_200.0
"""2026-01-05, 00:00 UTC: virtual time begins on a Monday."""


class Habit(NamedTuple):
    """How the posts of a channel spread over a day: peaks (hour, width in hours, height), what never sleeps,
    and the weekend's part.
    """

    share: float
    peaks: tuple[tuple[float, float, float], ...]
    awake: float
    weekend: float


HABITS = (
    Habit(0.30, ((10.0, 2.5, 1.0), (15.0, 3.5, 1.0), (20.5, 2.0, 0.9)), awake=0.020, weekend=0.85),  # news
    Habit(0.20, ((11.0, 2.0, 1.0), (15.5, 2.5, 0.9)), awake=0.015, weekend=0.15),  # an office
    Habit(0.16, ((9.0, 1.7, 1.0), (14.0, 3.0, 0.4)), awake=0.020, weekend=0.75),  # a morning paper
    Habit(0.16, ((19.5, 2.5, 1.0), (13.0, 2.5, 0.3)), awake=0.020, weekend=1.20),  # an evening show
    Habit(
        0.12, ((9.0, 0.5, 1.0), (13.5, 0.5, 1.0), (18.5, 0.5, 1.0)), awake=0.016, weekend=0.85
    ),  # posts on schedule
    Habit(0.06, (), awake=1.0, weekend=1.00),  # a machine
)
"""A flat interval would be 0 to 89 % worse for them than one that follows their day;
together their peak is 11 times their trough.
"""
SHARPER_HABITS = (
    Habit(0.30, ((10.0, 2.5, 1.0), (15.0, 3.5, 1.0), (20.5, 2.0, 0.9)), awake=0.020, weekend=0.85),
    Habit(0.20, ((10.5, 1.5, 1.0), (15.0, 2.5, 0.9)), awake=0.005, weekend=0.15),
    Habit(0.15, ((8.5, 1.2, 1.0), (13.0, 2.5, 0.3)), awake=0.010, weekend=0.70),
    Habit(0.15, ((19.5, 2.2, 1.0), (13.0, 2.0, 0.3)), awake=0.020, weekend=1.20),
    Habit(0.12, ((9.0, 0.4, 1.0), (13.0, 0.4, 1.0), (18.0, 0.4, 1.0)), awake=0.010, weekend=0.80),
    Habit(0.08, (), awake=1.0, weekend=1.00),
)
"""The same together, but each with narrower peaks and deeper nights (0 to 123 % worse):
they show how much hangs on the shape of a day.
"""
PHASE_HOURS = 1.2
NOISE = 0.25


@dataclass(frozen=True)
class Nature:
    """How the channels of a world are; the defaults are the reference."""

    channels: int = 1000
    habits: tuple[Habit, ...] = HABITS
    spread: float = 1.6
    branching: float = 0.35
    median_a_day: float = 3.0
    slowest_a_day: float = 0.05
    fastest_a_day: float = 300.0
    branching_spread: float = 0.12
    decay_seconds: float = 600.0
    decay_spread: float = 0.5
    drift_memory: float = 0.9
    drift_step: float = 0.15
    silences_a_day: float = 0.003
    silence_days: float = 4.0


@dataclass(frozen=True)
class World:
    """A simulated world: the posts that policies may find, and the truth that only an oracle sees."""

    begin: float
    end: float
    posts: list[list[float]]
    mean: Floats
    """Mean intensity per channel and bin, posts per second."""
    excited: Floats
    """The part of it that follows from earlier posts."""
    branching: Floats
    decay: Floats

    def describe(self) -> dict[str, float]:
        """Figures of this world to compare with known figures of real channels."""
        days = self.mean.shape[1] // BINS_A_DAY
        by_day = self.mean[:, : days * BINS_A_DAY].sum(axis=0).reshape(days, BINS_A_DAY)
        by_hour = by_day.mean(axis=0).reshape(24, -1).mean(axis=1)
        weekend = at_weekend(self.begin, days)
        by_channel = np.sort(self.mean.mean(axis=1))
        return {
            "posts_per_channel_day": float(by_channel.mean() * DAY),
            "share_of_busiest_tenth": float(by_channel[-len(by_channel) // 10 :].sum() / by_channel.sum()),
            "peak_to_trough": float(by_hour.max() / by_hour.min()),
            "weekend_to_weekday": float(by_day[weekend].mean() / by_day[~weekend].mean()),
        }


def make_world(nature: Nature, *, begin: float, end: float, seed: int) -> World:
    random = np.random.default_rng(seed)
    bins = round((end - begin) / BIN_SECONDS)
    rates = _rates(nature, random) / DAY
    branching = np.clip(random.normal(nature.branching, nature.branching_spread, nature.channels), 0.0, 0.85)
    decay = 1.0 / (nature.decay_seconds * np.exp(random.normal(0.0, nature.decay_spread, nature.channels)))
    levels = _levels(nature, math.ceil(bins / BINS_A_DAY), random)
    own = _own_intensity(
        rates * (1.0 - branching), levels, nature.habits, begin=begin, bins=bins, random=random
    )
    excited = _excite(own, branching, decay)
    return World(
        begin,
        begin + bins * BIN_SECONDS,
        _posts(own, branching, decay, begin, random),
        own + excited,
        excited,
        branching,
        decay,
    )


def at_weekend(begin: float, days: int) -> NDArray[np.bool_]:
    """Of each day; the epoch began on a Thursday."""
    result: NDArray[np.bool_] = (begin // DAY + 3 + np.arange(days)) % 7 >= 5
    return result


def _rates(nature: Nature, random: np.random.Generator) -> Floats:
    """Posts a day; what falls outside of the bounds is drawn again."""
    rates: Floats = np.empty(0)
    while len(rates) < nature.channels:
        drawn = nature.median_a_day * np.exp(random.normal(0.0, nature.spread, nature.channels))
        rates = np.concatenate(
            [rates, drawn[(drawn >= nature.slowest_a_day) & (drawn <= nature.fastest_a_day)]]
        )
    return rates[: nature.channels]


def _levels(nature: Nature, days: int, random: np.random.Generator) -> Floats:
    """A factor per channel and day: a slow drift, and silences of some days."""
    lasting = nature.drift_step / np.sqrt(1.0 - nature.drift_memory**2)
    drift = np.empty((nature.channels, days))
    drift[:, 0] = random.normal(0.0, lasting, nature.channels)
    for day in range(1, days):
        drift[:, day] = nature.drift_memory * drift[:, day - 1] + random.normal(
            0.0, nature.drift_step, nature.channels
        )
    factors: Floats = np.exp(drift - lasting**2 / 2)
    for channel, day in np.argwhere(random.random((nature.channels, days)) < nature.silences_a_day):
        factors[channel, day : day + max(1, round(random.exponential(nature.silence_days)))] = 0.0
    return factors


def _own_intensity(
    rates: Floats,
    levels: Floats,
    choice: tuple[Habit, ...],
    *,
    begin: float,
    bins: int,
    random: np.random.Generator,
) -> Floats:
    """Posts per second that no other post brought, in each bin."""
    count = len(levels)
    habits = [choice[kind] for kind in random.choice(len(choice), count, p=[habit.share for habit in choice])]
    phases = random.normal(0.0, PHASE_HOURS, count)
    noise = np.exp(random.normal(0.0, NOISE, (count, 24)))
    hours = (np.arange(BINS_A_DAY) + 0.5) * 24 / BINS_A_DAY
    day = np.stack([_shape(habit, hours - phase) for habit, phase in zip(habits, phases, strict=True)])
    day *= np.repeat(noise, BINS_A_DAY // 24, axis=1)
    weekend = np.array([habit.weekend for habit in habits])
    day *= (rates / day.mean(axis=1) * 7 / (5 + 2 * weekend))[:, None]
    factors = levels * np.where(at_weekend(begin, levels.shape[1]), weekend[:, None], 1.0)
    result: Floats = (factors[:, :, None] * day[:, None, :]).reshape(count, -1)[:, :bins]
    return result


def _shape(habit: Habit, hours: Floats) -> Floats:
    shape = np.full_like(hours, habit.awake)
    for centre, width, height in habit.peaks:
        away = (hours - centre + 12) % 24 - 12
        shape += height * np.exp(-0.5 * (away / width) ** 2)
    return shape


def _excite(own: Floats, branching: Floats, decay: Floats) -> Floats:
    """The mean of what follows from posts, at the middle of each bin:
    y' = -decay (1 - branching) y + branching decay own.
    """
    result = np.empty_like(own)
    lasting = branching / (1.0 - branching)
    half = np.exp(-decay * (1.0 - branching) * BIN_SECONDS / 2)
    state = lasting * own[:, 0]
    for number in range(own.shape[1]):
        goal = lasting * own[:, number]
        result[:, number] = goal + (state - goal) * half
        state = goal + (state - goal) * half**2
    return result


def _posts(
    own: Floats, branching: Floats, decay: Floats, begin: float, random: np.random.Generator
) -> list[list[float]]:
    """Publish times per channel, in order: those of their own accord,
    then generation after generation of those they bring.
    """
    counts = random.poisson(own * BIN_SECONDS)
    channel, number = (np.repeat(index, counts[counts > 0]) for index in np.nonzero(counts))
    at = begin + (number + random.random(len(number))) * BIN_SECONDS
    channels, times = [channel], [at]
    end = begin + own.shape[1] * BIN_SECONDS
    while len(at):
        children = random.poisson(branching[channel])
        channel, at = np.repeat(channel, children), np.repeat(at, children)
        at = at + random.exponential(1.0 / decay[channel])
        channel, at = channel[at < end], at[at < end]
        channels.append(channel)
        times.append(at)
    channel, at = np.concatenate(channels), np.concatenate(times)
    order = np.lexsort((at, channel))
    bounds = np.searchsorted(channel[order], np.arange(1, len(own)))
    return [part.tolist() for part in np.split(at[order], bounds)]
