"""Who forwards whom, how a post spread, which channels are alike, who links to a page."""

from datetime import date, datetime
from typing import Annotated

from fastapi import Query
from pydantic import Field

from telegram_assistant.api.request_context import Ask
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import LARGEST_ID, ChannelNumber, Limit, MessageNumber, Shown, Storable
from telegram_assistant.domain.graph.graph_facts import DAYS_KEPT
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.links import LONGEST_URL
from telegram_assistant.domain.tenants.access import Scope
from telegram_assistant.features.graph import Asking, Engine, Forwarded, Place, Showing, Similar, similar_channels, spread, who_forwards, who_links

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


class PlaceShown(Shown):
    """A channel. One that you do not follow is known by its number only."""

    channel_id: int
    channel: str
    is_followed: bool


class ShowingShown(Shown):
    """A post of a followed channel that shows what was asked for."""

    post_id: str
    channel: PlaceShown
    posted_at: datetime
    link: str


class Answered(Shown):
    """How far back was looked, and by what."""

    since: date
    answered_by: Engine
    notice: str = Field(description="Why PostgreSQL has answered and not the graph; empty otherwise.")


class ForwardedShown(Shown):
    """How often a channel has forwarded another."""

    channel: PlaceShown
    source: PlaceShown
    posts: int
    first_day: date
    last_day: date


class ForwardsShown(Answered):
    """The most first."""

    items: list[ForwardedShown]


class SpreadShown(Answered):
    """Where a post comes from, and who has forwarded it, the first first."""

    origin: str
    source: PlaceShown
    original: ShowingShown | None = Field(description="null: you do not follow its channel, or it is gone.")
    forwards: list[ShowingShown]


class SharedShown(Shown):
    """What two channels have in common."""

    kind: str
    what: str


class SimilarShown(Shown):
    """A channel, how much it is like the one asked about, and by what."""

    channel: PlaceShown
    score: float
    shared: int
    examples: list[SharedShown]


class SimilarsShown(Answered):
    """The most similar first."""

    channel: PlaceShown
    items: list[SimilarShown]


class LinksShown(Answered):
    """Posts that lead to a page, the first first."""

    url: str
    items: list[ShowingShown]


@area.get(
    "/graph/forwards",
    scope=Scope.READ,
    example={
        **BY_GRAPH,
        "items": [{"channel": PLACE_EXAMPLE, "source": OTHER_EXAMPLE, "posts": 12, "first_day": "2026-10-20", "last_day": "2026-11-14"}],
    },
)
async def list_forwards(
    ask: Ask,
    channel_id: Annotated[int | None, Query(ge=1, le=LARGEST_ID, description="Only what this channel forwards, and who forwards it.")] = None,
    days: Days = 30,
    limit: Limit = 50,
) -> ForwardsShown:
    """Who forwards whom."""
    found = await who_forwards(_asking(ask, days), channel_id=ChannelId(channel_id) if channel_id else None, limit=limit)
    return ForwardsShown(items=[_forwarded(one) for one in found.forwarded], since=found.since, answered_by=found.by.engine, notice=found.by.why)


@area.get(
    "/posts/{channel_id}/{message_id}/spread",
    scope=Scope.READ,
    example={**BY_GRAPH, "origin": "1234567891/7", "source": OTHER_EXAMPLE, "original": None, "forwards": [SHOWING_EXAMPLE]},
)
async def get_spread(ask: Ask, channel_id: ChannelNumber, message_id: MessageNumber, days: Days = 30, limit: Limit = 50) -> SpreadShown:
    """How a post spread, or the one that it forwards.

    Who had it first is `original`, or else the first of `forwards`.
    """
    found = await spread(_asking(ask, days), PostId(ChannelId(channel_id), MessageId(message_id)), limit=limit)
    return SpreadShown(
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
    scope=Scope.READ,
    example={
        **BY_GRAPH,
        "channel": PLACE_EXAMPLE,
        "items": [{"channel": PLACE_EXAMPLE, "score": 0.4, "shared": 3, "examples": [{"kind": "page", "what": "https://example.com/"}]}],
    },
)
async def list_similar_channels(ask: Ask, channel_id: ChannelNumber, days: Days = 30, limit: Limit = 10) -> SimilarsShown:
    """Followed channels with the same sources, pages and names; only the graph knows (404 where it is off)."""
    found = await similar_channels(_asking(ask, days), ChannelId(channel_id), limit=limit)
    return SimilarsShown(
        channel=_place(found.channel),
        items=[_similar(one) for one in found.similar],
        since=found.since,
        answered_by=found.by.engine,
        notice=found.by.why,
    )


@area.get("/graph/links", scope=Scope.READ, example={**BY_GRAPH, "url": "https://example.com/article", "items": [SHOWING_EXAMPLE]}, also=(404,))
async def list_links(
    ask: Ask,
    url: Annotated[Storable, Query(min_length=1, max_length=LONGEST_URL, description="The page.", examples=["https://example.com/article"])],
    days: Days = 30,
    limit: Limit = 50,
) -> LinksShown:
    """Who links to a page, the first first; only the graph knows (404 where it is off)."""
    found = await who_links(_asking(ask, days), url, limit=limit)
    return LinksShown(
        url=found.url, items=[_showing(one) for one in found.posts], since=found.since, answered_by=found.by.engine, notice=found.by.why
    )


def _asking(ask: Ask, days: int) -> Asking:
    return Asking(stores=ask.stores, graph=ask.app.graph, now=ask.now, days=days)


def _forwarded(one: Forwarded) -> ForwardedShown:
    return ForwardedShown(channel=_place(one.channel), source=_place(one.source), posts=one.posts, first_day=one.first_day, last_day=one.last_day)


def _similar(one: Similar) -> SimilarShown:
    examples = [SharedShown(kind=example.kind, what=example.what) for example in one.examples]
    return SimilarShown(channel=_place(one.channel), score=one.score, shared=one.shared, examples=examples)


def _place(place: Place) -> PlaceShown:
    return PlaceShown(channel_id=place.channel_id, channel=place.title, is_followed=place.is_followed)


def _showing(one: Showing) -> ShowingShown:
    return ShowingShown(post_id=str(one.post_id), channel=_place(one.channel), posted_at=one.posted_at, link=one.link)
