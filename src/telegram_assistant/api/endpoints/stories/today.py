"""News for a person since their last visit."""

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import Field

from telegram_assistant.api.endpoints.stories.stories import STORY_EXAMPLE, StoryResponse, story_response
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ResponseModel, Storable
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.stories.stories import ListedStory
from telegram_assistant.features.stories.today import MissedStories, Today, peek_today

area = Area("Today", "What is new for you since your last visit. Needs a key of a person.")


class TodayStoryResponse(StoryResponse):
    """A story, and how many of its posts since your last visit are no copies."""

    new_posts: int


class PostTallyResponse(ResponseModel):
    """Posts since your last visit in channels that you do not mute."""

    posts: int
    copies: int = Field(description="Posts that forward or copy another one that you can see.")
    ads: int
    is_partial: bool = Field(description="There are more posts; the figures are those of the first of them.")


class CatchUpResponse(ResponseModel):
    """Stories that ended while you were away, the oldest end first."""

    days_away: int
    minutes: int
    items: list[StoryResponse]


class TodayResponse(ResponseModel):
    """The news since your last visit. Reading it does not count as a visit."""

    before_at: datetime | None = Field(description="Your last visit to the pages; null before the first.")
    minutes: int = Field(description="To read the stories with news, or else all.")
    tally: PostTallyResponse
    unread_alerts: int = Field(description="At most 100.")
    next_digest_at: datetime | None = Field(description="Null without a digest plan.")
    catch_up: CatchUpResponse | None = Field(description="Null if you were here within two days.")
    items: list[TodayStoryResponse]


EXAMPLE = {
    "before_at": "2026-11-15T08:00:00Z",
    "minutes": 1,
    "tally": {"posts": 412, "copies": 251, "ads": 31, "is_partial": False},
    "unread_alerts": 3,
    "next_digest_at": "2026-11-16T08:00:00Z",
    "catch_up": None,
    "items": [{**STORY_EXAMPLE, "new_posts": 1}],
}


@area.get("/today", scope=KeyScope.READ, example=EXAMPLE)
async def get_today(
    context: Context,
    folder: Annotated[
        Storable | None,
        Query(max_length=100, description="Only stories with a post in a channel of this folder."),
    ] = None,
) -> TodayResponse:
    """Get the stories since your last visit, those with news first; how much was read for you; and what is
    unread.

    A copy is no news. This request does not count as a visit. Needs a key of a person.
    """
    today = await peek_today(
        stores=context.stores,
        own=context.own,
        now=context.now,
        zone=context.zone,
        folder=folder,
        language=context.language,
    )
    return _today_response(today)


def _today_response(today: Today) -> TodayResponse:
    return TodayResponse(
        before_at=today.before_at,
        minutes=today.minutes,
        tally=PostTallyResponse(
            posts=today.tally.posts,
            copies=today.tally.copies,
            ads=today.tally.ads,
            is_partial=today.tally.is_partial,
        ),
        unread_alerts=today.alerts.count,
        next_digest_at=today.next_digest_at,
        catch_up=_catch_up_response(today.catch_up) if today.catch_up else None,
        items=[_story_response(story) for story in today.stories],
    )


def _story_response(listed_story: ListedStory) -> TodayStoryResponse:
    return TodayStoryResponse(**dict(story_response(listed_story)), new_posts=len(listed_story.new))


def _catch_up_response(catch_up: MissedStories) -> CatchUpResponse:
    return CatchUpResponse(
        days_away=catch_up.days_away,
        minutes=catch_up.minutes,
        items=[story_response(story) for _, stories in catch_up.days for story in stories],
    )
