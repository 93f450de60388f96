"""A burst: many channels tell the same story within a quarter of an hour."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.stories.visible import VisibleStory

WINDOW = timedelta(minutes=15)
MIN_CHANNELS = 5
"""Within the window. With four, two of three bursts are ordinary news; with five, nine in ten great events are found at once."""
STEP = timedelta(minutes=10)
"""Of a chart."""
MAX_STEPS = 72


@dataclass(frozen=True, slots=True)
class Burst:
    """When enough channels told a story within the window, and how many did at the most."""

    began_at: datetime
    found_at: datetime
    """When the last of the needed channels told it."""
    channels: int


def burst_of(story: VisibleStory) -> Burst | None:
    """The first burst of a story; advertising counts nothing."""
    told = [(post.posted_at, post.channel_id) for post in story.posts if not post.is_ad]
    first: Burst | None = None
    most = 0
    start = 0
    for place, (at, _) in enumerate(told):
        while at - told[start][0] > WINDOW:
            start += 1
        channels = _channels(told[start : place + 1])
        most = max(most, channels)
        if first is None and channels >= MIN_CHANNELS:
            first = Burst(told[start][0], at, channels)
    return None if first is None else Burst(first.began_at, first.found_at, most)


def _channels(told: Sequence[tuple[datetime, ChannelId]]) -> int:
    return len({channel_id for _, channel_id in told})


def pace_of(story: VisibleStory) -> tuple[int, ...]:
    """Posts per ten minutes since the first one, for a chart of at most twelve hours."""
    first = story.first.posted_at
    counted = Counter(int((post.posted_at - first) / STEP) for post in story.posts)
    return tuple(counted[step] for step in range(min(MAX_STEPS, max(counted) + 1)))
