"""Trends: stories that many channels told at once."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Query

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.stories.trends import Trend, trends_since

area = Area("Trends", "Stories that five or more channels of a tenant told within half an hour.")

EXAMPLE = {
    "headline": "The bridge is open again",
    "began_at": "2026-11-16T06:10:00Z",
    "found_at": "2026-11-16T06:19:00Z",
    "channels": 7,
    "pace": [5, 3, 1],
    "post_ids": ["1234567890/42", "1234567891/7"],
}


class TrendResponse(ResponseModel):
    """A burst of a story. `channels`: the most within 30 minutes. `pace`: posts per ten minutes since the first one."""

    headline: str
    began_at: datetime
    found_at: datetime
    channels: int
    pace: list[int]
    post_ids: list[str]


class TrendsResponse(ResponseModel):
    """Bursts, the newest first."""

    items: list[TrendResponse]


@area.get("/trends", scope=KeyScope.READ, example={"items": [EXAMPLE]})
async def list_trends(
    context: Context, hours: Annotated[int, Query(ge=1, le=168, description="How many hours back to look.")] = 24
) -> TrendsResponse:
    """List the bursts of the last hours. They are counted from the posts at this moment."""
    found = await trends_since(context.now - timedelta(hours=hours), stores=context.stores)
    return TrendsResponse(items=[_response(one) for one in found])


def _response(one: Trend) -> TrendResponse:
    return TrendResponse(
        headline=one.telling.headline,
        began_at=one.burst.began_at,
        found_at=one.burst.found_at,
        channels=one.burst.channels,
        pace=list(one.pace),
        post_ids=[str(post.post_id) for post in one.story.posts],
    )
