from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.rechecking import LEVELS, depth_due

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
channels = st.integers(1, 2**40).map(ChannelId)


@pytest.mark.long
@settings(max_examples=20)  # each asks up to 26,000 times
@given(channels, st.integers(10, 3600))
def test_every_level_comes_once_per_period_however_often_one_asks(channel_id: ChannelId, step: int) -> None:
    rechecked_at, depths = NOW, []
    for second in range(0, 3 * 86_400, step):
        now = NOW + timedelta(seconds=second)
        if depth := depth_due(channel_id, rechecked_at, now):
            depths.append(depth)
            rechecked_at = now
    assert 71 <= len(depths) <= 73
    assert 11 <= sum(depth >= LEVELS[1].depth for depth in depths) <= 13
    assert 1 <= sum(depth >= LEVELS[2].depth for depth in depths) <= 2


@given(channels)
def test_who_was_away_for_long_looks_back_as_far_as_it_was_owed(channel_id: ChannelId) -> None:
    assert depth_due(channel_id, NOW - timedelta(days=11), NOW) == LEVELS[-1].depth
    assert depth_due(channel_id, NOW, NOW) is None


def test_channels_do_not_fall_due_together() -> None:
    due = [
        sum(
            depth_due(ChannelId(channel_id), NOW, NOW + timedelta(minutes=minute)) is not None
            for channel_id in range(10**9, 10**9 + 600)
        )
        for minute in (6, 30, 54)
    ]
    assert 30 < due[0] < 90
    assert 250 < due[1] < 350
    assert 500 < due[2] < 580
