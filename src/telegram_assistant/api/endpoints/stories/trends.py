"""Trends: stories that many channels told at once, and names and tags that they mention more than usual."""

from datetime import date, datetime, timedelta
from typing import Annotated

from fastapi import Query

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.domain.stories.keywords import KeywordKind, WrittenKeyword
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.stories.keyword_trends import ExplainedDay, ExplainedTrend
from telegram_assistant.features.stories.trends import Trend, Trends, all_trends

area = Area(
    "Trends",
    "Stories that five or more channels of a tenant told within half an hour; "
    "names and tags that five or more mention, far more often than in the "
    "same hours of the four weeks before.",
)

KEYWORDS = [{"kind": "name", "text": "Nortwick"}]
KEYWORD_EXAMPLE = {
    "keywords": KEYWORDS,
    "channels": 6,
    "mentions": 6,
    "usual": 0.13,
    "pace": [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 6],
    "usual_pace": [0, 0, 0, 0.25, 0, 0, 0, 0, 0, 0, 0, 0],
    "post_ids": ["1234567890/42", "1234567891/7"],
}
EXAMPLE = {
    "items": [
        {
            "headline": "The bridge is open again",
            "began_at": "2026-11-16T06:10:00Z",
            "found_at": "2026-11-16T06:19:00Z",
            "channels": 7,
            "pace": [5, 3, 1],
            "post_ids": ["1234567890/42", "1234567891/7"],
            "keywords": KEYWORDS,
        }
    ],
    "keywords": [KEYWORD_EXAMPLE],
    "days": [{"day": "2026-11-15", "trends": [KEYWORD_EXAMPLE]}],
}


class KeywordResponse(ResponseModel):
    """A name, in all scripts and grammatical cases, or a tag."""

    kind: KeywordKind
    text: str


class TrendResponse(ResponseModel):
    """A burst of a story. `channels`: the most within 30 minutes. `pace`: posts per ten minutes since the
    first one.

    `keywords`: names and tags that trend now because of it.
    """

    headline: str
    began_at: datetime
    found_at: datetime
    channels: int
    pace: list[int]
    post_ids: list[str]
    keywords: list[KeywordResponse]


class KeywordTrendResponse(ResponseModel):
    """Names and tags of the same posts; the figures are those of the first. A channel's posts within an hour
    are one mention.

    `usual`: mentions in the same hours of a usual week. `pace` and `usual_pace`: channels per hour, now and
    in a usual week.
    """

    keywords: list[KeywordResponse]
    channels: int
    mentions: int
    usual: float
    pace: list[int]
    usual_pace: list[float]
    post_ids: list[str]


class TrendDayResponse(ResponseModel):
    """The names and tags of a day in UTC that has ended."""

    day: date
    trends: list[KeywordTrendResponse]


class TrendsResponse(ResponseModel):
    """`items`: bursts of stories, the newest first. `keywords`: names and tags of the last hour that none of
    these stories explains.

    `days`: those of the days that ended within the asked hours, the newest first.
    """

    items: list[TrendResponse]
    keywords: list[KeywordTrendResponse]
    days: list[TrendDayResponse]


@area.get("/trends", scope=KeyScope.READ, example=EXAMPLE)
async def list_trends(
    context: Context,
    hours: Annotated[int, Query(ge=1, le=168, description="How many hours back to look.")] = 24,
) -> TrendsResponse:
    """List the bursts of the last hours, and the names and tags that trend.

    They are counted from the posts at this moment; days at 00:00 UTC.
    """
    trends = await all_trends(context.now - timedelta(hours=hours), stores=context.stores, now=context.now)
    return trends_response(trends)


def trends_response(trends: Trends) -> TrendsResponse:
    return TrendsResponse(
        items=[_story(story) for story in trends.stories],
        keywords=[_trend(keyword) for keyword in trends.keywords],
        days=[_day(day) for day in trends.days],
    )


def _story(trend: Trend) -> TrendResponse:
    return TrendResponse(
        headline=trend.telling.headline,
        began_at=trend.burst.began_at,
        found_at=trend.burst.found_at,
        channels=trend.burst.channels,
        pace=list(trend.pace),
        post_ids=[str(post.post_id) for post in trend.story.posts],
        keywords=[_keyword(keyword) for keyword in trend.keywords],
    )


def _trend(explained_trend: ExplainedTrend) -> KeywordTrendResponse:
    return KeywordTrendResponse(
        keywords=[_keyword(keyword) for keyword in explained_trend.keywords],
        channels=explained_trend.trend.channels,
        mentions=explained_trend.trend.mentions,
        usual=explained_trend.trend.usual,
        pace=list(explained_trend.trend.pace),
        usual_pace=list(explained_trend.trend.usual_pace),
        post_ids=[str(post_id) for post_id in explained_trend.visible],
    )


def _day(day: ExplainedDay) -> TrendDayResponse:
    return TrendDayResponse(day=day.day, trends=[_trend(trend) for trend in day.trends])


def _keyword(written_keyword: WrittenKeyword) -> KeywordResponse:
    return KeywordResponse(kind=written_keyword.keyword.kind, text=written_keyword.text)
