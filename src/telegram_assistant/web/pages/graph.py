"""A channel between its sources and those that forward it: a picture to walk from channel to channel."""

from collections.abc import Sequence
from dataclasses import dataclass

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.features.graph import ForwardEdge, GraphChannel, GraphScope, find_neighbours
from telegram_assistant.web.views import Content, TenantView

DAYS = 30
MAX_EDGES = 40
MAX_SIMILAR = 10
ROW = 34
MIDDLE = 360
SIDES = {"sources": 250, "followers": 470}
THINNEST, THICKEST = 1.0, 8.0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A channel beside the one in the middle, its place in the picture, and how thick its line is."""

    channel: GraphChannel
    posts: int
    x: int
    y: float
    thickness: float


async def show(view: TenantView) -> Content:
    channel_id = ChannelId(view.request.path_params["channel"])
    scope = GraphScope(view.stores, view.app.graph, view.now, days=DAYS)
    neighbours = await find_neighbours(scope, channel_id, max_forwards=MAX_EDGES, max_similar=MAX_SIMILAR)
    sources = [edge for edge in neighbours.forwarded if edge.channel.channel_id == channel_id]
    followers = [edge for edge in neighbours.forwarded if edge.source.channel_id == channel_id]
    row_count = max(len(sources), len(followers), 1)
    return {
        "channel": neighbours.channel,
        "sources": _neighbours([source.source for source in sources], sources, "sources", row_count),
        "followers": _neighbours(
            [follower.channel for follower in followers], followers, "followers", row_count
        ),
        "height": row_count * ROW,
        "middle": MIDDLE,
        "days": DAYS,
        "similar": neighbours.similar,
        "why_none": neighbours.why_none,
    }


def _neighbours(
    channels: Sequence[GraphChannel], edges: Sequence[ForwardEdge], side: str, row_count: int
) -> tuple[Neighbour, ...]:
    max_posts = max((edge.posts for edge in edges), default=1)
    top = (row_count - len(edges)) * ROW / 2
    return tuple(
        Neighbour(
            channel,
            edge.posts,
            SIDES[side],
            top + (row + 0.5) * ROW,
            round(THINNEST + (THICKEST - THINNEST) * edge.posts / max_posts, 1),
        )
        for row, (channel, edge) in enumerate(zip(channels, edges, strict=True))
    )
