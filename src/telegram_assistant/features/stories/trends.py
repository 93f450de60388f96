"""Trends: stories that many of a tenant's channels told within half an hour,
and names and tags that they mention more than usual.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.bursts import Burst, burst_of, pace_of
from telegram_assistant.domain.stories.keywords import WrittenKeyword, is_about
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.stories.keyword_trends import (
    ExplainedDay,
    ExplainedTrend,
    trend_days,
    trends_now,
)
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
    keywords: tuple[WrittenKeyword, ...] = ()
    """Names and tags that trend because of it."""


@dataclass(frozen=True, slots=True)
class Trends:
    """All trends of a time. `keywords` are those of the last hour that no story explains."""

    stories: tuple[Trend, ...]
    keywords: tuple[ExplainedTrend, ...]
    days: tuple[ExplainedDay, ...]


async def all_trends(
    since: datetime,
    *,
    stores: TenantStores,
    now: datetime,
    muted: Collection[PostId] = (),
    language: str | None = None,
    live: Sequence[ExplainedTrend] | None = None,
) -> Trends:
    """Returns the bursts of stories that were found since then, the trends of the last hour, and those of the
    days that ended since.

    `live` are the trends of the last hour if they were counted before.
    """
    bursts = await trends_since(since, stores=stores, muted=muted, language=language)
    current_trends = await trends_now(now, stores=stores, language=language) if live is None else live
    days = await trend_days(since, stores=stores, language=language)
    return Trends(*_attach(bursts, current_trends), days)


def _attach(
    stories: Sequence[Trend], trends: Sequence[ExplainedTrend]
) -> tuple[tuple[Trend, ...], tuple[ExplainedTrend, ...]]:
    """Keywords of which most posts tell a story that is shown belong to that story."""
    posts = [frozenset(post.post_id for post in story.story.posts) for story in stories]
    keywords: list[tuple[WrittenKeyword, ...]] = [()] * len(stories)
    unattached_trends = []
    for trend in trends:
        story_index = next(
            (
                story_index
                for story_index, story_post_ids in enumerate(posts)
                if is_about(frozenset(trend.trend.posts), story_post_ids)
            ),
            None,
        )
        if story_index is None:
            unattached_trends.append(trend)
        else:
            keywords[story_index] += trend.keywords
    return tuple(
        replace(story, keywords=story_keywords)
        for story, story_keywords in zip(stories, keywords, strict=True)
    ), tuple(unattached_trends)


async def trends_since(
    since: datetime, *, stores: TenantStores, muted: Collection[PostId] = (), language: str | None = None
) -> tuple[Trend, ...]:
    """Returns the bursts that were found since then, the newest first, told in this language where a post is
    in it.

    Stories with a post of `muted` are left out. Posts are counted as they arrive, so none is late.
    """
    material = await stores.stories.bursting(since)
    bursts = [
        Trend(story, tell(story, language=language), burst, pace_of(story))
        for story in material.stories()
        if tells_news(story)
        and (burst := burst_of(story))
        and burst.found_at >= since
        and not story.has_any(muted)
    ]
    return tuple(sorted(bursts, key=lambda trend: (trend.burst.found_at, trend.story.story_id), reverse=True))
