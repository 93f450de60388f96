"""graph_indexing: posts are in the graph as they are now; a graph that is off or away holds nothing back."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from redis.asyncio import Redis

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.errors import Busy, CannotStart
from telegram_assistant.events import PostIndexed
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.pipeline import ENDS, stages_of
from telegram_assistant.settings import read_settings
from telegram_assistant.stages.graph_indexing import PATIENCE_SECONDS, graph_indexing
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.streams.groups import ensure_groups, sources_of
from telegram_assistant.streams.keys import stream_key
from telegram_assistant.streams.monitoring import MAX_UNREAD_ENTRIES, trim
from telegram_assistant.telemetry.health import Health
from telegram_assistant.worker_role import loops
from testkit.factories import make_channel
from testkit.graphs import land, load_graph, make_linked, opened_graph
from tests.graph.conftest import graph_index

__all__ = ["graph_index"]

NOW = datetime.now(UTC)
INDEXED = stream_key(PostIndexed, Lane.LIVE)


def indexed_events(*posts: PostId) -> list[PostIndexed]:
    return [PostIndexed.about(post, 1, occurred_at=NOW) for post in posts]


async def test_posts_are_in_the_graph_and_nothing_is_told(
    graph_index: GraphIndex, system: SystemStores
) -> None:
    channel = await make_channel(system)
    posts = await land(
        system, *(make_linked(channel, number, source=(3, number), posted_at=NOW) for number in (1, 2))
    )
    await graph_indexing(indexed_events(*posts, *posts), graph_index=graph_index, rebuilds=system.rebuilds)
    counted = {key[1]: posts for key, posts in (await load_graph(graph_index.graph, channel)).items()}
    assert counted["FORWARDS"] == [1, 2]


class Clock:
    """Time that a test passes."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_graph_that_is_away_is_waited_for_but_not_for_ever(system: SystemStores) -> None:
    channel = await make_channel(system)
    posts = await land(system, make_linked(channel, 1, source=(3, 1), posted_at=NOW))
    await system.rebuilds.want(Projection.GRAPH)
    async with opened_graph({"NEO4J_URI": "bolt://127.0.0.1:1"}, name="Away", is_there=False) as graph:
        clock = Clock()
        index = GraphIndex(graph, states=system.post_states, clock=clock)
        with pytest.raises(Busy, match="Neo4j does not answer"):
            await graph_indexing(indexed_events(*posts), graph_index=index, rebuilds=system.rebuilds)
        assert await system.rebuilds.look(Projection.GRAPH) is not None
        clock.now = PATIENCE_SECONDS + 1
        await graph_indexing(indexed_events(*posts), graph_index=index, rebuilds=system.rebuilds)
    assert await system.rebuilds.look(Projection.GRAPH) is None  # whoever finds Neo4j again makes it anew


@pytest.fixture
async def redis(database: dict[str, str]) -> AsyncIterator[Redis]:
    async with Redis.from_url(database["REDIS_URL"]) as client:
        await client.delete(INDEXED)
        yield client
        await client.delete(INDEXED)


@pytest.mark.parametrize("is_on", [False, True], ids=["off", "on"])
async def test_trimming_waits_for_the_graph_only_while_there_is_one(
    database: dict[str, str], environ: dict[str, str], redis: Redis, is_on: bool
) -> None:
    stages = stages_of(read_settings({**database, "NEO4J_URI": environ["NEO4J_URI"] if is_on else ""}))
    assert (graph_indexing in stages) is is_on
    stages = tuple(
        stage for stage in stages if stage is graph_indexing or stage.name not in {"stories", "alerts"}
    )  # they wait like the graph
    await ensure_groups(
        redis,
        graph_indexing.name,
        [source for source in sources_of(graph_indexing, 1) if source.key == INDEXED],
    )
    async with redis.pipeline(transaction=False) as adding:
        for _ in range(MAX_UNREAD_ENTRIES + 2000):
            adding.execute_command("XADD", INDEXED, "*", "e", "x")
        await adding.execute()
    await trim(redis, stages, 1)
    assert (await redis.xlen(INDEXED) == MAX_UNREAD_ENTRIES + 2000) is is_on


@pytest.fixture
async def with_graph(database: dict[str, str], environ: dict[str, str]) -> AsyncIterator[App]:
    async with assemble(read_settings({**database, "NEO4J_URI": environ["NEO4J_URI"]})) as app:
        yield app


async def test_the_worker_has_the_stage_and_a_full_graph_stream_does_not_stop_the_relay(
    with_graph: App,
) -> None:
    running = {loop.name for loop in loops(with_graph, Health(probes={}))}
    assert {"stage graph_indexing", "graph"} <= running
    assert graph_indexing not in ENDS
    assert graph_indexing.may_lag


async def test_an_address_that_makes_no_sense_is_told_in_words(database: dict[str, str]) -> None:
    with pytest.raises(CannotStart, match="NEO4J_URI cannot be used"):
        async with assemble(read_settings({**database, "NEO4J_URI": "nonsense"})):
            pass
