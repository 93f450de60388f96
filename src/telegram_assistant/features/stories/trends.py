"""Trends: stories that many of a tenant's channels told within a quarter of an hour, with the posts that explain them."""

from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.stories.bursts import Burst, burst_of, pace_of
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.stories.stories import recent_stories
from telegram_assistant.features.stories.telling import StoryTelling
from telegram_assistant.stores.postgres.stores import TenantStores

CONSIDERED = 100


@dataclass(frozen=True, slots=True)
class Trend:
    """A burst of a story. `pace` is the number of posts per ten minutes."""

    story: VisibleStory
    telling: StoryTelling
    burst: Burst
    pace: tuple[int, ...]


async def trends_since(since: datetime, *, stores: TenantStores, now: datetime) -> tuple[Trend, ...]:
    """Returns the bursts that were found since then, the newest first. They are counted from posts at every call, so none is late."""
    found = await recent_stories(since, stores=stores, now=now, limit=CONSIDERED)
    trends = [Trend(one.story, one.telling, burst, pace_of(one.story)) for one in found.stories if (burst := burst_of(one.story)) is not None]
    return tuple(sorted((one for one in trends if one.burst.found_at >= since), key=lambda one: one.burst.found_at, reverse=True))
