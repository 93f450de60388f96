"""When to look at a channel next: what is remembered of its posts, and how long the expected new ones may wait.

Posts wait until somebody looks. Their mean wait is shortest when every channel is looked at as soon as its expected
waiting post-seconds reach the same price; for a constant rate that is an interval of one over the square root of the
rate. The price is what makes all channels of an account fit into its requests. Times are seconds of the epoch, rates
are posts per second.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

type Profile = Sequence[float]
"""What each hour is worth, 24 of a weekday, then 24 of a weekend day, UTC. Over a week (5 and 2 days) the mean is 1."""

HOUR = 3600.0
DAY = 86400.0
FLAT: Profile = (1.0,) * 48
SATURDAY = 5
DAYS_A_WEEK = (5,) * 24 + (2,) * 24
OWN_POSTS = 60
"""With so many posts a channel's own profile weighs as much as the one of all channels."""
LEVEL_MEMORY_SECONDS = 7 * DAY
BURST_MEMORY_SECONDS = 900.0
FOLLOWING = 0.4
"""How many posts one post brings, on average. One value and one memory serve all channels, though each has its own."""
FADING = (1.0 - FOLLOWING) / BURST_MEMORY_SECONDS
"""How fast the difference between a loud, or quiet, moment and the usual goes away; slower than the memory, as new posts bring others."""
SHORTEST_SECONDS = 15.0
EXACT_SECONDS = 0.1
LOOK_AHEAD_SECONDS = 300.0
"""A request that would go unused takes the channel that is due next, if it is due so soon."""
TRIM_LOWEST, TRIM_HIGHEST, TRIM_GAIN = 0.3, 3.0, 0.3
LATEST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Rhythm:
    """What is remembered of a channel's posts: two counts that fade by themselves, so a poll without posts has nothing to write."""

    since: float
    level: float
    level_at: float
    burst: float
    burst_at: float


def begun(posted: Sequence[float], now: float, *, since: float) -> Rhythm:
    """From the first page: its publish times, and from when on it shows all there is (the oldest of a full page)."""
    return after_posts(Rhythm(since, 0.0, now, 0.0, now), posted, now)


def after_posts(rhythm: Rhythm, posted: Sequence[float], now: float) -> Rhythm:
    """A poll found posts with these publish times. Whether one poll finds them or many comes to the same."""
    level = rhythm.level * math.exp((rhythm.level_at - now) / LEVEL_MEMORY_SECONDS)
    burst = rhythm.burst * math.exp((rhythm.burst_at - now) / BURST_MEMORY_SECONDS)
    for at in posted:
        age = max(0.0, now - at)  # their clock may be ahead of ours
        level += math.exp(-age / LEVEL_MEMORY_SECONDS)
        burst += math.exp(-age / BURST_MEMORY_SECONDS)
    return Rhythm(rhythm.since, level, now, burst, now)


def rate(rhythm: Rhythm, now: float) -> float:
    """Posts per second over the last week or so, near one a day while little is known.

    In SQL, with 604800 s of memory:
    (level * exp(-(now - level_at) / 604800) + 0.5) / (604800 * (1 - exp(-(now - since) / 604800)) + 43200)
    """
    level = rhythm.level * math.exp((rhythm.level_at - now) / LEVEL_MEMORY_SECONDS)
    observed = LEVEL_MEMORY_SECONDS * (1.0 - math.exp((rhythm.since - now) / LEVEL_MEMORY_SECONDS))
    return (level + 0.5) / (observed + 0.5 * DAY)


def base(rhythm: Rhythm, profile: Profile, at: float) -> float:
    """What is usual at that hour."""
    return rate(rhythm, at) * profile[hour_of_week(at)]


def hour_of_week(at: float) -> int:
    """Where a moment is found in a profile; the epoch began on a Thursday."""
    hours = int(at // HOUR)
    return hours % 24 + (24 if (hours // 24 + 3) % 7 >= SATURDAY else 0)


def wait_seconds(rhythm: Rhythm, profile: Profile, *, now: float, price: float, weight: float = 1.0, max_seconds: float) -> float:
    """How long to leave a channel alone that was looked at just now: until the posts expected since then have waited for the price.

    Expected is what is usual at the hour, and less or more of it for a while when the last minutes were quiet or loud.
    """
    level = rate(rhythm, now)
    burst = FOLLOWING / BURST_MEMORY_SECONDS * rhythm.burst * math.exp((rhythm.burst_at - now) / BURST_MEMORY_SECONDS)
    goal = price / weight
    passed = posts = waited = 0.0
    while passed < max_seconds:
        usual = level * profile[hour_of_week(now + passed)]
        extra = (burst - FOLLOWING * usual) * math.exp(-FADING * passed)
        lasts = min(HOUR - (now + passed) % HOUR, max_seconds - passed)
        more_posts, more_waited = _expected(usual, extra, posts, lasts)
        if waited + more_waited >= goal:
            return max(SHORTEST_SECONDS, passed + _until(usual, extra, posts, goal - waited))
        passed, posts, waited = passed + lasts, posts + more_posts, waited + more_waited
    return max(SHORTEST_SECONDS, max_seconds)


def _expected(usual: float, extra: float, posts: float, seconds: float) -> tuple[float, float]:
    """New posts after some seconds of usual + extra * exp(-FADING * t), and how long they and those before them wait meanwhile."""
    fading = FADING * seconds
    faded = math.exp(-fading)
    new = usual * seconds + extra * (1.0 - faded) / FADING
    return new, seconds * (posts + usual * seconds / 2) + extra * (fading - 1.0 + faded) / FADING**2


def _until(usual: float, extra: float, posts: float, goal: float) -> float:
    """The seconds after which the waiting comes to the goal, by Newton's steps, which never pass it from above: it is convex."""
    seconds = max(SHORTEST_SECONDS, (math.sqrt(posts * posts + 2.0 * goal * (usual + extra)) - posts) / (usual + extra))
    step = math.inf
    while abs(step) > EXACT_SECONDS:
        new, waited = _expected(usual, extra, posts, seconds)
        step = (waited - goal) / (posts + new)
        seconds -= step
    return seconds


def price(roots: float, requests_per_second: float, trim: float = 1.0) -> float:
    """What makes channels fit into the requests; `roots` is the sum of sqrt(weight * base) over them, taken anew every hour."""
    return trim * (roots / requests_per_second) ** 2 / 2


def trimmed(trim: float, lateness: Iterable[float], *, channels: int) -> float:
    """The price's slow correction by what happened: how late the polls came, as shares of their planned waits, negative if early.

    A poll's share is (polled_at - due_at) / (due_at - the poll before). What comes very late tells of an outage, not of the price.
    """
    late = sum(share for share in lateness if share <= LATEST_SHARE)
    return min(TRIM_HIGHEST, max(TRIM_LOWEST, trim * math.exp(TRIM_GAIN * late / channels)))


def profile_of(counts: Sequence[int], pooled: Profile) -> Profile:
    """From the posts of whole weeks, counted by hour_of_week, and the profile of all channels together, which fills in for few posts."""
    known = sum(counts) + OWN_POSTS
    smooth = [
        (counts[part + (hour - 1) % 24] + 2 * counts[part + hour] + counts[part + (hour + 1) % 24]) / 4 for part in (0, 24) for hour in range(24)
    ]
    return tuple((168 / days * own + OWN_POSTS * shared) / known for own, shared, days in zip(smooth, pooled, DAYS_A_WEEK, strict=True))
