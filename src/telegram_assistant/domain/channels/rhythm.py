"""When to poll a channel next, from the remembered rhythm of its posts.

Posts wait until the next poll. Their mean wait is shortest if every channel is polled as soon as its expected
waiting post-seconds reach the same price; for a constant rate that is an interval of one over the square root
of the rate. The price makes all channels of an account fit into its requests. Times are seconds of the epoch,
rates are posts per second.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

type Profile = Sequence[float]
"""The factor of each hour: 24 of a weekday, then 24 of a weekend day, UTC.

Over a week (5 and 2 days) the mean is 1.
"""

HOUR = 3600.0
DAY = 86400.0
FLAT: Profile = (1.0,) * 48
SATURDAY = 5
DAYS_A_WEEK = (5,) * 24 + (2,) * 24
OWN_POSTS = 60
"""With so many posts a channel's own profile weighs as much as the pooled profile of all channels."""
LEVEL_MEMORY_SECONDS = 7 * DAY
BURST_MEMORY_SECONDS = 900.0
FOLLOWING = 0.4
"""How many posts one post triggers on average.

One value and one memory serve all channels, although each channel has its own.
"""
FADING = (1.0 - FOLLOWING) / BURST_MEMORY_SECONDS
"""How fast a burst or a lull decays to the usual rate; slower than the memory,
because new posts trigger others.
"""
SHORTEST_SECONDS = 15.0
EXACT_SECONDS = 0.1
LOOK_AHEAD_SECONDS = 300.0
"""A request that would go unused polls the next channel if it is due within this time."""
TRIM_LOWEST, TRIM_HIGHEST, TRIM_GAIN = 0.3, 3.0, 0.3
LATEST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The remembered rhythm of a channel: two counts that decay with time,
    so a poll without posts has nothing to write.
    """

    since: float
    level: float
    level_at: float
    burst: float
    burst_at: float


def new_rhythm(posted_at_times: Sequence[float], now: float, *, since: float) -> Rhythm:
    """The rhythm after the first page: its publish times,
    and the time since which it is complete (the oldest of a full page).
    """
    return after_posts(Rhythm(since, 0.0, now, 0.0, now), posted_at_times, now)


def after_posts(rhythm: Rhythm, posted_at_times: Sequence[float], now: float) -> Rhythm:
    """The rhythm after a poll found posts with these publish times. One poll or many give the same result."""
    level = rhythm.level * math.exp((rhythm.level_at - now) / LEVEL_MEMORY_SECONDS)
    burst = rhythm.burst * math.exp((rhythm.burst_at - now) / BURST_MEMORY_SECONDS)
    for at in posted_at_times:
        age_seconds = max(0.0, now - at)  # Telegram's clock may be ahead of ours
        level += math.exp(-age_seconds / LEVEL_MEMORY_SECONDS)
        burst += math.exp(-age_seconds / BURST_MEMORY_SECONDS)
    return Rhythm(rhythm.since, level, now, burst, now)


def rate(rhythm: Rhythm, now: float) -> float:
    """Posts per second over the last week or so, near one a day while little is known.

    In SQL, with 604800 s of memory:
    (level * exp(-(now - level_at) / 604800) + 0.5) / (604800 * (1 - exp(-(now - since) / 604800)) + 43200)
    """
    level = rhythm.level * math.exp((rhythm.level_at - now) / LEVEL_MEMORY_SECONDS)
    observed_seconds = LEVEL_MEMORY_SECONDS * (1.0 - math.exp((rhythm.since - now) / LEVEL_MEMORY_SECONDS))
    return (level + 0.5) / (observed_seconds + 0.5 * DAY)


def base(rhythm: Rhythm, profile: Profile, at: float) -> float:
    """The usual rate at that hour."""
    return rate(rhythm, at) * profile[hour_of_week(at)]


def hour_of_week(at: float) -> int:
    """The index of a time in a profile; the epoch began on a Thursday."""
    hours = int(at // HOUR)
    return hours % 24 + (24 if (hours // 24 + 3) % 7 >= SATURDAY else 0)


def wait_seconds(
    rhythm: Rhythm, profile: Profile, *, now: float, price: float, weight: float = 1.0, max_seconds: float
) -> float:
    """How long to wait after a poll: until the posts expected since then have waited for `price`
    post-seconds.

    The expected rate is the usual one of the hour, lower or higher for a while if the last minutes were quiet
    or busy.
    """
    level = rate(rhythm, now)
    burst = (
        FOLLOWING
        / BURST_MEMORY_SECONDS
        * rhythm.burst
        * math.exp((rhythm.burst_at - now) / BURST_MEMORY_SECONDS)
    )
    goal = price / weight
    elapsed_seconds = posts = waited_seconds = 0.0
    while elapsed_seconds < max_seconds:
        usual_rate = level * profile[hour_of_week(now + elapsed_seconds)]
        extra_rate = (burst - FOLLOWING * usual_rate) * math.exp(-FADING * elapsed_seconds)
        step_seconds = min(HOUR - (now + elapsed_seconds) % HOUR, max_seconds - elapsed_seconds)
        more_posts, more_waited = _estimate_posts(usual_rate, extra_rate, posts, step_seconds)
        if waited_seconds + more_waited >= goal:
            return max(
                SHORTEST_SECONDS,
                elapsed_seconds + _until(usual_rate, extra_rate, posts, goal - waited_seconds),
            )
        elapsed_seconds, posts, waited_seconds = (
            elapsed_seconds + step_seconds,
            posts + more_posts,
            waited_seconds + more_waited,
        )
    return max(SHORTEST_SECONDS, max_seconds)


def _estimate_posts(
    usual_rate: float, extra_rate: float, posts: float, seconds: float
) -> tuple[float, float]:
    """New posts within some seconds at usual + extra * exp(-FADING * t),
    and the post-seconds that they and earlier ones wait.
    """
    fading = FADING * seconds
    faded_share = math.exp(-fading)
    expected_posts = usual_rate * seconds + extra_rate * (1.0 - faded_share) / FADING
    return expected_posts, seconds * (posts + usual_rate * seconds / 2) + extra_rate * (
        fading - 1.0 + faded_share
    ) / FADING**2


def _until(usual_rate: float, extra_rate: float, posts: float, goal: float) -> float:
    """The seconds until the waiting reaches the goal, by Newton's method, which never passes it from above:
    the function is convex.
    """
    seconds = max(
        SHORTEST_SECONDS,
        (math.sqrt(posts * posts + 2.0 * goal * (usual_rate + extra_rate)) - posts)
        / (usual_rate + extra_rate),
    )
    step = math.inf
    while abs(step) > EXACT_SECONDS:
        expected_posts, waited_seconds = _estimate_posts(usual_rate, extra_rate, posts, seconds)
        step = (waited_seconds - goal) / (posts + expected_posts)
        seconds -= step
    return seconds


def price(roots: float, requests_per_second: float, trim: float = 1.0) -> float:
    """The price that makes channels fit into the requests;
    `roots` is the sum of sqrt(weight * base) over them, recomputed every hour.
    """
    return trim * (roots / requests_per_second) ** 2 / 2


def adjust_trim(trim: float, lateness: Iterable[float], *, channel_count: int) -> float:
    """The slow correction of the price by the lateness of polls, as shares of their planned waits, negative
    if early.

    A poll's share is (polled_at - due_at) / (due_at - the poll before). A very late poll indicates an outage,
    not a wrong price.
    """
    late = sum(share for share in lateness if share <= LATEST_SHARE)
    return min(TRIM_HIGHEST, max(TRIM_LOWEST, trim * math.exp(TRIM_GAIN * late / channel_count)))


def profile_of(counts: Sequence[int], pooled_profile: Profile) -> Profile:
    """The profile from posts of whole weeks, counted by `hour_of_week`;
    with few posts the pooled profile of all channels dominates.
    """
    total_weight = sum(counts) + OWN_POSTS
    smooth = [
        (counts[part + (hour - 1) % 24] + 2 * counts[part + hour] + counts[part + (hour + 1) % 24]) / 4
        for part in (0, 24)
        for hour in range(24)
    ]
    return tuple(
        (168 / days * own_count + OWN_POSTS * pooled_share) / total_weight
        for own_count, pooled_share, days in zip(smooth, pooled_profile, DAYS_A_WEEK, strict=True)
    )
