"""A channel between its sources and those that forward it: a picture to walk from channel to channel."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Busy, Missing
from telegram_assistant.features.graph import (
    ForwardEdge,
    GraphChannel,
    GraphScope,
    similar_channels,
    who_forwards,
)
from telegram_assistant.web.views import Content, TenantView

DAYS = 30
MAX_EDGES = 40
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
    forwards, places = await asyncio.gather(
        who_forwards(scope, channel_id=channel_id, limit=MAX_EDGES), scope.places([channel_id])
    )
    sources = [edge for edge in forwards.forwarded if edge.channel.channel_id == channel_id]
    followers = [edge for edge in forwards.forwarded if edge.source.channel_id == channel_id]
    rows = max(len(sources), len(followers), 1)
    content = {
        "channel": places.channel_of(channel_id),
        "sources": _neighbours([source.source for source in sources], sources, "sources", rows),
        "followers": _neighbours([follower.channel for follower in followers], followers, "followers", rows),
        "height": rows * ROW,
        "middle": MIDDLE,
        "days": DAYS,
    }
    try:
        return {**content, "similar": (await similar_channels(scope, channel_id)).similar, "why_none": None}
    except (Missing, Busy) as error:
        return {**content, "similar": (), "why_none": error.reason}


def _neighbours(
    channels: Sequence[GraphChannel], edges: Sequence[ForwardEdge], side: str, rows: int
) -> tuple[Neighbour, ...]:
    max_posts = max((edge.posts for edge in edges), default=1)
    top = (rows - len(edges)) * ROW / 2
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
