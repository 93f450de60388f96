"""Tags: the vocabulary, the tenant's own names for tags, and the posts with a tag."""

from datetime import timedelta
from typing import Annotated

from fastapi import Path, Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.endpoints.feed import POST_EXAMPLE, FeedResponse, feed_response, read_feed_cursor
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import CursorText, Limit, Moment, RequestModel, ResponseModel, Storable
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.understanding.vocabulary import MAX_TAG_LENGTH
from telegram_assistant.features.understanding.tags import (
    TenantTag,
    choose_tag,
    most_used,
    posts_by_tag,
    vocabulary,
)

area = Area("Tags", "The tag vocabulary, your own names for tags, and the posts with a tag.")

WEEK, MONTH = timedelta(days=7), timedelta(days=31)
TAG_EXAMPLE = {"language": "en", "tag": "bridges", "topic": "city", "shown_as": None, "hidden": False}
TagName = Annotated[
    Storable,
    Path(
        min_length=1, max_length=100, description="The tag as the vocabulary spells it.", examples=["bridges"]
    ),
]
ShownName = Annotated[
    Storable,
    Path(
        min_length=1,
        max_length=100,
        description="The tag, by your own name for it if it has one.",
        examples=["bridges"],
    ),
]


class TagResponse(ResponseModel):
    """A tag of the vocabulary, and your own name for it."""

    language: str
    tag: str
    topic: str
    shown_as: str | None
    hidden: bool


class TagsResponse(ResponseModel):
    """Tags, ordered by language and topic."""

    items: list[TagResponse]


class TagChoiceRequest(RequestModel):
    """Your own name for a tag, or `hidden`. With neither, the tag is shown as it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"shown_as": "crossings"}, {"hidden": True}]})

    shown_as: Annotated[Storable, Field(min_length=1, max_length=MAX_TAG_LENGTH)] | None = None
    hidden: bool = False


class TagUseResponse(ResponseModel):
    """How many posts and channels use a tag."""

    tag: str
    posts: int
    channels: int


class TagUsesResponse(ResponseModel):
    """Tags, the most used first."""

    items: list[TagUseResponse]


@area.get("/tags", scope=KeyScope.READ, example={"items": [TAG_EXAMPLE]})
async def list_tags(
    context: Context,
    language: Annotated[
        Storable | None, Query(max_length=8, description="Only tags of this language: ru or en.")
    ] = None,
) -> TagsResponse:
    """List the whole vocabulary, hidden tags included."""
    return TagsResponse(
        items=[_tag(tag) for tag in await vocabulary(stores=context.stores, language=language)]
    )


@area.get(
    "/tags/most-used",
    scope=KeyScope.READ,
    example={"items": [{"tag": "bridges", "posts": 12, "channels": 3}]},
)
async def list_most_used_tags(
    context: Context,
    since: Annotated[
        Moment | None, Query(description="Only posts since this time. Default: seven days before `until`.")
    ] = None,
    until: Annotated[
        Moment | None,
        Query(description="Only posts before this time. Default: now. At most 31 days after `since`."),
    ] = None,
    limit: Limit = 50,
) -> TagUsesResponse:
    """List the most used tags, under your own names."""
    end = until or context.now
    used_tags = await most_used(since or end - WEEK, end, stores=context.stores, limit=limit)
    return TagUsesResponse(
        items=[TagUseResponse(tag=tag.tag, posts=tag.posts, channels=tag.channels) for tag in used_tags]
    )


@area.put("/tags/{tag}", scope=KeyScope.WRITE, example={"items": [{**TAG_EXAMPLE, "shown_as": "crossings"}]})
async def choose_tag_name(context: Context, tag: TagName, body: TagChoiceRequest) -> TagsResponse:
    """Hide or rename a tag."""
    context.note(shown_as=body.shown_as, hidden=body.hidden)
    chosen_tags = await choose_tag(tag, stores=context.stores, shown_as=body.shown_as, is_hidden=body.hidden)
    return TagsResponse(items=[_tag(tenant_tag) for tenant_tag in chosen_tags])


@area.get(
    "/tags/{tag}/posts",
    scope=KeyScope.READ,
    example={"items": [POST_EXAMPLE], "next": None},
    is_expensive=True,
)
async def list_posts_by_tag(
    context: Context,
    tag: ShownName,
    since: Annotated[
        Moment | None, Query(description="Only posts since this time. Default: the last 31 days.")
    ] = None,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> FeedResponse:
    """List posts with a tag, newest first."""
    page = await posts_by_tag(
        tag,
        since=since or context.now - MONTH,
        stores=context.stores,
        limit=limit,
        before=read_feed_cursor(cursor),
    )
    return feed_response(page)


def _tag(tag: TenantTag) -> TagResponse:
    return TagResponse.model_validate(tag, from_attributes=True)
