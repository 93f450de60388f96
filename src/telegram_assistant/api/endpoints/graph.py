"""The graph: who forwards whom, how a post spread, which channels are similar, who links to a page."""

from datetime import date, datetime
from typing import Annotated

from fastapi import Query
from pydantic import Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    MAX_ID,
    ChannelNumber,
    Limit,
    MessageNumber,
    ResponseModel,
    Storable,
)
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
    trace_spread,
    who_forwards,
    who_links,
)

area = Area(
    "Graph",
    "Who forwards whom, where posts come from, similar channels and links, "
    "computed from the channels that you follow.",
)

Days = Annotated[int, Query(ge=1, le=DAYS_KEPT, description="How many days back to look.")]
FOLLOWED_EXAMPLE = {"channel_id": 1234567890, "channel": "City news", "is_followed": True}
UNFOLLOWED_EXAMPLE = {"channel_id": 1234567891, "channel": "", "is_followed": False}
POST_EXAMPLE = {
    "post_id": "1234567890/42",
    "channel": FOLLOWED_EXAMPLE,
    "posted_at": "2026-11-15T08:00:00Z",
    "link": "https://t.me/citynews/42",
}
GRAPH_EXAMPLE = {"since": "2026-10-16", "answered_by": "graph", "notice": ""}


class GraphChannelResponse(ResponseModel):
    """A channel; `channel` is its title. If you do not follow it, only its id is known."""

    channel_id: int
    channel: str
    is_followed: bool


class SharingPostResponse(ResponseModel):
    """A post of a followed channel that is the original, forwards it, or has the link."""

    post_id: str
    channel: GraphChannelResponse
    posted_at: datetime
    link: str


class GraphResponse(ResponseModel):
    """Fields of every graph response. `since` is the first day that was searched."""

    since: date
    answered_by: Engine
    notice: str = Field(description="Why PostgreSQL answered instead of the graph; empty otherwise.")


class ForwardEdgeResponse(ResponseModel):
    """How often `channel` forwarded posts of `source`."""

    channel: GraphChannelResponse
    source: GraphChannelResponse
    posts: int
    first_day: date
    last_day: date


class ForwardsResponse(GraphResponse):
    """Forwards between channels, the most frequent first."""

    items: list[ForwardEdgeResponse]


class SpreadResponse(GraphResponse):
    """The origin of a post, and the posts that forward it, earliest first."""

    origin: str = Field(description="Id of the original post.")
    source: GraphChannelResponse
    original: SharingPostResponse | None = Field(
        description="The original post; null: you do not follow its channel, or it no longer exists."
    )
    forwards: list[SharingPostResponse]


class SharedItemResponse(ResponseModel):
    """An item that two channels have in common. `kind` is `channel`, `page` or `name`."""

    kind: str
    what: str


class SimilarChannelResponse(ResponseModel):
    """A channel with its similarity score, and examples of what both channels share."""

    channel: GraphChannelResponse
    score: float
    shared: int
    examples: list[SharedItemResponse]


class SimilarChannelsResponse(GraphResponse):
    """Similar channels, the most similar first."""

    channel: GraphChannelResponse
    items: list[SimilarChannelResponse]


class LinkingPostsResponse(GraphResponse):
    """Posts that link to a page, earliest first."""

    url: str
    items: list[SharingPostResponse]


@area.get(
    "/graph/forwards",
    scope=KeyScope.READ,
    example={
        **GRAPH_EXAMPLE,
        "items": [
            {
                "channel": FOLLOWED_EXAMPLE,
                "source": UNFOLLOWED_EXAMPLE,
                "posts": 12,
                "first_day": "2026-10-20",
                "last_day": "2026-11-14",
            }
        ],
    },
)
async def list_forwards(
    context: Context,
    channel_id: Annotated[
        int | None, Query(ge=1, le=MAX_ID, description="Only forwards by this channel or from it.")
    ] = None,
    days: Days = 30,
    limit: Limit = 50,
) -> ForwardsResponse:
    """List which channels forward which."""
    forwards = await who_forwards(
        _graph_scope(context, days), channel_id=ChannelId(channel_id) if channel_id else None, limit=limit
    )
    return ForwardsResponse(
        items=[_edge_response(edge) for edge in forwards.forwarded],
        since=forwards.since,
        answered_by=forwards.by.engine,
        notice=context.translate(forwards.by.why) or "",
    )


@area.get(
    "/posts/{channel_id}/{message_id}/spread",
    scope=KeyScope.READ,
    example={
        **GRAPH_EXAMPLE,
        "origin": "1234567891/7",
        "source": UNFOLLOWED_EXAMPLE,
        "original": None,
        "forwards": [POST_EXAMPLE],
    },
)
async def get_spread(
    context: Context, channel_id: ChannelNumber, message_id: MessageNumber, days: Days = 30, limit: Limit = 50
) -> SpreadResponse:
    """Get how a post spread.

    For a forward, this is how the post that it forwards spread. The first post is `original`; if that is
    null, the first of `forwards`.
    """
    spreading = await trace_spread(
        _graph_scope(context, days), PostId(ChannelId(channel_id), MessageId(message_id)), limit=limit
    )
    return SpreadResponse(
        origin=str(spreading.origin),
        source=_channel_response(spreading.source),
        original=_post_response(spreading.original) if spreading.original else None,
        forwards=[_post_response(forward) for forward in spreading.forwards],
        since=spreading.since,
        answered_by=spreading.by.engine,
        notice=context.translate(spreading.by.why) or "",
    )


@area.get(
    "/channels/{channel_id}/similar",
    scope=KeyScope.READ,
    example={
        **GRAPH_EXAMPLE,
        "channel": FOLLOWED_EXAMPLE,
        "items": [
            {
                "channel": FOLLOWED_EXAMPLE,
                "score": 0.4,
                "shared": 3,
                "examples": [{"kind": "page", "what": "https://example.com/"}],
            }
        ],
    },
)
async def list_similar_channels(
    context: Context, channel_id: ChannelNumber, days: Days = 30, limit: Limit = 10
) -> SimilarChannelsResponse:
    """List followed channels that share sources, pages and names with a channel.

    This needs the graph: 404 if it is off.
    """
    similarity = await similar_channels(_graph_scope(context, days), ChannelId(channel_id), limit=limit)
    return SimilarChannelsResponse(
        channel=_channel_response(similarity.channel),
        items=[_similar_response(similar) for similar in similarity.similar],
        since=similarity.since,
        answered_by=similarity.by.engine,
        notice=context.translate(similarity.by.why) or "",
    )


@area.get(
    "/graph/links",
    scope=KeyScope.READ,
    example={**GRAPH_EXAMPLE, "url": "https://example.com/article", "items": [POST_EXAMPLE]},
    also=(404,),
)
async def list_linking_posts(
    context: Context,
    url: Annotated[
        Storable,
        Query(
            min_length=1,
            max_length=MAX_URL_LENGTH,
            description="URL of the page.",
            examples=["https://example.com/article"],
        ),
    ],
    days: Days = 30,
    limit: Limit = 50,
) -> LinkingPostsResponse:
    """List posts that link to a page, earliest first.

    This needs the graph: 404 if it is off.
    """
    linking = await who_links(_graph_scope(context, days), url, limit=limit)
    return LinkingPostsResponse(
        url=linking.url,
        items=[_post_response(post) for post in linking.posts],
        since=linking.since,
        answered_by=linking.by.engine,
        notice=context.translate(linking.by.why) or "",
    )


def _graph_scope(context: Context, days: int) -> GraphScope:
    return GraphScope(stores=context.stores, graph=context.app.graph, now=context.now, days=days)


def _edge_response(edge: ForwardEdge) -> ForwardEdgeResponse:
    return ForwardEdgeResponse(
        channel=_channel_response(edge.channel),
        source=_channel_response(edge.source),
        posts=edge.posts,
        first_day=edge.first_day,
        last_day=edge.last_day,
    )


def _similar_response(similar: Similar) -> SimilarChannelResponse:
    examples = [SharedItemResponse(kind=example.kind, what=example.what) for example in similar.examples]
    return SimilarChannelResponse(
        channel=_channel_response(similar.channel),
        score=similar.score,
        shared=similar.shared,
        examples=examples,
    )


def _channel_response(channel: GraphChannel) -> GraphChannelResponse:
    return GraphChannelResponse(
        channel_id=channel.channel_id, channel=channel.title, is_followed=channel.is_followed
    )


def _post_response(post: SharingPost) -> SharingPostResponse:
    return SharingPostResponse(
        post_id=str(post.post_id),
        channel=_channel_response(post.channel),
        posted_at=post.posted_at,
        link=post.link,
    )
