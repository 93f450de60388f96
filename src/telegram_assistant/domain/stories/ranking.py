"""Which stories come first: by sources, speed, reach, novelty and the tenant's folders."""

from collections import Counter
from datetime import datetime
from math import exp2, log1p, log10

from telegram_assistant.domain.stories.visible import VisibleStory

MIN_OWNERS = 2
"""A story of fewer owners, such as one channel or one network, is only in the feed."""
HALF_LIFE_HOURS = 18.0


def is_news(story: VisibleStory) -> bool:
    """Whether channels of several owners tell it, and not only as advertising."""
    honest = [post for post in story.posts if not post.is_ad]
    return story.voices.count_owners(post.post_id for post in honest) >= MIN_OWNERS and 2 * len(
        honest
    ) >= len(story.posts)


def weight_of(story: VisibleStory, *, now: datetime, is_new: bool = False) -> float:
    """The higher, the earlier on the page. It halves in 18 hours after the newest post that is no copy."""
    own_wordings = story.wording_count
    repeating = len(story.channel_ids) - own_wordings
    max_posts_in_hour = max(Counter(int(post.posted_at.timestamp()) // 3600 for post in story.posts).values())
    view_count = sum(post.views or 0 for post in story.posts)
    age_hours = max(0.0, (now - story.newest_news.posted_at).total_seconds() / 3600)
    weight = (
        2 * log1p(own_wordings)
        + 0.6 * log1p(repeating)
        + 0.5 * log1p(max_posts_in_hour)
        + 0.25 * log10(1 + view_count)
        + 0.3 * bool(story.folders)
    )
    return (weight + is_new) * exp2(-age_hours / HALF_LIFE_HOURS)
