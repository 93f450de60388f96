"""Graph queries: who forwards whom, how a post spread, where it was first seen, similar channels, links to a
page.

Everything is computed from posts of channels that the tenant follows. Of a source that it does not follow,
only the id is known, from the tenant's own posts. If the graph is off or unavailable, PostgreSQL answers
queries about forwards with the same results.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from telegram_assistant.domain.graph.graph_facts import (
    DAYS_KEPT,
    Appearance,
    Forwarding,
    day_before,
    page_of,
)
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.links import link_to, normal_url
from telegram_assistant.errors import Busy, Missing, Rejected
from telegram_assistant.graph.questions import GraphQuestions, Likeness, SharedItem
from telegram_assistant.graph.store import Graph
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel
from telegram_assistant.stores.postgres.posts.forwards import Forwards
from telegram_assistant.stores.postgres.stores import TenantStores

GRAPH_OFF = Reason(
    "graph_off",
    "similar channels and links to pages need the graph, which is switched off on this server; "
    "its operator can switch it on",
)


class Engine(StrEnum):
    """The store that answered a query."""

    GRAPH = "graph"
    POSTGRES = "postgres"


@dataclass(frozen=True, slots=True)
class AnsweredSource:
    """The store that answered, and why it was not the graph."""

    engine: Engine
    why: Reason | None = None


@dataclass(frozen=True, slots=True)
class GraphChannel:
    """A channel. If the tenant does not follow it, only its id is known."""

    channel_id: ChannelId
    title: str = ""
    is_followed: bool = False


@dataclass(frozen=True, slots=True)
class SharingPost:
    """A post of a followed channel that is the original, a forward, or has the link."""

    post_id: PostId
    channel: GraphChannel
    posted_at: datetime
    link: str


@dataclass(frozen=True, slots=True)
class ForwardEdge:
    """How often `channel` forwarded posts of `source`."""

    channel: GraphChannel
    source: GraphChannel
    posts: int
    first_day: date
    last_day: date


@dataclass(frozen=True, slots=True)
class ForwardingChannels:
    """Forwards between channels, the most frequent first."""

    since: date
    by: AnsweredSource
    forwarded: tuple[ForwardEdge, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """The origin of a post, and the posts that forward it, earliest first."""

    origin: PostId
    source: GraphChannel
    since: date
    by: AnsweredSource
    original: SharingPost | None
    """None: the tenant does not follow its channel, or the post no longer exists."""
    forwards: tuple[SharingPost, ...]


@dataclass(frozen=True, slots=True)
class FirstSeen:
    """The first post with some content or link."""

    since: date
    by: AnsweredSource
    first: SharingPost | None
    is_original: bool = False


@dataclass(frozen=True, slots=True)
class Similar:
    """A similar channel, and what both channels share."""

    channel: GraphChannel
    score: float
    shared: int
    examples: tuple[SharedItem, ...]


@dataclass(frozen=True, slots=True)
class SimilarChannels:
    """Similar channels, the most similar first."""

    channel: GraphChannel
    since: date
    by: AnsweredSource
    similar: tuple[Similar, ...]


@dataclass(frozen=True, slots=True)
class NeighbourChannels:
    """Forwards by and from a channel, and the channels that are similar to it."""

    channel: GraphChannel
    forwarded: tuple[ForwardEdge, ...]
    similar: tuple[Similar, ...]
    why_none: Reason | None
    """Why similar channels are not known."""


@dataclass(frozen=True, slots=True)
class LinkingPosts:
    """Posts that link to a page, earliest first."""

    url: str
    since: date
    by: AnsweredSource
    posts: tuple[SharingPost, ...]


@dataclass(frozen=True, slots=True)
class GraphScope:
    """The scope of a graph query: the tenant's stores, the graph, and how far back to look."""

    stores: TenantStores
    graph: Graph | None
    now: datetime
    days: int = 30

    @property
    def since(self) -> date:
        return day_before(self.now, min(self.days, DAYS_KEPT))

    async def either[T](
        self, ask: Callable[[GraphQuestions | Forwards], Awaitable[T]]
    ) -> tuple[T, AnsweredSource]:
        """Asks the graph, or PostgreSQL if the graph is off or unavailable."""
        try:
            return await ask(await self.questions()), AnsweredSource(Engine.GRAPH)
        except (Busy, Missing) as error:
            return await ask(self.stores.forwards), AnsweredSource(Engine.POSTGRES, error.reason)

    async def questions(self) -> GraphQuestions:
        if self.graph is None:
            raise Missing(GRAPH_OFF)
        return GraphQuestions(self.graph, await self.stores.forwards.visible())

    async def places(self, only: Collection[ChannelId] | None = None) -> "Places":
        """The channels that the tenant follows, or those of `only` that it does."""
        followed_channels = (
            await self.stores.followed.channels()
            if only is None
            else (await self.stores.followed.some(only)).values()
        )
        return Places({channel.channel_id: channel for channel in followed_channels if channel.active})


@dataclass(frozen=True, slots=True)
class Places:
    """The channels that a tenant follows."""

    followed: Mapping[ChannelId, FollowedChannel]

    def channel_of(self, channel_id: ChannelId) -> GraphChannel:
        channel = self.followed.get(channel_id)
        return (
            GraphChannel(channel_id)
            if channel is None
            else GraphChannel(channel_id, channel.title, is_followed=True)
        )

    def name_channel(self, shared_item: SharedItem) -> SharedItem:
        """Replaces a channel's id by its title if the tenant follows it."""
        channel = self.channel_of(ChannelId(int(shared_item.what))) if shared_item.kind == "channel" else None
        return (
            shared_item
            if channel is None or not channel.title
            else SharedItem(shared_item.kind, channel.title)
        )

    def posts_of(self, appearances: Sequence[Appearance]) -> tuple[SharingPost, ...]:
        return tuple(
            SharingPost(
                appearance.post_id,
                self.channel_of(appearance.post_id.channel_id),
                appearance.posted_at,
                link_to(appearance.post_id, channel.username),
            )
            for appearance in appearances
            if (channel := self.followed.get(appearance.post_id.channel_id)) is not None
        )


async def who_forwards(
    scope: GraphScope, *, channel_id: ChannelId | None = None, limit: int = 50
) -> ForwardingChannels:
    """Returns forwards between all channels, or only those by or from one channel."""
    forwardings, by = await scope.either(
        lambda engine: engine.forwardings(since=scope.since, of_channel_id=channel_id, limit=limit)
    )
    places = await scope.places(
        {number for forwarding in forwardings for number in (forwarding.channel_id, forwarding.source_id)}
    )
    return ForwardingChannels(scope.since, by, _edges(forwardings, places))


def _edges(forwardings: Sequence[Forwarding], places: Places) -> tuple[ForwardEdge, ...]:
    return tuple(
        ForwardEdge(
            places.channel_of(forwarding.channel_id),
            places.channel_of(forwarding.source_id),
            forwarding.posts,
            forwarding.first_day,
            forwarding.last_day,
        )
        for forwarding in forwardings
    )


async def find_neighbours(
    scope: GraphScope, channel_id: ChannelId, *, max_forwards: int, max_similar: int
) -> NeighbourChannels:
    """Like `who_forwards` and `similar_channels` together, in fewer reads. Without the graph no similar
    channels are known.
    """
    neighbours: Sequence[Likeness] = ()
    why_none = None
    try:
        graph = await scope.questions()
        forwardings, neighbours = await asyncio.gather(
            graph.forwardings(since=scope.since, of_channel_id=channel_id, limit=max_forwards),
            graph.similar(channel_id, since=scope.since, limit=max_similar),
        )
    except (Busy, Missing) as error:
        why_none = error.reason
        forwardings = await scope.stores.forwards.forwardings(
            since=scope.since, of_channel_id=channel_id, limit=max_forwards
        )
    places = await scope.places(
        {channel_id}
        | {number for forwarding in forwardings for number in (forwarding.channel_id, forwarding.source_id)}
        | {number for neighbour in neighbours for number in _channels_in(neighbour)}
    )
    if channel_id not in places.followed:
        neighbours, why_none = (), _not_followed(channel_id)
    return NeighbourChannels(
        places.channel_of(channel_id), _edges(forwardings, places), _similar(neighbours, places), why_none
    )


async def trace_spread(scope: GraphScope, post_id: PostId, *, limit: int = 200) -> Spread:
    """Returns how the post spread, or the one that it forwards.

    Raises Missing if the tenant sees nothing of it.
    """
    stored_post = await scope.stores.feed.post(post_id)
    source = stored_post.post.forwarded_from if stored_post is not None else None
    origin_post_id = (
        PostId(source.channel_id, source.message_id)
        if source is not None and source.message_id is not None
        else post_id
    )
    appearances, answered_by = await scope.either(
        lambda engine: engine.list_forwards(origin_post_id, since=scope.since, limit=limit)
    )
    places = await scope.places()
    original = places.posts_of(await scope.stores.forwards.appearances([origin_post_id]))
    forwards = places.posts_of(appearances)
    if stored_post is None and not (original or forwards):
        raise Missing(
            Reason(
                "post_unknown_by_id",
                "your channels have no post {post_id}",
                post_id=str(post_id),
            )
        )
    return Spread(
        origin_post_id,
        places.channel_of(origin_post_id.channel_id),
        scope.since,
        answered_by,
        next(iter(original), None),
        forwards,
    )


async def first_seen(scope: GraphScope, post_id: PostId) -> FirstSeen:
    """Returns the original post if its channel is followed, otherwise the first post that forwards it."""
    post_spread = await trace_spread(scope, post_id, limit=1)
    first_post = post_spread.original or next(iter(post_spread.forwards), None)
    return FirstSeen(
        post_spread.since, post_spread.by, first_post, is_original=post_spread.original is not None
    )


async def who_links(scope: GraphScope, url: str, *, limit: int = 200) -> LinkingPosts:
    """Needs the graph: raises Missing if it is off, Busy if it does not answer."""
    normal = normal_url(url)
    if normal is None:
        raise Rejected(Reason("not_a_page_url", "{url!r} is not the URL of a page", url=url))
    page = page_of(normal)
    post_ids = await (await scope.questions()).links_to(page, since=scope.since)
    linking_posts = (await scope.places()).posts_of(await scope.stores.forwards.appearances(post_ids))
    return LinkingPosts(page, scope.since, AnsweredSource(Engine.GRAPH), linking_posts[:limit])


async def first_link(scope: GraphScope, url: str) -> FirstSeen:
    """Returns the first post of a followed channel that links to a page."""
    linking = await who_links(scope, url, limit=1)
    return FirstSeen(linking.since, linking.by, next(iter(linking.posts), None))


async def similar_channels(scope: GraphScope, channel_id: ChannelId, *, limit: int = 10) -> SimilarChannels:
    """Compares channels by the sources, pages and names that both have. Needs the graph."""
    if channel_id not in (await scope.places([channel_id])).followed:
        raise Missing(_not_followed(channel_id))
    neighbours = await (await scope.questions()).similar(channel_id, since=scope.since, limit=limit)
    places = await scope.places()
    return SimilarChannels(
        places.channel_of(channel_id),
        scope.since,
        AnsweredSource(Engine.GRAPH),
        _similar(neighbours, places),
    )


def _not_followed(channel_id: ChannelId) -> Reason:
    return Reason(
        "channel_not_followed_by_id", "you do not follow channel {channel_id}", channel_id=channel_id
    )


def _channels_in(neighbour: Likeness) -> set[ChannelId]:
    shared_ids = {
        ChannelId(int(shared_item.what))
        for shared_item in neighbour.examples
        if shared_item.kind == "channel"
    }
    return {neighbour.channel_id, *shared_ids}


def _similar(neighbours: Sequence[Likeness], places: Places) -> tuple[Similar, ...]:
    return tuple(
        Similar(
            places.channel_of(neighbour.channel_id),
            neighbour.score,
            neighbour.shared,
            tuple(map(places.name_channel, neighbour.examples)),
        )
        for neighbour in neighbours
    )
