"""A burst: many channels tell the same story within half an hour."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.stories.visible import NO_VOICES, VisibleStory
from telegram_assistant.domain.stories.wordings import Voices

WINDOW = timedelta(minutes=30)
"""In a quarter of an hour one post that is not recognised hides a burst,
and at night five channels need longer.
"""
MIN_CHANNELS = 5
"""Within the window.

With four, some are told by no more channels within an hour, and more than half are ordinary news.
"""
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
    """The first burst of a story; advertising counts nothing, and channels of one owner count once."""
    windows = [
        window
        for _, window in _full_windows(
            ((post.posted_at, post.post_id) for post in story.posts if not post.is_ad), story.voices
        )
    ]
    return (
        Burst(windows[0].began_at, windows[0].found_at, max(window.channels for window in windows))
        if windows
        else None
    )


def bursting_posts(dated_posts: Iterable[tuple[datetime, PostId]]) -> frozenset[PostId]:
    """The posts of a story with which enough channels have told it within the window.

    Whoever sees only some of the posts and finds a burst finds it with one of these.
    """
    return frozenset(post_id for post_id, _ in _full_windows(dated_posts))


def _full_windows(
    dated_posts: Iterable[tuple[datetime, PostId]], voices: Voices = NO_VOICES
) -> Iterator[tuple[PostId, Burst]]:
    """Each post that ends a window with channels of enough owners, with that window."""
    ordered_posts = sorted(dated_posts)
    inside: Counter[ChannelId] = Counter()
    start = 0
    for at, post_id in ordered_posts:
        inside[post_id.channel_id] += 1
        while at - ordered_posts[start][0] > WINDOW:
            leaving_channel_id = ordered_posts[start][1].channel_id
            inside[leaving_channel_id] -= 1
            if not inside[leaving_channel_id]:
                del inside[leaving_channel_id]
            start += 1
        if len({voices.owner_of(channel_id) for channel_id in inside}) >= MIN_CHANNELS:
            yield post_id, Burst(ordered_posts[start][0], at, len(inside))


def pace_of(story: VisibleStory) -> tuple[int, ...]:
    """Posts per ten minutes since the first one, for a chart of at most twelve hours."""
    first_posted_at = story.first.posted_at
    counts = Counter(int((post.posted_at - first_posted_at) / STEP) for post in story.posts)
    return tuple(counts[step] for step in range(min(MAX_STEPS, max(counts) + 1)))
