"""Which names and tags trend: laws of the score, and what is counted as one trend."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.keywords import (
    MIN_CHANNELS,
    Keyword,
    KeywordCount,
    KeywordCounts,
    KeywordKind,
    gather,
    surprise_of,
    trending,
    usual_of,
    weeks_known,
)

MENTIONS = st.integers(0, 400)
BEFORE = st.lists(st.integers(0, 100), min_size=4, max_size=4)
WEEKS = st.floats(0.05, 8)


def make_count(key: str, mentions: int, *before: int, channels: int | None = None) -> KeywordCount:
    return KeywordCount(
        Keyword(KeywordKind.NAME, key), mentions if channels is None else channels, mentions, before
    )


def posts(*numbers: int) -> frozenset[PostId]:
    return frozenset(PostId(ChannelId(number), MessageId(1)) for number in numbers)


@given(MENTIONS, BEFORE, WEEKS)
def test_more_mentions_are_never_less_surprising(mentions: int, before: list[int], weeks: float) -> None:
    assert surprise_of(mentions + 1, before, weeks) >= surprise_of(mentions, before, weeks) - 1e-6


@given(MENTIONS, BEFORE, WEEKS, st.integers(0, 3))
def test_what_was_mentioned_more_before_is_never_more_surprising(
    mentions: int, before: list[int], weeks: float, week: int
) -> None:
    more = [count + (place == week) for place, count in enumerate(before)]
    assert surprise_of(mentions, more, weeks) <= surprise_of(mentions, before, weeks) + 1e-6


@given(MENTIONS, BEFORE, WEEKS)
def test_it_does_not_matter_in_which_week_it_was(mentions: int, before: list[int], weeks: float) -> None:
    assert surprise_of(mentions, before, weeks) == surprise_of(mentions, sorted(before), weeks)


@given(MENTIONS, WEEKS)
def test_the_longer_nothing_was_mentioned_the_more_surprising_it_is(mentions: int, weeks: float) -> None:
    assert surprise_of(mentions, (), weeks * 2) >= surprise_of(mentions, (), weeks) - 1e-6


@given(MENTIONS, BEFORE, WEEKS)
def test_the_usual_is_no_surprise(mentions: int, before: list[int], weeks: float) -> None:
    assert surprise_of(mentions, before, weeks) >= 0
    assert surprise_of(int(usual_of(before, weeks)), before, weeks) == 0
    assert surprise_of(mentions, before, 0) == 0


@given(st.lists(st.tuples(MENTIONS, BEFORE, st.integers(0, 30)), max_size=20), WEEKS)
def test_a_trend_has_enough_channels_and_far_more_mentions_than_usual(
    samples: list[tuple[int, list[int], int]], weeks: float
) -> None:
    counts = KeywordCounts(
        weeks,
        tuple(
            make_count(f"name{place}", now, *before, channels=ch)
            for place, (now, before, ch) in enumerate(samples)
        ),
    )
    for trend in trending(counts):
        assert trend.channels >= MIN_CHANNELS
        assert trend.mentions >= 3 * usual_of(trend.before, weeks)


def test_a_probability_is_right() -> None:
    """Never mentioned in four weeks: with half a mention as the prior,
    five or more come once in 11,600 times.
    """
    assert 10 ** surprise_of(5, (0, 0, 0, 0), 4) == pytest.approx(11_630, rel=0.01)


def test_a_name_never_heard_trends_with_five_channels_and_one_of_every_day_does_not() -> None:
    new, known, everyday = (
        make_count("nortvik", 5, 0, 0, 0, 0),
        make_count("severograd", 12, 1, 0, 2, 1),
        make_count("moskv", 12, 9, 11, 8, 10),
    )
    four = make_count("ladi", 4, 0, 0, 0, 0)
    assert trending(KeywordCounts(4.0, (new, everyday, known, four))) == (known, new)


def test_who_knows_one_week_needs_more_channels() -> None:
    assert trending(KeywordCounts(1.0, (make_count("nortvik", 5, 0, 0, 0, 0),))) == ()
    assert trending(KeywordCounts(1.0, (make_count("nortvik", 12, 0, 0, 0, 0),)))


def test_who_followed_half_of_the_channels_knows_half_of_the_weeks() -> None:
    assert weeks_known(10, (10, 10, 10, 10)) == 4
    assert weeks_known(20, (10, 10, 10, 10)) == 2
    assert weeks_known(10, (0, 0, 0, 0)) == weeks_known(0, (1, 1)) == 0


def test_keywords_of_the_same_posts_are_one_trend() -> None:
    town, store, match = (Keyword(KeywordKind.NAME, key) for key in ("nortvik", "stroigran", "volnorez"))
    trends = gather(
        [(town, posts(1, 2, 3, 4, 5, 6)), (match, posts(7, 8, 9, 10, 11)), (store, posts(2, 3, 4, 5, 12))]
    )
    assert trends == ((town, store), (match,))
