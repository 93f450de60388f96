"""Tags: which there are, how a tenant calls them, which its posts carry."""

from datetime import timedelta
from typing import Annotated

from fastapi import Path, Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.endpoints.feed import POST_EXAMPLE, FeedResponse, feed_cursor, feed_shown
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import CursorText, Limit, Moment, RequestModel, ResponseModel, Storable
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.understanding.vocabulary import MAX_TAG_LENGTH
from telegram_assistant.features.tags import TenantTag, choose_tag, most_used, posts_by_tag, vocabulary

area = Area("Tags", "The vocabulary, what posts carry of it, and how you want it called.")

WEEK, MONTH = timedelta(days=7), timedelta(days=31)
TAG_EXAMPLE = {"language": "en", "tag": "bridges", "topic": "city", "shown_as": None, "hidden": False}
TagName = Annotated[Storable, Path(min_length=1, max_length=100, description="The tag, as the vocabulary spells it.", examples=["bridges"])]
ShownName = Annotated[Storable, Path(min_length=1, max_length=100, description="The tag, as you call it.", examples=["bridges"])]


class TagResponse(ResponseModel):
    """A tag, and what you call it."""

    language: str
    tag: str
    topic: str
    shown_as: str | None
    hidden: bool


class TagsResponse(ResponseModel):
    """By language and topic."""

    items: list[TagResponse]


class TagChoiceRequest(RequestModel):
    """Another name for a tag, or not to be shown at all. With neither, the tag is shown as it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"shown_as": "crossings"}, {"hidden": True}]})

    shown_as: Annotated[Storable, Field(min_length=1, max_length=MAX_TAG_LENGTH)] | None = None
    hidden: bool = False


class TagUseResponse(ResponseModel):
    """How often posts carry a tag."""

    tag: str
    posts: int
    channels: int


class TagUsesResponse(ResponseModel):
    """The most used first."""

    items: list[TagUseResponse]


@area.get("/tags", scope=KeyScope.READ, example={"items": [TAG_EXAMPLE]})
async def list_tags(
    context: Context, language: Annotated[Storable | None, Query(max_length=8, description="Only of this language: ru or en.")] = None
) -> TagsResponse:
    """The whole vocabulary, hidden tags included and marked."""
    return TagsResponse(items=[_tag(one) for one in await vocabulary(stores=context.stores, language=language)])


@area.get("/tags/most-used", scope=KeyScope.READ, example={"items": [{"tag": "bridges", "posts": 12, "channels": 3}]})
async def list_most_used_tags(
    context: Context,
    since: Annotated[Moment | None, Query(description="Posts since then; without it, seven days before the end.")] = None,
    until: Annotated[Moment | None, Query(description="Posts before then; without it, until now. At most 31 days after `since`.")] = None,
    limit: Limit = 50,
) -> TagUsesResponse:
    """Which tags your posts carry most, under your names."""
    end = until or context.now
    used = await most_used(since or end - WEEK, end, stores=context.stores, limit=limit)
    return TagUsesResponse(items=[TagUseResponse(tag=one.tag, posts=one.posts, channels=one.channels) for one in used])


@area.put("/tags/{tag}", scope=KeyScope.WRITE, example={"items": [{**TAG_EXAMPLE, "shown_as": "crossings"}]})
async def choose_tag_name(context: Context, tag: TagName, wish: TagChoiceRequest) -> TagsResponse:
    """Hide a tag, or call it by another name."""
    context.note(shown_as=wish.shown_as, hidden=wish.hidden)
    chosen = await choose_tag(tag, stores=context.stores, shown_as=wish.shown_as, hidden=wish.hidden)
    return TagsResponse(items=[_tag(one) for one in chosen])


@area.get("/tags/{tag}/posts", scope=KeyScope.READ, example={"items": [POST_EXAMPLE], "next": None})
async def list_posts_by_tag(
    context: Context,
    tag: ShownName,
    since: Annotated[Moment | None, Query(description="Posts since then; without it, of the last 31 days.")] = None,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> FeedResponse:
    """Posts that carry a tag, the newest first."""
    page = await posts_by_tag(tag, since=since or context.now - MONTH, stores=context.stores, limit=limit, before=feed_cursor(cursor))
    return feed_shown(page)


def _tag(one: TenantTag) -> TagResponse:
    return TagResponse.model_validate(one, from_attributes=True)
