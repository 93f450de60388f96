"""Trends: stories that many of a tenant's channels told within half an hour, with the posts that explain them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.bursts import Burst, burst_of, pace_of
from telegram_assistant.domain.stories.visible import VisibleStory, stories_of
from telegram_assistant.features.stories.news import tells_news
from telegram_assistant.features.stories.telling import StoryTelling, tell
from telegram_assistant.stores.postgres.stores import TenantStores


@dataclass(frozen=True, slots=True)
class Trend:
    """A burst of a story. `pace` is the number of posts per ten minutes."""

    story: VisibleStory
    telling: StoryTelling
    burst: Burst
    pace: tuple[int, ...]


async def trends_since(since: datetime, *, stores: TenantStores, muted: Collection[PostId] = (), language: str | None = None) -> tuple[Trend, ...]:
    """Returns the bursts that were found since then, the newest first, told in this language where a post is in it.

    Stories with a post of `muted` are left out. Posts are counted as they arrive, so none is late.
    """
    material = await stores.stories.bursting(since)
    stories = (story for group in material.groups for story in stories_of(group.posts, group.links, material.grouping) if tells_news(story))
    found = [
        Trend(story, tell(story, language=language), burst, pace_of(story))
        for story in stories
        if (burst := burst_of(story)) and burst.found_at >= since and not story.has_any(muted)
    ]
    return tuple(sorted(found, key=lambda one: (one.burst.found_at, one.story.story_id), reverse=True))
