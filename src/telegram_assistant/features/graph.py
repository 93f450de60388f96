"""Who forwards whom, how a post spread, who had it first, which channels are alike, and who links to a page.

Everything is computed from posts of channels that the tenant follows; a source that it does not follow is a number that its own
posts show. What forwards say is answered by PostgreSQL too, in the same words, where there is no graph or it does not answer.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from telegram_assistant.domain.graph.graph_facts import DAYS_KEPT, Appearance, day_before, page_of
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.links import link_to, normal_url
from telegram_assistant.errors import Busy, Missing, Rejected
from telegram_assistant.graph.questions import GraphQuestions, Shared
from telegram_assistant.graph.store import Graph
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel
from telegram_assistant.stores.postgres.posts.forwards import Forwards
from telegram_assistant.stores.postgres.stores import TenantStores


class Engine(StrEnum):
    """Who has answered."""

    GRAPH = "graph"
    POSTGRES = "postgres"


@dataclass(frozen=True, slots=True)
class AnsweredSource:
    """Who has answered, and why not the graph."""

    engine: Engine
    why: str = ""


@dataclass(frozen=True, slots=True)
class GraphChannel:
    """A channel. One that the tenant does not follow has no title: it is known by number only."""

    channel_id: ChannelId
    title: str = ""
    is_followed: bool = False


@dataclass(frozen=True, slots=True)
class SharingPost:
    """A post of a followed channel that shows what was asked for."""

    post_id: PostId
    channel: GraphChannel
    posted_at: datetime
    link: str


@dataclass(frozen=True, slots=True)
class ForwardEdge:
    """How often a channel has forwarded another."""

    channel: GraphChannel
    source: GraphChannel
    posts: int
    first_day: date
    last_day: date


@dataclass(frozen=True, slots=True)
class ForwardingChannels:
    """The most first."""

    since: date
    by: AnsweredSource
    forwarded: tuple[ForwardEdge, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """From where a post comes, and who has forwarded it, the first first."""

    origin: PostId
    source: GraphChannel
    since: date
    by: AnsweredSource
    original: SharingPost | None
    """None: the tenant does not follow its channel, or it is gone."""
    forwards: tuple[SharingPost, ...]


@dataclass(frozen=True, slots=True)
class FirstSeen:
    """Where something was seen first."""

    since: date
    by: AnsweredSource
    first: SharingPost | None
    is_original: bool = False


@dataclass(frozen=True, slots=True)
class Similar:
    """A channel that is like the one asked about, and by what."""

    channel: GraphChannel
    score: float
    shared: int
    examples: tuple[Shared, ...]


@dataclass(frozen=True, slots=True)
class SimilarChannels:
    """The most similar first."""

    channel: GraphChannel
    since: date
    by: AnsweredSource
    similar: tuple[Similar, ...]


@dataclass(frozen=True, slots=True)
class LinkingPosts:
    """Posts that lead to a page, the first first."""

    url: str
    since: date
    by: AnsweredSource
    posts: tuple[SharingPost, ...]


@dataclass(frozen=True, slots=True)
class GraphScope:
    """For whom, where, and how far back."""

    stores: TenantStores
    graph: Graph | None
    now: datetime
    days: int = 30

    @property
    def since(self) -> date:
        return day_before(self.now, min(self.days, DAYS_KEPT))

    async def either[T](self, ask: Callable[[GraphQuestions | Forwards], Awaitable[T]]) -> tuple[T, AnsweredSource]:
        """Of the graph, or of PostgreSQL."""
        try:
            return await ask(await self.questions()), AnsweredSource(Engine.GRAPH)
        except (Busy, Missing) as error:
            return await ask(self.stores.forwards), AnsweredSource(Engine.POSTGRES, str(error))

    async def questions(self) -> GraphQuestions:
        if self.graph is None:
            raise Missing("the graph is off: NEO4J_URI is empty")
        return GraphQuestions(self.graph, await self.stores.forwards.visible())

    async def places(self) -> "Places":
        return Places({one.channel_id: one for one in await self.stores.followed.channels() if one.active})


@dataclass(frozen=True, slots=True)
class Places:
    """The channels that a tenant follows."""

    followed: Mapping[ChannelId, FollowedChannel]

    def of(self, channel_id: ChannelId) -> GraphChannel:
        channel = self.followed.get(channel_id)
        return GraphChannel(channel_id) if channel is None else GraphChannel(channel_id, channel.title, is_followed=True)

    def named(self, shared: Shared) -> Shared:
        """Channels by their title, where the tenant knows it."""
        place = self.of(ChannelId(int(shared.what))) if shared.kind == "channel" else None
        return shared if place is None or not place.title else Shared(shared.kind, place.title)

    def showing(self, found: Sequence[Appearance]) -> tuple[SharingPost, ...]:
        return tuple(
            SharingPost(one.post_id, self.of(one.post_id.channel_id), one.posted_at, link_to(one.post_id, channel.username))
            for one in found
            if (channel := self.followed.get(one.post_id.channel_id)) is not None
        )


async def who_forwards(asking: GraphScope, *, channel_id: ChannelId | None = None, limit: int = 50) -> ForwardingChannels:
    """Between all channels, or what one of them forwards and who forwards it."""
    found, by = await asking.either(lambda engine: engine.forwardings(since=asking.since, of=channel_id, limit=limit))
    places = await asking.places()
    forwarded = tuple(ForwardEdge(places.of(one.channel_id), places.of(one.source_id), one.posts, one.first_day, one.last_day) for one in found)
    return ForwardingChannels(asking.since, by, forwarded)


async def spread(asking: GraphScope, post_id: PostId, *, limit: int = 200) -> Spread:
    """Of the post itself, or of the one that it forwards. Missing where the tenant sees nothing of it."""
    asked = await asking.stores.feed.post(post_id)
    came = asked.post.forwarded_from if asked is not None else None
    origin = PostId(came.channel_id, came.message_id) if came is not None and came.message_id is not None else post_id
    found, by = await asking.either(lambda engine: engine.forwards_of(origin, since=asking.since, limit=limit))
    places = await asking.places()
    original = places.showing(await asking.stores.forwards.appearances([origin]))
    forwards = places.showing(found)
    if asked is None and not (original or forwards):
        raise Missing(f"there is no post {post_id} in the channels that are followed")
    return Spread(origin, places.of(origin.channel_id), asking.since, by, next(iter(original), None), forwards)


async def first_seen(asking: GraphScope, post_id: PostId) -> FirstSeen:
    """Who of the followed channels had a post first: the one that wrote it, if it is followed, else the first that forwarded it."""
    found = await spread(asking, post_id, limit=1)
    first = found.original or next(iter(found.forwards), None)
    return FirstSeen(found.since, found.by, first, is_original=found.original is not None)


async def who_links(asking: GraphScope, url: str, *, limit: int = 200) -> LinkingPosts:
    """Only the graph knows. Missing where it is off, Busy where it does not answer."""
    normal = normal_url(url)
    if normal is None:
        raise Rejected(f"{url!r} is no address of a page")
    page = page_of(normal)
    found = await (await asking.questions()).links_to(page, since=asking.since)
    showing = (await asking.places()).showing(await asking.stores.forwards.appearances(found))
    return LinkingPosts(page, asking.since, AnsweredSource(Engine.GRAPH), showing[:limit])


async def first_link(asking: GraphScope, url: str) -> FirstSeen:
    """Who of the followed channels has linked to a page first."""
    found = await who_links(asking, url, limit=1)
    return FirstSeen(found.since, found.by, next(iter(found.posts), None))


async def similar_channels(asking: GraphScope, channel_id: ChannelId, *, limit: int = 10) -> SimilarChannels:
    """By the sources, pages and names that both have. Only the graph knows."""
    places = await asking.places()
    if channel_id not in places.followed:
        raise Missing(f"channel {channel_id} is not followed")
    found = await (await asking.questions()).similar(channel_id, since=asking.since, limit=limit)
    similar = tuple(Similar(places.of(one.channel_id), one.score, one.shared, tuple(map(places.named, one.examples))) for one in found)
    return SimilarChannels(places.of(channel_id), asking.since, AnsweredSource(Engine.GRAPH), similar)
