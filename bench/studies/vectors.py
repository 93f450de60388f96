"""Vectors: what the indexing stage costs beside the sentence model, how fast points go in, and how fast they
are found.

The stage runs on real posts with vectors that cost nothing to make; the model is measured alone, on the same
texts. Searches are those of somebody who follows 500 of 20,000 channels. The bench measures the server of
QDRANT_URL if it is set, else the embedded engine.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.workloads.instant import SPACE, Drawn, InstantLocal
from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.local.models import folder_of
from telegram_assistant.ai.local.sentence_model import SentenceModel
from telegram_assistant.ai.protocols import TextKind, Vector
from telegram_assistant.assembly import Models, open_gate
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.events import AlbumAssembled, PostEnriched
from telegram_assistant.settings import Settings, VectorSettings, read_group
from telegram_assistant.stages.indexing import indexing
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.database import Pool, open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from telegram_assistant.stores.redis.client import open_redis
from telegram_assistant.vectors.index import VectorIndex
from telegram_assistant.vectors.opening import open_vectors
from telegram_assistant.vectors.protocol import Payload, Point, Reach, VectorQuery, Vectors
from testkit.harness import (
    arguments,
    at_least,
    cpu_seconds,
    finish,
    own_cpu_seconds,
    own_database,
    percentile,
)
from testkit.models import MINILM, package_models
from testkit.rows import make_writer, page_of, posts_of

CHANNELS = 20_000
FOLLOWED = 500
BATCH = 100
STAGE_CHANNELS = 40
LIMITS = at_least(500, "upserts_per_s")


@dataclass
class Pauses:
    """The longest time that nothing else got its turn."""

    max_ms: float = 0.0

    async def watch(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            self.max_ms = max(self.max_ms, (time.perf_counter() - before) * 1e3)


async def run(points: int, posts: int) -> dict[str, object]:
    drawn = Drawn()
    with tempfile.TemporaryDirectory() as scratch:
        async with own_database("tga_bench_vectors") as settings, open_pool(settings.database) as pool:
            stored = (
                settings.vectors
                if settings.vectors.url
                else read_group(VectorSettings, {"VECTORS_DIR": f"{scratch}/vectors"})
            )
            async with open_vectors(stored) as vectors:
                assert vectors is not None
                stage = await stage_figures(settings, pool, vectors, drawn, posts, Path(scratch))
                figures = await store_figures(vectors, drawn, points, stored.folder)
                return {
                    "bench": "vectors",
                    "used": vectors.where.split(",")[0].split(" at ")[0],
                    **stage,
                    **figures,
                }


async def stage_figures(
    settings: Settings, pool: Pool, vectors: Vectors, drawn: Drawn, posts: int, scratch: Path
) -> dict[str, object]:
    system = system_stores(pool, Wakeup())
    ids, texts = await land(system, posts)
    async with open_bench_gate(settings, system, drawn) as gate:
        index = VectorIndex(vectors, gate=gate, states=system.post_states)
        events: list[PostEnriched | AlbumAssembled] = [
            PostEnriched.about(post, 1, occurred_at=datetime.now(UTC)) for post in ids
        ]
        await indexing(events[:BATCH], post_states=system.post_states, index=index)
        pid = await pool.fetchval("SELECT pg_backend_pid()")
        own, server, began = own_cpu_seconds(), cpu_seconds(pid), time.perf_counter()
        for start in range(BATCH, len(events), BATCH):
            await indexing(events[start : start + BATCH], post_states=system.post_states, index=index)
        took, count = time.perf_counter() - began, len(events) - BATCH
        figures = {
            "stage_posts_per_s": round(count / took),
            "stage_cpu_us_per_post": round((own_cpu_seconds() - own) / count * 1e6),
            "stage_postgres_cpu_us_per_post": round((cpu_seconds(pid) - server) / count * 1e6),
        }
    for collection in await vectors.collections():
        if SPACE.holds(collection):
            await vectors.drop(collection)
    return {**figures, "model_cpu_us_per_post": model_figure(texts[:96], scratch), "stage_batch": BATCH}


async def land(system: SystemStores, posts: int) -> tuple[list[PostId], list[str]]:
    tenant_id = (await system.tenants.ensure("bench")).tenant_id
    writer, ids, texts = make_writer(1), [], []
    for channel_id in map(ChannelId, range(1, STAGE_CHANNELS + 1)):
        await system.channels.register(Channel(channel_id=channel_id, title="bench"))
        await system.channels.subscribe(
            tenant_id, Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS)
        )
        made = tuple(
            posts_of(
                writer,
                channel_id,
                first_id=1,
                count=posts // STAGE_CHANNELS,
                newest=datetime.now(UTC),
                span=timedelta(days=3),
            )
        )
        await system.landing.land(page_of(made), Claim(channel_id, 0))
        ids += [post.id for post in made]
        texts += [post.text for post in made]
    random.Random(1).shuffle(ids)
    return ids, texts


@asynccontextmanager
async def open_bench_gate(settings: Settings, system: SystemStores, drawn: Drawn) -> AsyncIterator[Gate]:
    local = InstantLocal(drawn)
    models = Models((), local, local, SPACE.model)
    async with (
        open_redis(settings.redis) as redis,
        open_gate(models, settings, system=system, redis=redis) as gate,
    ):
        yield gate


def model_figure(texts: list[str], scratch: Path) -> int:
    folder = folder_of(package_models(scratch / "models"), MINILM)
    model = SentenceModel(folder)
    model.embed(texts[:8], TextKind.DOCUMENT)
    own = own_cpu_seconds()
    model.embed(texts, TextKind.DOCUMENT)
    return round((own_cpu_seconds() - own) / len(texts) * 1e6)


async def store_figures(
    vectors: Vectors, drawn: Drawn, points: int, folder: Path | None
) -> dict[str, object]:
    collection, rng, pauses = SPACE.collection(1), random.Random(1), Pauses()
    await vectors.create(SPACE, collection)
    await vectors.switch(SPACE, collection)
    watching = asyncio.create_task(pauses.watch())
    took = used = 0.0
    for start in range(0, points, BATCH):
        some = [make_point(rng, start + number, vector) for number, vector in enumerate(drawn.some(BATCH))]
        own, began = own_cpu_seconds(), time.perf_counter()
        await vectors.upsert(collection, some)
        took, used = took + time.perf_counter() - began, used + own_cpu_seconds() - own
    figures: dict[str, object] = {
        "points": await vectors.count(collection),
        "upserts_per_s": round(points / took),
        "upsert_cpu_us": round(used / points * 1e6),
        "max_pause_ms": round(pauses.max_ms, 1),
    }
    began = time.perf_counter()
    while is_being_indexed(folder):
        await asyncio.sleep(0.2)
    figures["index_ready_after_s"] = round(time.perf_counter() - began, 1)
    for name, channels, count in (
        ("", FOLLOWED, 200),
        ("_of_5000_channels", 5000, 40),
        ("_of_all", None, 40),
    ):
        p50, p95 = await latencies(vectors, drawn, rng, channels, count)
        figures |= {f"search_p50_ms{name}": p50, f"search_p95_ms{name}": p95}
    watching.cancel()
    await vectors.drop(collection)
    return figures


def is_being_indexed(folder: Path | None) -> bool:
    """The embedded engine builds its index on a copy."""
    return folder is not None and len(list(folder.glob("posts-*"))) > 1


def make_point(rng: random.Random, number: int, vector: Vector) -> Point:
    channel_id = rng.randrange(1, CHANNELS + 1)
    tags = [f"tag {rng.randrange(200)}" for _ in range(3)]
    payload: Payload = {
        "channel": channel_id,
        "at": 1_780_000_000 + number,
        "lang": "ru",
        "flags": ["link"],
        "tags_local": tags,
        "topic_local": "city",
    }
    return Point(
        PostId(ChannelId(channel_id), MessageId(number + 1)),
        vector,
        {**payload, "topic_local": "city", "kind_local": "news"},
    )


async def latencies(
    vectors: Vectors, drawn: Drawn, rng: random.Random, channels: int | None, count: int
) -> tuple[float, float]:
    times = []
    for vector in drawn.some(count):
        reach = (
            None
            if channels is None
            else Reach(local=frozenset(map(ChannelId, rng.sample(range(1, CHANNELS + 1), channels))))
        )
        began = time.perf_counter()
        await vectors.search(SPACE, VectorQuery(vector=vector, reach=reach, limit=50))
        times.append((time.perf_counter() - began) * 1e3)
    return round(percentile(times, 0.5), 2), round(percentile(times, 0.95), 2)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--points", type=int, default=50_000)
    parser.add_argument("--posts", type=int, default=4_000)
    options = parser.parse_args()
    finish(asyncio.run(run(options.points, options.posts)), options, *LIMITS)


if __name__ == "__main__":
    main()
