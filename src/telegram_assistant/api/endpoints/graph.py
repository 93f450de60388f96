"""Who forwards whom, how a post spread, which channels are alike, who links to a page."""

from datetime import date, datetime
from typing import Annotated

from fastapi import Query
from pydantic import Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import MAX_ID, ChannelNumber, Limit, MessageNumber, ResponseModel, Storable
from telegram_assistant.domain.graph.graph_facts import DAYS_KEPT
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.links import MAX_URL_LENGTH
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.graph import (
    Engine,
    ForwardEdge,
    GraphChannel,
    GraphScope,
    SharingPost,
    Similar,
    similar_channels,
    spread,
    who_forwards,
    who_links,
)

area = Area("Graph", "Who forwards whom, and where things come from; computed from what you follow.")

Days = Annotated[int, Query(ge=1, le=DAYS_KEPT, description="So far back.")]
PLACE_EXAMPLE = {"channel_id": 1234567890, "channel": "City news", "is_followed": True}
OTHER_EXAMPLE = {"channel_id": 1234567891, "channel": "", "is_followed": False}
SHOWING_EXAMPLE = {
    "post_id": "1234567890/42",
    "channel": PLACE_EXAMPLE,
    "posted_at": "2026-11-15T08:00:00Z",
    "link": "https://t.me/citynews/42",
}
BY_GRAPH = {"since": "2026-10-16", "answered_by": "graph", "notice": ""}


class GraphChannelResponse(ResponseModel):
    """A channel. One that you do not follow is known by its number only."""

    channel_id: int
    channel: str
    is_followed: bool


class SharingPostResponse(ResponseModel):
    """A post of a followed channel that shows what was asked for."""

    post_id: str
    channel: GraphChannelResponse
    posted_at: datetime
    link: str


class GraphResponse(ResponseModel):
    """How far back was looked, and by what."""

    since: date
    answered_by: Engine
    notice: str = Field(description="Why PostgreSQL has answered and not the graph; empty otherwise.")


class ForwardEdgeResponse(ResponseModel):
    """How often a channel has forwarded another."""

    channel: GraphChannelResponse
    source: GraphChannelResponse
    posts: int
    first_day: date
    last_day: date


class ForwardsResponse(GraphResponse):
    """The most first."""

    items: list[ForwardEdgeResponse]


class SpreadResponse(GraphResponse):
    """Where a post comes from, and who has forwarded it, the first first."""

    origin: str
    source: GraphChannelResponse
    original: SharingPostResponse | None = Field(description="null: you do not follow its channel, or it is gone.")
    forwards: list[SharingPostResponse]


class CommonGroundResponse(ResponseModel):
    """What two channels have in common."""

    kind: str
    what: str


class SimilarChannelResponse(ResponseModel):
    """A channel, how much it is like the one asked about, and by what."""

    channel: GraphChannelResponse
    score: float
    shared: int
    examples: list[CommonGroundResponse]


class SimilarChannelsResponse(GraphResponse):
    """The most similar first."""

    channel: GraphChannelResponse
    items: list[SimilarChannelResponse]


class LinkingPostsResponse(GraphResponse):
    """Posts that lead to a page, the first first."""

    url: str
    items: list[SharingPostResponse]


@area.get(
    "/graph/forwards",
    scope=KeyScope.READ,
    example={
        **BY_GRAPH,
        "items": [{"channel": PLACE_EXAMPLE, "source": OTHER_EXAMPLE, "posts": 12, "first_day": "2026-10-20", "last_day": "2026-11-14"}],
    },
)
async def list_forwards(
    context: Context,
    channel_id: Annotated[int | None, Query(ge=1, le=MAX_ID, description="Only what this channel forwards, and who forwards it.")] = None,
    days: Days = 30,
    limit: Limit = 50,
) -> ForwardsResponse:
    """Who forwards whom."""
    found = await who_forwards(_asking(context, days), channel_id=ChannelId(channel_id) if channel_id else None, limit=limit)
    return ForwardsResponse(items=[_forwarded(one) for one in found.forwarded], since=found.since, answered_by=found.by.engine, notice=found.by.why)


@area.get(
    "/posts/{channel_id}/{message_id}/spread",
    scope=KeyScope.READ,
    example={**BY_GRAPH, "origin": "1234567891/7", "source": OTHER_EXAMPLE, "original": None, "forwards": [SHOWING_EXAMPLE]},
)
async def get_spread(context: Context, channel_id: ChannelNumber, message_id: MessageNumber, days: Days = 30, limit: Limit = 50) -> SpreadResponse:
    """How a post spread, or the one that it forwards.

    Who had it first is `original`, or else the first of `forwards`.
    """
    found = await spread(_asking(context, days), PostId(ChannelId(channel_id), MessageId(message_id)), limit=limit)
    return SpreadResponse(
        origin=str(found.origin),
        source=_place(found.source),
        original=_showing(found.original) if found.original else None,
        forwards=[_showing(one) for one in found.forwards],
        since=found.since,
        answered_by=found.by.engine,
        notice=found.by.why,
    )


@area.get(
    "/channels/{channel_id}/similar",
    scope=KeyScope.READ,
    example={
        **BY_GRAPH,
        "channel": PLACE_EXAMPLE,
        "items": [{"channel": PLACE_EXAMPLE, "score": 0.4, "shared": 3, "examples": [{"kind": "page", "what": "https://example.com/"}]}],
    },
)
async def list_similar_channels(context: Context, channel_id: ChannelNumber, days: Days = 30, limit: Limit = 10) -> SimilarChannelsResponse:
    """Followed channels with the same sources, pages and names; only the graph knows (404 where it is off)."""
    found = await similar_channels(_asking(context, days), ChannelId(channel_id), limit=limit)
    return SimilarChannelsResponse(
        channel=_place(found.channel),
        items=[_similar(one) for one in found.similar],
        since=found.since,
        answered_by=found.by.engine,
        notice=found.by.why,
    )


@area.get("/graph/links", scope=KeyScope.READ, example={**BY_GRAPH, "url": "https://example.com/article", "items": [SHOWING_EXAMPLE]}, also=(404,))
async def list_links(
    context: Context,
    url: Annotated[Storable, Query(min_length=1, max_length=MAX_URL_LENGTH, description="The page.", examples=["https://example.com/article"])],
    days: Days = 30,
    limit: Limit = 50,
) -> LinkingPostsResponse:
    """Who links to a page, the first first; only the graph knows (404 where it is off)."""
    found = await who_links(_asking(context, days), url, limit=limit)
    return LinkingPostsResponse(
        url=found.url, items=[_showing(one) for one in found.posts], since=found.since, answered_by=found.by.engine, notice=found.by.why
    )


def _asking(context: Context, days: int) -> GraphScope:
    return GraphScope(stores=context.stores, graph=context.app.graph, now=context.now, days=days)


def _forwarded(one: ForwardEdge) -> ForwardEdgeResponse:
    return ForwardEdgeResponse(
        channel=_place(one.channel), source=_place(one.source), posts=one.posts, first_day=one.first_day, last_day=one.last_day
    )


def _similar(one: Similar) -> SimilarChannelResponse:
    examples = [CommonGroundResponse(kind=example.kind, what=example.what) for example in one.examples]
    return SimilarChannelResponse(channel=_place(one.channel), score=one.score, shared=one.shared, examples=examples)


def _place(place: GraphChannel) -> GraphChannelResponse:
    return GraphChannelResponse(channel_id=place.channel_id, channel=place.title, is_followed=place.is_followed)


def _showing(one: SharingPost) -> SharingPostResponse:
    return SharingPostResponse(post_id=str(one.post_id), channel=_place(one.channel), posted_at=one.posted_at, link=one.link)
