"""The feed."""

from datetime import datetime

from pydantic import TypeAdapter

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    CursorText,
    Id,
    Limit,
    Micros,
    PageResponse,
    PostReferenceResponse,
    ResponseModel,
    read_cursor,
    write_cursor,
)
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import PostKind
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.timestamps import micros, moment
from telegram_assistant.features.feed.tenant_feed import FeedPage, newest_posts
from telegram_assistant.stores.postgres.feed.tenant_feed import Cursor
from telegram_assistant.stores.postgres.posts.rows import StoredPost

area = Area("Feed", "The newest posts of all followed channels.")

CURSOR = TypeAdapter(tuple[Micros, Id, Id])

POST_EXAMPLE = {
    "post_id": "1234567890/42",
    "channel_id": 1234567890,
    "message_id": 42,
    "channel": "City news",
    "link": "https://t.me/citynews/42",
    "posted_at": "2026-11-15T08:00:00Z",
    "edited_at": None,
    "deleted_at": None,
    "stored_at": "2026-11-15T08:00:04Z",
    "revision": 1,
    "kind": "text",
    "text": "Bridges open at night",
    "entities": [{"kind": "bold", "offset": 0, "length": 7, "url": None}],
    "reply_to": None,
    "forwarded_from": {"channel_id": 1234567891, "message_id": 7},
    "album_id": None,
    "language": "en",
    "author": None,
}


class EntityResponse(ResponseModel):
    """Formatting or a link in the text. `offset` and `length` count UTF-16 code units."""

    kind: str
    offset: int
    length: int
    url: str | None


class ForwardOriginResponse(ResponseModel):
    """The channel and the message that a post was forwarded from."""

    channel_id: int
    message_id: int | None


class PostResponse(PostReferenceResponse):
    """The current state of a post.

    A deleted post keeps its text; `deleted_at` is when we noticed the deletion.
    """

    edited_at: datetime | None
    deleted_at: datetime | None
    stored_at: datetime
    revision: int
    kind: PostKind
    text: str
    entities: list[EntityResponse]
    reply_to: int | None
    forwarded_from: ForwardOriginResponse | None
    album_id: int | None
    language: str | None
    author: str | None


class FeedResponse(PageResponse):
    """A page of the feed, newest first."""

    items: list[PostResponse]


@area.get(
    "/feed",
    scope=KeyScope.READ,
    example={"items": [POST_EXAMPLE], "next": "WzE3NjMxOTM2MDAwMDAwMDAsMTIzNDU2Nzg5MCw0Ml0"},
)
async def get_feed(context: Context, limit: Limit = 50, cursor: CursorText = None) -> FeedResponse:
    """List the newest posts of all followed channels.

    Posts are in exact order of publication. Deleted posts are included, with `deleted_at`.
    """
    page = await newest_posts(stores=context.stores, limit=limit, before=read_feed_cursor(cursor))
    return feed_response(page)


def feed_response(page: FeedPage) -> FeedResponse:
    """Returns a page of posts as every endpoint returns it."""
    items = [post_response(post.stored, channel=post.channel, link=post.link) for post in page.posts]
    after = page.next
    return FeedResponse(
        items=items,
        next=write_cursor(micros(after.posted_at), after.channel_id, after.message_id) if after else None,
    )


def post_response(stored_post: StoredPost, *, channel: str, link: str) -> PostResponse:
    """Returns a post as every endpoint returns it."""
    post = stored_post.post
    return PostResponse(
        post_id=str(post.id),
        channel_id=post.channel_id,
        message_id=post.message_id,
        channel=channel,
        link=link,
        posted_at=post.posted_at,
        edited_at=post.edited_at,
        deleted_at=stored_post.deleted_at,
        stored_at=stored_post.stored_at,
        revision=stored_post.revision,
        kind=post.kind,
        text=post.text,
        entities=[
            EntityResponse(kind=entity.kind, offset=entity.offset, length=entity.length, url=entity.url)
            for entity in post.entities
        ],
        reply_to=post.reply_to,
        forwarded_from=ForwardOriginResponse(channel_id=origin.channel_id, message_id=origin.message_id)
        if (origin := post.forwarded_from)
        else None,
        album_id=post.grouped_id,
        language=post.lang,
        author=post.author,
    )


def read_feed_cursor(text: str | None) -> Cursor | None:
    position = read_cursor(text, CURSOR)
    return (
        None
        if position is None
        else Cursor(moment(position[0]), ChannelId(position[1]), MessageId(position[2]))
    )
