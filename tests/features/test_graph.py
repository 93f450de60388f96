"""Answers of the graph: the same as PostgreSQL's, from what the tenant sees, and from nothing else."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from pydantic_core import to_json

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.understanding.policy import AiPolicy, Tier
from telegram_assistant.errors import Rejected
from telegram_assistant.features.graph import (
    AnsweredSource,
    Engine,
    FirstSeen,
    GraphScope,
    first_link,
    first_seen,
    similar_channels,
    trace_spread,
    who_forwards,
    who_links,
)
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.graph.questions import SharedItem
from telegram_assistant.graph.store import Graph
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import World, fresh_number, make_channel, make_subscription, make_tenant
from testkit.graphs import land, make_linked, opened_graph, understand
from tests.conftest import Admin
from tests.graph.conftest import graph_index

__all__ = ["graph_index"]

NOW = datetime.now(UTC).replace(microsecond=123_000)
PAGES = [f"https://news.example/{number}" for number in range(5)]
NAMES = ["Anna", "Boris", "Vera", "Gleb"]


def asking(pool: Pool, tenant_id: TenantId, index: GraphIndex | None, days: int = 30) -> GraphScope:
    return GraphScope(tenant_stores(pool, tenant_id), index.graph if index else None, NOW, days)


def draw_posts(rng: random.Random, channels: list[ChannelId], outside: int) -> list[Post]:
    """Some hundred posts that forward each other and strangers, over some weeks;
    many forward the same few.
    """
    sources = [*channels, ChannelId(outside), ChannelId(outside + 1)]
    posts = []
    for channel_id in channels:
        for number in range(100, 130):
            source = (rng.choice(sources), rng.choice([None, 1, 2, 3])) if rng.random() < 0.6 else None
            at = NOW - timedelta(seconds=rng.randrange(40 * 86400))
            posts.append(
                make_linked(
                    channel_id,
                    number,
                    source=source,
                    url=rng.choice(["", *PAGES]),
                    posted_at=at,
                    text=f"{number}",
                )
            )
    return posts


@pytest.fixture
async def forwarding_channels(
    world: World, system: SystemStores, admin: Admin, graph_index: GraphIndex, request: pytest.FixtureRequest
) -> list[ChannelId]:
    """A world of forwards: two tenants that share half their channels; some posts are deleted."""
    rng, outside = random.Random(getattr(request, "param", 1)), fresh_number()
    fresh_number()
    posts = await land(system, *draw_posts(rng, list(world.channels), outside))
    gone = rng.sample(posts, 20)
    for post in gone:
        await admin.execute(
            "UPDATE posts SET deleted_at = now(), state_version = state_version + 1 WHERE channel_id = $1 "
            "AND message_id = $2",
            post.channel_id,
            post.message_id,
        )
    for post in posts:
        if rng.random() < 0.5:
            await understand(system, post, *rng.sample(NAMES, 2))
    await graph_index.write(posts, now=NOW)
    return [*world.channels, ChannelId(outside), ChannelId(outside + 1)]


@pytest.mark.parametrize(
    "forwarding_channels",
    [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2))],
    indirect=True,
)
async def test_both_engines_give_the_same_answers(
    world: World, pool: Pool, forwarding_channels: list[ChannelId], graph_index: GraphIndex
) -> None:
    for tenant_id in (world.a, world.b):
        for days in (7, 30, 90):
            ours, plain = asking(pool, tenant_id, graph_index, days), asking(pool, tenant_id, None, days)
            for channel_id in (None, *forwarding_channels):
                by_graph, by_postgres = [
                    await who_forwards(scope, channel_id=channel_id, limit=500) for scope in (ours, plain)
                ]
                assert by_graph.by.engine is Engine.GRAPH
                assert by_postgres.by.engine is Engine.POSTGRES
                assert "switched off on this server" in str(by_postgres.by.why)
                assert replace(by_graph, by=by_postgres.by) == by_postgres
            for post_id in (
                PostId(channel_id, MessageId(number))
                for channel_id in forwarding_channels
                for number in (1, 2, 3)
            ):
                for question in (trace_spread, first_seen):
                    by_graph, by_postgres = [
                        await _answer(question, scope, post_id) for scope in (ours, plain)
                    ]
                    assert replace(by_graph, by=by_postgres.by) == by_postgres


async def _answer(
    question: Callable[[GraphScope, PostId], Awaitable[Any]], scope: GraphScope, post_id: PostId
) -> Any:
    """The answer to the question. A refusal of a post that the tenant does not see counts as an answer."""
    try:
        return await question(scope, post_id)
    except Rejected:
        return FirstSeen(scope.since, AnsweredSource(Engine.POSTGRES), None)


@pytest.mark.parametrize("forwarding_channels", [7], indirect=True)
async def test_a_tenant_s_answers_are_the_same_whether_or_not_another_exists(
    world: World,
    pool: Pool,
    forwarding_channels: list[ChannelId],
    graph_index: GraphIndex,
    system: SystemStores,
) -> None:
    """Everything of the other one leaves the graph, and not one byte of the answers changes."""

    async def answers() -> bytes:
        scope = asking(pool, world.a, graph_index, 90)
        collected: list[object] = [await who_forwards(scope, limit=500)]
        collected += [
            await _answer(trace_spread, scope, PostId(channel_id, MessageId(number)))
            for channel_id in forwarding_channels
            for number in (1, 2, 3)
        ]
        collected += [await similar_channels(scope, channel_id) for channel_id in sorted(world.of_a)]
        collected += [await who_links(scope, url) for url in PAGES] + [
            await first_link(scope, url) for url in PAGES
        ]
        return to_json(collected)

    before = await answers()
    for channel_id in world.only_b:
        assert str(channel_id).encode() in before  # as a number that the tenant's own posts show
        assert f"Channel {channel_id}".encode() not in before
        await world.stores_b.followed.leave(channel_id)
    theirs = [PostId(channel_id, MessageId(number)) for channel_id in world.only_b for number in range(200)]
    await graph_index.graph.write([], theirs)
    assert await answers() == before
    assert (
        await who_forwards(asking(pool, await make_tenant(system), graph_index), limit=500)
    ).forwarded == ()


async def test_both_engines_tell_of_each_channel_from_the_beginning_of_its_window_on(
    pool: Pool, system: SystemStores, graph_index: GraphIndex
) -> None:
    """Posts of the last five days; one channel is followed with a day of its past, one with three."""
    tenant_id, url, origin = (
        await make_tenant(system),
        f"https://page.example/{fresh_number()}",
        (fresh_number(), 1),
    )
    today = datetime.combine(datetime.now(UTC).date(), time.min, UTC)
    short, long = [await make_channel(system) for _ in range(2)]
    posts = [
        make_linked(channel_id, 10 - ago, url=url, source=origin, posted_at=today - timedelta(days=ago))
        for channel_id in (short, long)
        for ago in range(5)
    ]
    await graph_index.write(await land(system, *posts), now=today)
    for channel_id, days in ((short, 1), (long, 3)):
        await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, history_days=days))
    seen = {(short, 10), (short, 9), (long, 10), (long, 9), (long, 8), (long, 7)}
    for graph in (graph_index.graph, None):
        scope = GraphScope(tenant_stores(pool, tenant_id), graph, today + timedelta(hours=1), 30)
        assert {(each.channel.channel_id, each.posts) for each in (await who_forwards(scope)).forwarded} == {
            (short, 2),
            (long, 4),
        }
        spreads = await trace_spread(scope, PostId(ChannelId(origin[0]), MessageId(1)))
        assert {(each.post_id.channel_id, each.post_id.message_id) for each in spreads.forwards} == seen
    scope = GraphScope(tenant_stores(pool, tenant_id), graph_index.graph, today + timedelta(hours=1), 30)
    assert {
        (each.post_id.channel_id, each.post_id.message_id) for each in (await who_links(scope, url)).posts
    } == seen
    (alike,) = (await similar_channels(scope, short)).similar
    assert (alike.channel.channel_id, alike.shared) == (long, 2)
    await system.channels.subscribe(
        tenant_id, Subscription(channel_id=(late := await make_channel(system)), history_days=0)
    )
    old = [make_linked(late, 1, url=url, source=origin, posted_at=today - timedelta(days=2))]
    await graph_index.write(await land(system, *old), now=today)
    assert late not in {each.channel.channel_id for each in (await similar_channels(scope, short)).similar}


async def test_what_a_provider_understood_is_seen_only_by_those_who_may(
    pool: Pool, system: SystemStores, graph_index: GraphIndex
) -> None:
    first, second = [await make_channel(system) for _ in range(2)]
    tenants = {policy: await make_tenant(system) for policy in AiPolicy}
    for policy, tenant_id in tenants.items():
        for channel_id in (first, second):
            await system.channels.subscribe(tenant_id, make_subscription(channel_id, ai_policy=policy))
    without_consent = await make_tenant(system)
    for channel_id in (first, second):
        await system.channels.subscribe(
            without_consent, make_subscription(channel_id, ai_policy=AiPolicy.PROVIDER)
        )
    await system.ai_policies.consent(tenants[AiPolicy.PROVIDER], given_by="tests")
    posts = await land(
        system,
        *(
            make_linked(channel_id, number, posted_at=NOW)
            for channel_id in (first, second)
            for number in (1, 2)
        ),
    )
    for post in posts:
        await understand(system, post, "Both" if post.message_id == 1 else "Local")
    for post in (posts[1], posts[3]):
        await understand(system, post, "Provider", tier=Tier.PROVIDER)
    await graph_index.write(posts, now=NOW)

    async def list_shared(tenant_id: TenantId) -> list[str]:
        answer = await similar_channels(asking(pool, tenant_id, graph_index), first)
        assert [channel.channel.channel_id for channel in answer.similar] in ([second], [])
        return sorted(example.what for channel in answer.similar for example in channel.examples)

    assert await list_shared(tenants[AiPolicy.OFF]) == []
    assert (
        await list_shared(tenants[AiPolicy.LOCAL]) == await list_shared(without_consent) == ["Both", "Local"]
    )
    assert await list_shared(tenants[AiPolicy.PROVIDER]) == ["Both", "Provider"]


async def test_channels_are_alike_by_what_few_others_share(
    pool: Pool, system: SystemStores, graph_index: GraphIndex
) -> None:
    tenant_id = await make_tenant(system)
    channels = [await make_channel(system) for _ in range(4)]
    for channel_id in channels:
        await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    ours, close, far, other = channels
    rare, common = f"https://rare.example/{ours}", f"https://common.example/{ours}"
    posts = [make_linked(channel_id, 1, url=common, posted_at=NOW) for channel_id in (ours, close, far)]
    posts += [
        make_linked(channel_id, 2, url=rare, posted_at=NOW, source=(other, 5)) for channel_id in (ours, close)
    ]
    await graph_index.write(await land(system, *posts), now=NOW)
    answer = await similar_channels(asking(pool, tenant_id, graph_index), ours)
    assert [(channel.channel.channel_id, channel.shared) for channel in answer.similar] == [
        (close, 3),
        (far, 1),
    ]
    assert answer.similar[0].examples == (
        SharedItem("channel", f"Channel {other}"),
        SharedItem("page", rare),
        SharedItem("page", common),
    )
    assert answer.similar[0].score > answer.similar[1].score


async def test_links_and_first_seen_tell_when_and_where(
    pool: Pool, system: SystemStores, graph_index: GraphIndex
) -> None:
    tenant_id, url = await make_tenant(system), f"https://page.example/{fresh_number()}"
    first, second = [await make_channel(system) for _ in range(2)]
    for channel_id in (first, second):
        await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    posts = [
        make_linked(second, 1, url=f"{url}?utm_medium=x", posted_at=NOW),
        make_linked(first, 1, url=url, posted_at=NOW - timedelta(hours=2)),
    ]
    posts += [make_linked(second, 2, source=(first, 1), posted_at=NOW)]
    await graph_index.write(await land(system, *posts), now=NOW)
    scope = asking(pool, tenant_id, graph_index)
    links = await who_links(scope, url.removeprefix("https://").join(("HTTPS://", "#top")))
    assert [(post.post_id, post.channel.title) for post in links.posts] == [
        (posts[1].id, f"Channel {first}"),
        (posts[0].id, f"Channel {second}"),
    ]
    assert links.posts[0].link == f"https://t.me/c/{first}/1"
    seen = await first_link(scope, url)
    assert seen.first is not None
    assert seen.first.post_id == posts[1].id
    sighting = await first_seen(scope, posts[2].id)  # asked about the forward: it is about what it forwards
    assert sighting.first is not None
    assert (sighting.first.post_id, sighting.is_original) == (posts[1].id, True)
    with pytest.raises(Rejected, match="is not the URL of a page"):
        await who_links(scope, "nonsense")
    with pytest.raises(Rejected, match="switched off on this server"):
        await who_links(asking(pool, tenant_id, None), url)
    with pytest.raises(Rejected, match="do not follow channel"):
        await similar_channels(scope, ChannelId(1))


@pytest.fixture
async def away(system: SystemStores) -> AsyncIterator[GraphIndex]:
    async with opened_graph({"NEO4J_URI": "bolt://127.0.0.1:1"}, name="Away", is_there=False) as graph:
        yield GraphIndex(graph, states=system.post_states)


async def test_while_neo4j_is_away_or_not_filled_postgresql_answers_and_says_so(
    world: World, pool: Pool, away: GraphIndex, graph_index: GraphIndex, system: SystemStores
) -> None:
    answer = await who_forwards(asking(pool, world.a, away))
    assert (answer.by.engine, str(answer.by.why)) == (
        Engine.POSTGRES,
        "Neo4j does not answer (ServiceUnavailable)",
    )
    empty = Graph(graph_index.graph._server, name="Nothing")  # noqa: SLF001 -- the same server, another graph
    answer = await who_forwards(asking(pool, world.a, GraphIndex(empty, states=system.post_states)))
    assert (answer.by.engine, str(answer.by.why)) == (Engine.POSTGRES, "the graph is being filled")
