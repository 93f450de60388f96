"""The graph is made anew while questions are answered, by request and where it has missed something."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial

import asyncpg
import pytest

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.features.operations.graph_upkeep import keep_graph, rebuild_graph
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.graph.store import Generations
from telegram_assistant.settings import DatabaseLogin, read_settings
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection, Rebuild
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from telegram_assistant.telemetry.health import Health
from testkit.factories import make_channel, make_page
from testkit.graphs import land, load_graph, make_linked, opened_graph, understand
from tests.conftest import Admin, scratch_database

NOW = datetime.now(UTC)
POSTS = 30


@pytest.fixture(scope="module")
async def own(environ: dict[str, str], worker: str, template: str) -> AsyncIterator[dict[str, str]]:
    """A rebuild reads all posts that there are, so these are in a database of their own."""
    async with scratch_database(environ, f"tga_graph_{worker}", template=template) as database:
        yield database


@pytest.fixture
async def admin(own: dict[str, str]) -> AsyncIterator[Admin]:
    connection = await asyncpg.connect(own["DATABASE_ADMIN_URL"])
    await connection.execute("TRUNCATE posts, rebuilds, outbox, stream_epoch")
    yield connection
    await connection.close()


@pytest.fixture
async def system(own: dict[str, str], admin: Admin) -> AsyncIterator[SystemStores]:
    assert admin is not None  # the tables are empty now
    async with open_pool(read_settings(own).database, DatabaseLogin.SYSTEM) as pool:
        yield system_stores(pool, Wakeup())


@pytest.fixture
async def index(environ: dict[str, str], system: SystemStores, worker: str) -> AsyncIterator[GraphIndex]:
    async with opened_graph(environ, name=f"Anew_{worker}") as graph:
        yield GraphIndex(graph, states=system.post_states)


@pytest.fixture
async def posts(system: SystemStores) -> list[PostId]:
    channel = await make_channel(system)
    made = [
        make_linked(channel, number, source=(5, 1), posted_at=NOW - timedelta(days=number))
        for number in range(1, POSTS + 1)
    ]
    old = make_linked(channel, 99, source=(5, 1), posted_at=NOW - timedelta(days=100))
    ids = await land(system, *made, old)
    await understand(system, ids[0], "Anna")
    return ids


async def rebuild(
    index: GraphIndex,
    system: SystemStores,
    *,
    owner: str = "here#1",
    stopping: asyncio.Event | None = None,
    batch: int = 7,
) -> bool:
    return await rebuild_graph(
        index=index,
        states=system.post_states,
        rebuilds=system.rebuilds,
        outbox=system.outbox,
        owner=owner,
        stopping=stopping or asyncio.Event(),
        batch_size=batch,
    )


async def load_rebuild(system: SystemStores) -> Rebuild:
    known = await system.rebuilds.look(Projection.GRAPH)
    assert known is not None
    return known


async def test_questions_are_answered_meanwhile_and_afterwards_everything_is_the_same(
    index: GraphIndex, system: SystemStores, posts: list[PostId]
) -> None:
    channel = posts[0].channel_id
    assert not await rebuild(index, system)  # nobody has asked for it
    await system.rebuilds.want(Projection.GRAPH)
    assert await rebuild(index, system)
    before = await load_graph(index.graph, channel)
    assert len(before) == 2 * POSTS + 1  # a day and a post each, and a name
    assert (await load_rebuild(system)).done == POSTS
    await system.rebuilds.want(Projection.GRAPH)
    rebuilding, questions = asyncio.create_task(rebuild(index, system, batch=3)), 0
    while not rebuilding.done():
        assert await load_graph(index.graph, channel) == before
        questions += 1
    assert await rebuilding
    assert questions > 1
    assert await load_graph(index.graph, channel) == before
    assert await index.graph.generations() == Generations(answering=2, last=2)


async def test_what_is_stored_edited_and_deleted_meanwhile_is_in_the_new_graph(
    index: GraphIndex, system: SystemStores, posts: list[PostId], admin: Admin
) -> None:
    channel = posts[0].channel_id
    await index.graph.switch(await index.graph.begin())
    await index.write(posts, now=NOW)
    await system.rebuilds.want(Projection.GRAPH)
    rebuilding = asyncio.create_task(rebuild(index, system, batch=2))
    while not (await load_rebuild(system)).done:
        await asyncio.sleep(0.01)
    new = make_linked(channel, 200, source=(6, 1), posted_at=NOW)
    changed = make_linked(
        channel,
        2,
        url="https://new.example/",
        text="Now this",
        posted_at=NOW - timedelta(days=2),
        edited_at=NOW,
    )
    await system.landing.land(make_page(new, changed, read_at=NOW + timedelta(minutes=1)), Claim(channel, 0))
    await admin.execute(
        "UPDATE posts SET deleted_at = now(), state_version = state_version + 1 WHERE message_id IN (1, 30)"
    )
    await index.write([new.id, *posts], now=NOW)
    still_building = not rebuilding.done()
    assert await rebuilding
    assert still_building
    edges = await load_graph(index.graph, channel)
    assert await index.graph.generations() == Generations(answering=2, last=2)
    counted = {
        key[3]: posts for key, posts in edges.items() if key[0].startswith(f"{channel}/") and key[3] != "5"
    }
    assert counted == {"6": [200], "https://new.example/": [2]}
    assert sorted(
        post for key, posts in edges.items() if key[1] == "FORWARDS" and key[3] == "5" for post in posts
    ) == [*range(3, 30)]


async def test_what_somebody_began_to_make_or_to_drop_goes_with_the_next_one(
    index: GraphIndex, system: SystemStores, posts: list[PostId]
) -> None:
    for _ in range(2):  # the first is given up for the second
        await index.graph.begin()
        await index.write(posts, now=NOW)
    await system.rebuilds.want(Projection.GRAPH)
    assert await rebuild(index, system)
    assert await index.graph.generations() == Generations(answering=3, last=3)
    days = "MATCH (n) WHERE n.channel = $channel RETURN DISTINCT labels(n)[0] AS label"
    labels = {row["label"] for row in await index.graph.ask(days, channel=posts[0].channel_id)}
    assert {label[-1] for label in labels} == {"3"}


async def test_another_process_goes_on_where_one_was_stopped(
    index: GraphIndex, system: SystemStores, posts: list[PostId]
) -> None:
    await system.rebuilds.want(Projection.GRAPH)
    stopping = asyncio.Event()
    first = asyncio.create_task(rebuild(index, system, owner="here#1", stopping=stopping, batch=5))
    while not (await load_rebuild(system)).done:
        await asyncio.sleep(0.01)
    assert not await rebuild(index, system, owner="there#2")  # it is being done
    stopping.set()
    assert not await first
    assert 0 < (await load_rebuild(system)).done < POSTS
    assert await rebuild(index, system, owner="there#2")
    assert (await load_rebuild(system)).done == POSTS
    assert len(await load_graph(index.graph, posts[0].channel_id)) == 2 * POSTS + 1


async def run_upkeep_until(
    index: GraphIndex | None, system: SystemStores, *, generation: int | None
) -> Health:
    """The worker's loop, until questions are answered by that generation."""
    health, stopping = Health(probes={}), asyncio.Event()
    keep = partial(
        keep_graph,
        states=system.post_states,
        rebuilds=system.rebuilds,
        outbox=system.outbox,
        owner="here#1",
        health=health,
    )
    keeping = asyncio.create_task(keep(stopping, index=index))
    while index is not None and (await index.graph.generations()).answering != generation:
        await asyncio.sleep(0.05)
    while "graph" not in health.parts():
        await asyncio.sleep(0.01)
    stopping.set()
    await keeping
    return health


async def test_a_graph_that_is_new_or_was_off_or_lost_is_made_anew_by_itself(
    index: GraphIndex, system: SystemStores, posts: list[PostId]
) -> None:
    channel: ChannelId = posts[0].channel_id
    await run_upkeep_until(index, system, generation=1)
    everything = await load_graph(index.graph, channel)
    assert len(everything) == 2 * POSTS + 1
    await index.graph.write([], posts[:3])
    health = await run_upkeep_until(None, system, generation=None)
    assert health.parts()["graph"]["used"] == "off"
    await index.graph.begin()  # so that the next one bears another number
    await run_upkeep_until(index, system, generation=3)
    assert await load_graph(index.graph, channel) == everything
    await index.graph.erase()
    await run_upkeep_until(index, system, generation=1)
    assert await load_graph(index.graph, channel) == everything


async def test_after_a_loss_of_redis_it_is_made_anew_while_the_former_one_answers(
    index: GraphIndex, system: SystemStores, posts: list[PostId]
) -> None:
    await system.outbox.remember_epoch("first", "run")
    await run_upkeep_until(index, system, generation=1)
    await run_upkeep_until(index, system, generation=1)
    everything = await load_graph(index.graph, posts[0].channel_id)
    await index.graph.write([], posts[:3])  # what was on its way is lost
    await system.outbox.remember_epoch("second", "run")
    await run_upkeep_until(index, system, generation=2)
    assert await load_graph(index.graph, posts[0].channel_id) == everything
