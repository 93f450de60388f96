"""Neo4j dies under load: search does not wait for it, nothing is lost, and afterwards the graph is exact."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.features.graph import Engine, GraphScope, who_forwards
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.supervision import keep_running
from telegram_assistant.telemetry.health import Health
from telegram_assistant.worker_role import loops
from testkit.factories import make_channel, make_page, make_subscription, make_tenant
from testkit.graphs import load_graph, make_linked
from testkit.servers import OwnServers, own_servers

PER_SECOND, CHANNELS = 20, 4


async def land_steadily(
    app: App, channels: list[ChannelId], posts: list[PostId], stopping: asyncio.Event
) -> None:
    while not stopping.is_set():
        number = len(posts) // len(channels) + 1
        for channel_id in channels:
            post = make_linked(
                channel_id,
                number,
                source=(channels[0], number),
                posted_at=datetime.now(UTC) - timedelta(minutes=1),
            )
            await app.system.landing.land(make_page(post, read_at=datetime.now(UTC)), Claim(channel_id, 0))
            posts.append(post.id)
        await asyncio.sleep(len(channels) / PER_SECOND)


async def until_counted(app: App, posts: list[PostId], within_seconds: float) -> None:
    """Every post once, and nothing else."""
    assert app.graph_index is not None
    deadline, wanted = time.monotonic() + within_seconds, sorted(posts)
    while True:
        edges = await load_graph(app.graph_index.graph, *{post.channel_id for post in posts})
        forwards = [
            (int(key[0].partition("/")[0]), some) for key, some in edges.items() if key[1] == "FORWARDS"
        ]
        counted = sorted(
            PostId(ChannelId(channel), MessageId(number)) for channel, some in forwards for number in some
        )
        if counted == wanted:
            return
        assert time.monotonic() < deadline, f"{len(counted)} of {len(wanted)} are counted"
        await asyncio.sleep(0.5)


async def searchable(
    admin: "asyncpg.Connection[asyncpg.Record]", posts: list[PostId], within_seconds: float
) -> None:
    """Those that are stored now have passed indexing."""
    numbers = [post.message_id for post in posts]
    channels = [post.channel_id for post in posts]
    waiting = (
        "SELECT count(*) FROM outbox JOIN unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id) "
        "USING (channel_id, message_id)"
    )
    deadline = time.monotonic() + within_seconds
    while await admin.fetchval(waiting, channels, numbers):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


async def observe(
    app: App, servers: OwnServers, admin: "asyncpg.Connection[asyncpg.Record]", outage_seconds: float
) -> None:
    tenant_id = await make_tenant(app.system)
    channels = [await make_channel(app.system) for _ in range(CHANNELS)]
    for channel_id in channels:
        await app.system.channels.subscribe(tenant_id, make_subscription(channel_id))
    posts: list[PostId] = []
    stopping, ending, health = asyncio.Event(), asyncio.Event(), Health(probes={})
    working = [
        asyncio.create_task(keep_running(loop, stopping=ending, health=health)) for loop in loops(app, health)
    ]
    landing = asyncio.create_task(land_steadily(app, channels, posts, stopping))
    assert app.graph_index is not None
    while (await app.graph_index.graph.generations()).answering is None or not await load_graph(
        app.graph_index.graph, *channels
    ):
        await asyncio.sleep(0.1)
    servers.kill("neo4j")
    await asyncio.sleep(outage_seconds / 2)
    await searchable(admin, list(posts), 30)
    answer = await who_forwards(GraphScope(app.tenant(tenant_id), app.graph, datetime.now(UTC)))
    assert answer.by.engine is Engine.POSTGRES
    assert answer.forwarded
    await asyncio.sleep(outage_seconds / 2)
    await asyncio.to_thread(servers.run, "up", "neo4j")
    stopping.set()
    await landing
    await until_counted(app, posts, 90)
    answer = await who_forwards(GraphScope(app.tenant(tenant_id), app.graph, datetime.now(UTC)))
    assert answer.by.engine is Engine.GRAPH
    assert await admin.fetchval("SELECT count(*) FROM dead_letters") == 0
    ending.set()
    await asyncio.gather(*working)


@pytest.mark.serial
async def test_neo4j_dies_under_load_and_nothing_is_lost(
    migrated_database: dict[str, str], request: pytest.FixtureRequest
) -> None:
    with own_servers("redis", "neo4j") as servers:
        theirs = servers.environ()
        own = {name: theirs[name] for name in ("REDIS_URL", "NEO4J_URI", "NEO4J_USER", "NEO4J_PASSWORD")}
        admin = await asyncpg.connect(migrated_database["DATABASE_ADMIN_URL"])
        try:
            async with assemble(read_settings({**migrated_database, **own, "CRAWL_ENABLED": "false"})) as app:
                await observe(app, servers, admin, 60.0 if request.config.getoption("--full") else 10.0)
        finally:
            await admin.close()
