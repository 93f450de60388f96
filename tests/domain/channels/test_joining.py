from itertools import pairwise

from telegram_assistant.domain.accounts.budget import DAY, HOUR, Cost, meter_of
from telegram_assistant.domain.channels.joining import Candidate, joins_budget, worth_joining
from telegram_assistant.domain.ids import ChannelId


def candidate(channel_id: int, *, posts_per_hour: float, weight: float = 1.0) -> Candidate:
    return Candidate(ChannelId(channel_id), 7, weight, posts_per_hour / HOUR)


def test_the_channel_whose_posts_wait_most_is_joined_first() -> None:
    quiet, lively, wanted = (
        candidate(1, posts_per_hour=2),
        candidate(2, posts_per_hour=5),
        candidate(3, posts_per_hour=2, weight=4.0),
    )
    assert worth_joining([quiet, lively, wanted], joined_count=0, is_premium=False) is wanted
    assert worth_joining([quiet, lively], joined_count=0, is_premium=False) is lively


def test_a_channel_that_seldom_posts_is_not_worth_a_place() -> None:
    assert (
        worth_joining(
            [candidate(1, posts_per_hour=0.9), candidate(2, posts_per_hour=3.9, weight=0.25)],
            joined_count=0,
            is_premium=False,
        )
        is None
    )
    assert worth_joining([], joined_count=0, is_premium=False) is None


def test_fifty_places_are_left_for_the_owner() -> None:
    lively = [candidate(1, posts_per_hour=9)]
    assert worth_joining(lively, joined_count=449, is_premium=False)
    assert worth_joining(lively, joined_count=450, is_premium=False) is None
    assert worth_joining(lively, joined_count=949, is_premium=True)
    assert worth_joining(lively, joined_count=950, is_premium=True) is None


def test_joins_are_spread_over_the_day() -> None:
    budget, joined_at = joins_budget(3), list[float]()
    meter = meter_of(budget, None, 0.0)
    now = 0.0
    while now < 3 * DAY:
        now += meter.seconds_until(now, Cost())
        meter = meter.take(now, Cost())
        joined_at.append(now)
    assert all(later - earlier > DAY / 3 - 1 for earlier, later in pairwise(joined_at))
