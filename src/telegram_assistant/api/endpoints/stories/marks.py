"""Your marks on stories: saved, done, followed."""

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, MessageNumber, RequestModel, ResponseModel
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.marks import Mark, StoryMark
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.stories import marks

area = Area(
    "Story marks",
    "Stories that you saved, are done with or follow. Only you see them. Needs a key of a person.",
)

EXAMPLE = {
    "story_id": "1234567890/42",
    "mark": "followed",
    "headline": "The bridge in Halbrook is closed to trucks",
    "marked_at": "2026-11-16T06:10:00Z",
}


class StoryMarkResponse(ResponseModel):
    """A mark on the story of the post `story_id`."""

    story_id: str
    mark: Mark
    headline: str = Field(description="Of the story when you marked it.")
    marked_at: datetime


class StoryMarksResponse(ResponseModel):
    """Your marks on stories, the newest first."""

    items: list[StoryMarkResponse]


class StoryMarkRequest(RequestModel):
    """`saved`, `done` until a post says something new, or `followed`: an alert for each new post that is no
    copy.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"mark": "followed"}]})

    mark: Mark


@area.get("/stories/marks", scope=KeyScope.READ, example={"items": [EXAMPLE]})
async def list_story_marks(context: Context) -> StoryMarksResponse:
    """List your marks on stories, the newest first."""
    own_marks = await marks.list_marks(marks=context.own.story_marks)
    return StoryMarksResponse(items=[_mark_response(mark) for mark in own_marks])


@area.put("/stories/{channel_id}/{message_id}/mark", scope=KeyScope.READ, example=None, status=204)
async def mark_story(
    context: Context, channel_id: ChannelNumber, message_id: MessageNumber, body: StoryMarkRequest
) -> None:
    """Mark the story of this post for yourself. The mark stays when posts join or leave the story."""
    post_id = PostId(ChannelId(channel_id), MessageId(message_id))
    await marks.mark_story(post_id, body.mark, stores=context.stores, marks=context.own.story_marks)


@area.delete("/stories/{channel_id}/{message_id}/mark", scope=KeyScope.READ)
async def unmark_story(
    context: Context,
    channel_id: ChannelNumber,
    message_id: MessageNumber,
    mark: Annotated[Mark, Query(description="The mark to take off.")],
) -> None:
    """Take your mark off the story of this post."""
    post_id = PostId(ChannelId(channel_id), MessageId(message_id))
    await marks.unmark_story(post_id, mark, stores=context.stores, marks=context.own.story_marks)


def _mark_response(mark: StoryMark) -> StoryMarkResponse:
    return StoryMarkResponse(
        story_id=str(mark.post_id), mark=mark.mark, headline=mark.headline, marked_at=mark.marked_at
    )
