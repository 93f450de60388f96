"""Helpers for tests of the graph: a graph that is erased at the end, posts that forward, link and mention,
and the whole content of a graph.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.files import MediaRules
from telegram_assistant.domain.posts.post import Json, Origin, Post, TextEntity
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.events import PostParsed
from telegram_assistant.graph import opening
from telegram_assistant.graph.store import Graph
from telegram_assistant.settings import GraphSettings, read_group
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from testkit.factories import make_page, make_post


@asynccontextmanager
async def opened_graph(
    environ: Mapping[str, str], *, name: str, is_there: bool = True
) -> AsyncIterator[Graph]:
    async with opening.open_graph(read_group(GraphSettings, environ), name=name) as graph:
        assert graph is not None
        if is_there:
            await graph.erase()
        yield graph
        if is_there:
            await graph.erase()


def make_linked(
    channel_id: int,
    message_id: int,
    *,
    source: tuple[int, int | None] | None = None,
    url: str = "",
    **more: Any,
) -> Post:
    """A post that forwards, or leads to a page."""
    origin = (
        Origin(ChannelId(source[0]), None if source[1] is None else MessageId(source[1])) if source else None
    )
    entities = (TextEntity("text_url", 0, 4, url),) if url else ()
    return make_post(
        channel_id=channel_id, message_id=message_id, forwarded_from=origin, entities=entities, **more
    )


async def land(system: SystemStores, *posts: Post, read_at: Any = None) -> list[PostId]:
    """Lands the posts and saves their derived data, as the program does."""
    for channel_id in dict.fromkeys(post.channel_id for post in posts):
        own = [post for post in posts if post.channel_id == channel_id]
        await system.landing.land(
            make_page(*own, **({"read_at": read_at} if read_at else {})), Claim(channel_id, 0)
        )
    events = [PostParsed.about(post.id, 1, occurred_at=post.posted_at) for post in posts]
    rules = MediaRules(has_place=False, max_bytes=0, quota_bytes=0)
    await post_persistence(
        list(events),
        posts=system.posts,
        versions=system.versions,
        media=system.media,
        media_rules=rules,
        albums=system.albums,
    )
    return [post.id for post in posts]


async def understand(
    system: SystemStores, post_id: PostId, *names: str, tier: Tier = Tier.LOCAL, tags: Sequence[str] = ()
) -> None:
    data: Mapping[str, Json] = {
        "tags": list(tags),
        "entities": [{"text": name, "kind": "person"} for name in names],
    }
    await system.enrichments.save([Enrichment(post_id, 1, Kind.TAGS, tier, data)])


EVERYTHING = """
MATCH (d:Day )-[e]->(t) WHERE d.channel IN $channels
RETURN d.key AS day, type(e) AS edge, coalesce(e.sight, '') AS sight,
    coalesce(t.url, t.key, t.name, toString(t.id)) AS to, e.posts AS posts
"""
POSTS = """
MATCH (p:Post )-[r]->(o:Post ) WHERE p.channel IN $channels RETURN p.id AS day, type(r) AS edge, '' AS sight,
    o.id AS to, [p.at] AS posts
"""


async def load_graph(graph: Graph, *channels: int) -> dict[tuple[str, str, str, str], list[int]]:
    """Every edge of these channels, with the posts that it counts."""
    rows = await graph.ask(EVERYTHING, channels=channels) + await graph.ask(POSTS, channels=channels)
    return {(row["day"], row["edge"], row["sight"], row["to"]): sorted(row["posts"]) for row in rows}
