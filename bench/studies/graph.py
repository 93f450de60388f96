"""The graph: how many posts a second go through graph_indexing into a real Neo4j, and what each costs us,
PostgreSQL and Neo4j.

Beside it a bare loop in the same run: the same edges, merged by UNWIND without PostgreSQL, without looking
twice, and with counts that a second delivery would make wrong. Then questions of somebody who follows 500
channels, and the graph made anew.
"""

import asyncio
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import asyncpg
from neo4j import AsyncDriver

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.graph.graph_facts import Contribution, Visible, contribution_of
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.events import PostIndexed
from telegram_assistant.features.operations.graph_upkeep import rebuild_graph
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.graph.questions import GraphQuestions
from telegram_assistant.graph.server import Neo4jServer
from telegram_assistant.graph.store import Graph
from telegram_assistant.graph.writing import Rows, rows_of
from telegram_assistant.settings import GraphSettings, read_group
from telegram_assistant.stages.graph_indexing import graph_indexing
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from testkit.checkouts import CHECKOUT
from testkit.harness import (
    arguments,
    at_least,
    cpu_seconds,
    find_postmaster,
    finish,
    own_cpu_seconds,
    own_database,
    percentile,
    postgres_cpu,
)
from testkit.rows import make_writer, page_of, posts_of

CHANNELS, BATCH = 500, 200
NAME, BARE = "Bench", "BenchBare"
BARE_EDGES = {
    "forwards": ("FORWARDS", "Channel"),
    "links": ("LINKS", "Page"),
    "names": ("MENTIONS", "Name"),
    "tags": ("TAGGED", "Tag"),
}
LIMITS = at_least(0.3, "ratio")


@dataclass(frozen=True)
class Meter:
    """CPU of everybody who takes part."""

    postmaster: int
    neo4j: int

    async def each_us(self, work: Callable[[], Awaitable[None]], posts: int) -> dict[str, float]:
        before, began = self._read_usage(), time.perf_counter()
        await work()
        took = time.perf_counter() - began
        each = {name: round((used - before[name]) / posts * 1e6) for name, used in self._read_usage().items()}
        return {"posts_per_s": round(posts / took), **each}

    def _read_usage(self) -> dict[str, float]:
        return {
            "ours": own_cpu_seconds(),
            "postgres": postgres_cpu(self.postmaster),
            "neo4j": cpu_seconds(self.neo4j),
        }


def neo4j_pid() -> int:
    """scripts/servers has started it."""
    folder = Path(os.environ.get("TGA_SERVERS_DIR") or CHECKOUT / ".servers")
    return int((folder / "neo4j" / "pid").read_text(encoding="ascii").split()[0])


async def land(system: SystemStores, posts: int) -> tuple[TenantId, list[PostId]]:
    """Posts of three days, understood: two tags and two names each, few of them often."""
    tenant_id = (await system.tenants.ensure("bench")).tenant_id
    writer, rng, ids = make_writer(1), random.Random(1), []
    for channel_id in map(ChannelId, range(1, CHANNELS + 1)):
        await system.channels.register(Channel(channel_id=channel_id, title="bench"))
        await system.channels.subscribe(
            tenant_id, Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS)
        )
        made = tuple(
            posts_of(
                writer,
                channel_id,
                first_id=1,
                count=posts // CHANNELS,
                newest=datetime.now(UTC),
                span=timedelta(days=3),
            )
        )
        await system.landing.land(page_of(made), Claim(channel_id, 0))
        rows = [Enrichment(post.id, 1, Kind.TAGS, Tier.LOCAL, draw_understanding(rng)) for post in made]
        await system.enrichments.save(rows)
        ids += [post.id for post in made]
    rng.shuffle(ids)
    return tenant_id, ids


def draw_understanding(rng: random.Random) -> dict[str, list[str] | list[dict[str, str]]]:
    names = [{"kind": "person", "text": f"name {int(rng.paretovariate(0.5)) % 20_000}"} for _ in range(2)]
    return {"tags": [f"tag {rng.randrange(200)}" for _ in range(2)], "entities": names}


async def prepare_bare(driver: AsyncDriver) -> None:
    async with driver.session() as session:
        for kind in ("Day", "Channel", "Page", "Name", "Tag"):
            await (
                await session.run(
                    f"CREATE CONSTRAINT {BARE}_{kind} FOR (n:{BARE}_{kind}) REQUIRE n.key IS UNIQUE"
                )
            ).consume()


async def write_bare(driver: AsyncDriver, batches: Sequence[Rows]) -> None:
    for rows in batches:
        async with driver.session() as session, await session.begin_transaction() as transaction:
            for name, (edge, kind) in BARE_EDGES.items():
                text = f"""UNWIND $rows AS row
                MERGE (d:{BARE}_Day {{key: row.day}}) MERGE (t:{BARE}_{kind} {{key: row.target}})
                MERGE (d)-[e:{edge} {{sight: row.sight}}]->(t)
                SET e.count = coalesce(e.count, 0) + size(row.posts)"""
                await (await transaction.run(text, rows=rows[name])).consume()
            await transaction.commit()


async def forget_bare(driver: AsyncDriver) -> None:
    async with driver.session() as session:
        for kind in ("Day", "Channel", "Page", "Name", "Tag"):
            await (
                await session.run(
                    f"MATCH (n:{BARE}_{kind}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 2000 ROWS"
                )
            ).consume()
            await (await session.run(f"DROP CONSTRAINT {BARE}_{kind} IF EXISTS")).consume()


async def question_figures(graph: Graph) -> dict[str, float]:
    graph_questions = GraphQuestions(
        graph, Visible(channels := frozenset(map(ChannelId, range(1, CHANNELS + 1))), channels, frozenset())
    )
    since, figures = (datetime.now(UTC) - timedelta(days=30)).date(), {}
    questions: dict[str, Callable[[ChannelId], Awaitable[object]]] = {
        "forwards": lambda _one: graph_questions.forwardings(since=since, of_channel_id=None, limit=50),
        "links": lambda channel_id: graph_questions.links_to(
            f"https://news.example/{channel_id}", since=since
        ),
        "similar": lambda channel_id: graph_questions.similar(channel_id, since=since, limit=10),
    }
    for name, question in questions.items():
        times = []
        for number in range(1, 31):
            began = time.perf_counter()
            await question(ChannelId(number))
            times.append((time.perf_counter() - began) * 1e3)
        figures[f"{name}_p95_ms"] = round(percentile(times[5:], 0.95), 1)
    return figures


async def run(posts: int) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        known = read_group(GraphSettings, os.environ)
        if not known.uri:
            sys.exit('NEO4J_URI is empty: scripts/servers up neo4j, then eval "$(scripts/servers env)"')
        server = Neo4jServer(known)
        stack.push_async_callback(server.close)
        settings = await stack.enter_async_context(own_database("tga_bench_graph"))
        system = system_stores(await stack.enter_async_context(open_pool(settings.database)), Wakeup())
        admin = await asyncpg.connect(
            (settings.database.admin_url or settings.database.url).get_secret_value()
        )
        stack.push_async_callback(admin.close)
        graph = Graph(server, name=NAME)
        for forget in (graph.erase, partial(forget_bare, server.driver)):
            await forget()
            stack.push_async_callback(forget)
        return await measure(
            posts, system, graph, server.driver, Meter(await find_postmaster(admin), neo4j_pid())
        )


async def measure(
    posts: int, system: SystemStores, graph: Graph, driver: AsyncDriver, meter: Meter
) -> dict[str, object]:
    _, ids = await land(system, posts)
    index = GraphIndex(graph, states=system.post_states)
    await graph.switch(await graph.begin())
    events = [PostIndexed.about(post, 1, occurred_at=datetime.now(UTC)) for post in ids]
    batches = [events[start : start + BATCH] for start in range(0, len(events), BATCH)]
    warm = max(len(batches) // 3, 1)

    async def stage(some: Sequence[list[PostIndexed]]) -> None:
        for batch in some:
            await graph_indexing(batch, graph_index=index, rebuilds=system.rebuilds)

    states = await system.post_states.load(ids)
    made: list[Contribution] = [
        contribution_of(states[post_id].stored.post, states[post_id].facts) for post_id in ids
    ]
    rows = [rows_of(made[start : start + BATCH]) for start in range(0, len(made), BATCH)]
    await stage(batches[:warm])  # Java compiles what is hot
    await prepare_bare(driver)
    await write_bare(driver, rows[:warm])
    measured = len(ids) - warm * BATCH
    ours = await meter.each_us(lambda: stage(batches[warm:]), measured)
    bare = await meter.each_us(lambda: write_bare(driver, rows[warm:]), measured)
    again = await meter.each_us(lambda: stage(batches[warm:]), measured)
    questions = await question_figures(graph)
    await system.rebuilds.want(Projection.GRAPH)
    began = time.perf_counter()
    await rebuild_graph(
        index=index,
        states=system.post_states,
        rebuilds=system.rebuilds,
        outbox=system.outbox,
        owner="bench",
        stopping=asyncio.Event(),
    )
    return {
        "bench": "graph",
        "posts": len(ids),
        "graph_posts_per_s": ours["posts_per_s"],
        "cpu_us_per_post": {name: used for name, used in ours.items() if name != "posts_per_s"},
        "bare_posts_per_s": bare["posts_per_s"],
        "bare_cpu_us_per_post": {name: used for name, used in bare.items() if name != "posts_per_s"},
        "ratio": round(ours["posts_per_s"] / bare["posts_per_s"], 2),
        "again_posts_per_s": again["posts_per_s"],
        "rebuild_posts_per_s": round(len(ids) / (time.perf_counter() - began)),
        **questions,
        "batch": BATCH,
        "cores": os.cpu_count(),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=20_000)
    options = parser.parse_args()
    finish(asyncio.run(run(options.posts)), options, *LIMITS)


if __name__ == "__main__":
    main()
