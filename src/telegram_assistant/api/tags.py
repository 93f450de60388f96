"""Tags: which there are, how a tenant calls them, which its posts carry."""

from datetime import timedelta
from typing import Annotated

from fastapi import Path, Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.feed import POST_EXAMPLE, FeedShown, feed_cursor, feed_shown
from telegram_assistant.api.request_context import Ask
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import CursorText, Limit, Moment, Shown, Storable, Wish
from telegram_assistant.domain.tenants.access import Scope
from telegram_assistant.domain.understanding.vocabulary import LONGEST_TAG
from telegram_assistant.features.tags import ShownTag, choose_tag, most_used, posts_by_tag, vocabulary

area = Area("Tags", "The vocabulary, what posts carry of it, and how you want it called.")

WEEK, MONTH = timedelta(days=7), timedelta(days=31)
TAG_EXAMPLE = {"language": "en", "tag": "bridges", "topic": "city", "shown_as": None, "hidden": False}
TagName = Annotated[Storable, Path(min_length=1, max_length=100, description="The tag, as the vocabulary spells it.", examples=["bridges"])]
ShownName = Annotated[Storable, Path(min_length=1, max_length=100, description="The tag, as you call it.", examples=["bridges"])]


class TagShown(Shown):
    """A tag, and what you call it."""

    language: str
    tag: str
    topic: str
    shown_as: str | None
    hidden: bool


class TagsShown(Shown):
    """By language and topic."""

    items: list[TagShown]


class TagChoiceWish(Wish):
    """Another name for a tag, or not to be shown at all. With neither, the tag is shown as it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"shown_as": "crossings"}, {"hidden": True}]})

    shown_as: Annotated[Storable, Field(min_length=1, max_length=LONGEST_TAG)] | None = None
    hidden: bool = False


class TagUseShown(Shown):
    """How often posts carry a tag."""

    tag: str
    posts: int
    channels: int


class TagUsesShown(Shown):
    """The most used first."""

    items: list[TagUseShown]


@area.get("/tags", scope=Scope.READ, example={"items": [TAG_EXAMPLE]})
async def list_tags(
    ask: Ask, language: Annotated[Storable | None, Query(max_length=8, description="Only of this language: ru or en.")] = None
) -> TagsShown:
    """The whole vocabulary, hidden tags included and marked."""
    return TagsShown(items=[_tag(one) for one in await vocabulary(stores=ask.stores, language=language)])


@area.get("/tags/most-used", scope=Scope.READ, example={"items": [{"tag": "bridges", "posts": 12, "channels": 3}]})
async def list_most_used_tags(
    ask: Ask,
    since: Annotated[Moment | None, Query(description="Posts since then; without it, seven days before the end.")] = None,
    until: Annotated[Moment | None, Query(description="Posts before then; without it, until now. At most 31 days after `since`.")] = None,
    limit: Limit = 50,
) -> TagUsesShown:
    """Which tags your posts carry most, under your names."""
    end = until or ask.now
    used = await most_used(since or end - WEEK, end, stores=ask.stores, limit=limit)
    return TagUsesShown(items=[TagUseShown(tag=one.tag, posts=one.posts, channels=one.channels) for one in used])


@area.put("/tags/{tag}", scope=Scope.WRITE, example={"items": [{**TAG_EXAMPLE, "shown_as": "crossings"}]})
async def choose_tag_name(ask: Ask, tag: TagName, wish: TagChoiceWish) -> TagsShown:
    """Hide a tag, or call it by another name."""
    ask.note(shown_as=wish.shown_as, hidden=wish.hidden)
    chosen = await choose_tag(tag, stores=ask.stores, shown_as=wish.shown_as, hidden=wish.hidden)
    return TagsShown(items=[_tag(one) for one in chosen])


@area.get("/tags/{tag}/posts", scope=Scope.READ, example={"items": [POST_EXAMPLE], "next": None})
async def list_posts_by_tag(
    ask: Ask,
    tag: ShownName,
    since: Annotated[Moment | None, Query(description="Posts since then; without it, of the last 31 days.")] = None,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> FeedShown:
    """Posts that carry a tag, the newest first."""
    page = await posts_by_tag(tag, since=since or ask.now - MONTH, stores=ask.stores, limit=limit, before=feed_cursor(cursor))
    return feed_shown(page)


def _tag(one: ShownTag) -> TagShown:
    return TagShown.model_validate(one, from_attributes=True)
