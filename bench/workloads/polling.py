"""Three ways to spend the same requests on the same channels, in virtual time: ours,
one that knows the truth, and a fixed tick.
"""

import heapq
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bench.workloads.activity import BIN_SECONDS, Floats, World
from telegram_assistant.domain.channels import rhythm
from telegram_assistant.domain.channels.rhythm import DAY, FLAT, HOUR, LOOK_AHEAD_SECONDS, Profile, Rhythm

POSTS_PER_PAGE = 100
TICK_SECONDS = 60.0
CLASSIC_TICK_SECONDS = 300.0
WEEK = 7 * DAY
WEEKS_REMEMBERED = 4


@dataclass(frozen=True)
class Budget:
    """When requests may go out, and which part of it is measured."""

    per_second: float
    at: Floats
    is_open: NDArray[np.bool_]
    measured_from: float
    measured_until: float

    def open_from(self, begin: float) -> list[float]:
        moments: list[float] = self.at[self.is_open & (self.at >= begin)].tolist()
        return moments

    @property
    def max_outage_seconds(self) -> float:
        return float(np.diff(self.at[self.is_open]).max() - 1.0 / self.per_second)


def make_budget(
    *,
    per_second: float,
    begin: float,
    end: float,
    measured: tuple[float, float],
    closed: Sequence[tuple[float, float]] = (),
) -> Budget:
    at = np.arange(begin, end, 1.0 / per_second)
    is_open = np.ones(len(at), dtype=np.bool_)
    for low, high in closed:
        is_open[np.searchsorted(at, low) : np.searchsorted(at, high)] = False
    return Budget(per_second, at, is_open, *measured)


def outages(*, begin: float, days: int, seed: int) -> list[tuple[float, float]]:
    """When no request goes out: three short waits a day that Telegram asks for, and an hour every week."""
    random = np.random.default_rng([seed, 1])
    short = [
        (at, at + random.uniform(30.0, 300.0)) for at in begin + random.uniform(0.0, days * DAY, 3 * days)
    ]
    long = [
        begin + week * WEEK + random.uniform(0.0, min(WEEK, days * DAY - week * WEEK) - HOUR)
        for week in range(math.ceil(days / 7))
    ]
    return short + [(at, at + HOUR) for at in long]


@dataclass
class Reader:
    """The view of a policy: a poll returns the posts published since the poll before.

    It also records how long posts waited.
    """

    posts: list[list[float]]
    budget: Budget
    begin: float
    waits_of: list[list[float]] = field(init=False)
    """By channel: how long each measured post has waited."""
    requests: int = 0
    empty: int = 0
    stalest_seconds: float = 0.0
    known_ids: list[int] = field(init=False)
    polled_at: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.known_ids = [bisect_right(posts, self.begin) for posts in self.posts]
        self.polled_at = [self.begin] * len(self.posts)
        self.waits_of = [[] for _ in self.posts]

    @property
    def waits(self) -> list[float]:
        return [wait for waits in self.waits_of for wait in waits]

    def poll(self, channel: int, now: float) -> Sequence[float]:
        if self.budget.measured_from <= now < self.budget.measured_until:
            self.requests += 1
            self.stalest_seconds = max(self.stalest_seconds, now - self.polled_at[channel])
        self.polled_at[channel] = now
        posts, known = self.posts[channel], self.known_ids[channel]
        if known == len(posts) or posts[known] > now:
            self.empty += self.budget.measured_from <= now < self.budget.measured_until
            return ()
        self.known_ids[channel] = bisect_right(posts, now, known)
        new_posts = posts[known : self.known_ids[channel]]
        self._note(channel, new_posts, now)
        return new_posts

    def close(self, now: float) -> None:
        """Counts posts that no poll found as waiting until `now`."""
        for channel, (posts, known) in enumerate(zip(self.posts, self.known_ids, strict=True)):
            self._note(channel, posts[known:], now)
        self.stalest_seconds = max(self.stalest_seconds, self.budget.measured_until - min(self.polled_at))

    def _note(self, channel: int, posted: Sequence[float], now: float) -> None:
        self.waits_of[channel] += [
            now - at for at in posted if self.budget.measured_from <= at < self.budget.measured_until
        ]


@dataclass
class Plan:
    """The state of the production policy: the rhythm and profile of each channel, and the present price."""

    rhythms: list[Rhythm]
    profiles: list[Profile]
    weights: Sequence[float]
    per_second: float
    tick_at: float
    hour_at: float
    night_at: float
    late: list[float] = field(default_factory=list)
    roots: float = 0.0
    trim: float = 1.0
    price: float = 0.0

    def tick(self, now: float, reader: Reader) -> None:
        if now >= self.night_at:
            self.profiles, self.night_at = learn_profiles(reader, now), self.night_at + DAY
        if now >= self.hour_at:
            bases = map(rhythm.base, self.rhythms, self.profiles, [now] * len(self.rhythms))
            self.roots = sum(
                math.sqrt(weight * base) for weight, base in zip(self.weights, bases, strict=True)
            )
            self.hour_at = now - now % HOUR + HOUR
        self.trim, self.late = rhythm.adjust_trim(self.trim, self.late, channel_count=len(self.rhythms)), []
        self.price = rhythm.price(self.roots, self.per_second, self.trim)
        self.tick_at = now - now % TICK_SECONDS + TICK_SECONDS


def fresh(
    world: World, budget: Budget, begin: float, *, max_seconds: float, weights: Sequence[float] = ()
) -> Reader:
    """The production policy: a queue by due time, the price of the hour, profiles anew every night.

    It learns from what its polls find.
    """
    weights = weights or [1.0] * len(world.posts)
    reader = Reader(world.posts, budget, begin)
    rhythms = [
        first_page(posts[:known], begin, world.begin)
        for posts, known in zip(world.posts, reader.known_ids, strict=True)
    ]
    plan = Plan(rhythms, [FLAT] * len(rhythms), weights, budget.per_second, begin, begin, begin)
    due = [(begin, channel) for channel in range(len(rhythms))]
    for now in budget.open_from(begin):
        if now >= plan.tick_at:
            plan.tick(now, reader)
        due_at, channel = due[0]
        if due_at > now + LOOK_AHEAD_SECONDS:
            continue
        if due_at > reader.polled_at[channel]:
            plan.late.append((now - due_at) / (due_at - reader.polled_at[channel]))
        if new_posts := reader.poll(channel, now):
            plan.rhythms[channel] = rhythm.after_posts(plan.rhythms[channel], new_posts, now)
        known, profile, weight = plan.rhythms[channel], plan.profiles[channel], weights[channel]
        wait = rhythm.wait_seconds(
            known, profile, now=now, price=plan.price, weight=weight, max_seconds=max_seconds
        )
        heapq.heapreplace(due, (now + wait, channel))
    reader.close(world.end)
    return reader


def first_page(posts: Sequence[float], now: float, channel_began: float) -> Rhythm:
    page = posts[-POSTS_PER_PAGE:]
    return rhythm.new_rhythm(page, now, since=page[0] if len(page) == POSTS_PER_PAGE else channel_began)


def learn_profiles(reader: Reader, now: float) -> list[Profile]:
    """From the whole weeks since the channels are followed, the last four at most."""
    weeks = min(WEEKS_REMEMBERED, int((now - reader.begin) // WEEK))
    counts = [[0] * 48 for _ in reader.posts]
    for channel, posts in enumerate(reader.posts):
        for at in posts[bisect_right(posts, now - weeks * WEEK) : reader.known_ids[channel]]:
            counts[channel][rhythm.hour_of_week(at)] += 1
    pooled = rhythm.profile_of([sum(of_hour) for of_hour in zip(*counts, strict=True)], FLAT)
    return [rhythm.profile_of(own, pooled) for own in counts]


def oracle(world: World, budget: Budget, begin: float) -> Reader:
    """Knows each channel's true mean intensity and how its posts bring others,
    and always polls where most post-seconds are expected to wait.
    """
    reader = Reader(world.posts, budget, begin)
    step = 1.0 / budget.per_second
    fade = np.exp(-world.decay * (1.0 - world.branching) * step)
    branching, decay = world.branching.tolist(), world.decay.tolist()
    excitation = [0.0] * len(branching)
    extra, expected, waiting, mean = (np.zeros(len(branching)) for _ in range(4))
    usual_excitation: list[float] = []
    current = -1
    started = int(np.searchsorted(budget.at, begin))
    for now, is_open in zip(budget.at[started:].tolist(), budget.is_open[started:].tolist(), strict=True):
        if (number := int((now - world.begin) // BIN_SECONDS)) != current:
            current, mean, usual_excitation = (
                number,
                world.mean[:, number].copy(),
                world.excited[:, number].tolist(),
            )
        np.multiply(extra, fade, out=extra)
        np.add(expected, mean, out=expected)
        np.add(expected, extra, out=expected)
        np.add(waiting, expected, out=waiting)
        if not is_open:
            continue
        channel = int(waiting.argmax())
        speed = decay[channel]
        excitation[channel] *= math.exp(speed * (reader.polled_at[channel] - now))
        for at in reader.poll(channel, now):
            excitation[channel] += branching[channel] * speed * math.exp(speed * (at - now))
        extra[channel] = excitation[channel] - usual_excitation[channel]
        expected[channel] = waiting[channel] = 0.0
    reader.close(world.end)
    return reader


def classic(world: World, budget: Budget, begin: float) -> Reader:
    """Every channel in a row, and the next row at the first tick after the end of this one."""
    reader = Reader(world.posts, budget, begin)
    channel, sweep_at = 0, begin
    for now in budget.open_from(begin):
        if now >= sweep_at:
            reader.poll(channel, now)
            channel = (channel + 1) % len(world.posts)
            if channel == 0:
                sweep_at = (
                    math.ceil((now + 1.0 / budget.per_second) / CLASSIC_TICK_SECONDS) * CLASSIC_TICK_SECONDS
                )
    reader.close(world.end)
    return reader
