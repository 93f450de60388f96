"""Search: how soon words and both sides answer four people at once, beside the bare engine; and how much they
find.

A tenant follows 500 of 20,000 heavy-tailed channels. Questions are one to three words of a known frequency
(bench.workloads.search_texts), through the function that every interface calls, with the sentence model of a
package. The vectors of the posts are drawn around those of questions. Bare is the plain query on the words'
index with the tenant's channels, newest fifty, ids only. The demo world judges the results
(bench.workloads.search_recall). The bench uses the server of QDRANT_URL if it is set, else the embedded
engine.
"""

import asyncio
import itertools
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import numpy as np

from bench.workloads.search_recall import recall
from bench.workloads.search_texts import Written, as_post, make_texts, moment_in, questions, some_texts
from bench.workloads.word_index import make_words
from telegram_assistant.ai.protocols import Vector
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.features.search.search import search
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.posts.rows import LANDED, as_columns
from telegram_assistant.vectors.embedded import EmbeddedVectors
from telegram_assistant.vectors.index import MeaningSearch
from telegram_assistant.vectors.opening import open_vectors
from telegram_assistant.vectors.protocol import Point, Space, Vectors
from testkit.harness import (
    Versions,
    arguments,
    at_least,
    at_most,
    find_postmaster,
    finish,
    median,
    own_cpu_seconds,
    own_database,
    percentile,
    postgres_cpu,
)
from testkit.models import MINILM, package_models
from testkit.rows import heavy_tailed_counts

CHANNELS, FOLLOWED = 20_000, 500
SPAN = timedelta(days=60)
USERS = 4
HEAPS = 400
COLUMNS = ["channel_id", "stored_at", *LANDED.split(", ")]
BARE = """
SELECT channel_id, message_id, posted_at FROM post_search
WHERE words @@ websearch_to_tsquery('russian', $1) AND channel_id = ANY ($2) ORDER BY posted_at DESC LIMIT 50
"""
LIMITS = (
    *at_most(100.0, "fulltext_p95_ms"),
    *at_most(150.0, "hybrid_p95_ms"),
    *at_least(0.45, "recall_fulltext"),
    *at_least(0.65, "recall_same_language"),
)


type Admin = asyncpg.Connection[asyncpg.Record]
type Ask = Callable[[str], Awaitable[object]]


async def run(posts: int, rounds: int, recall_posts: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as scratch:
        models = await asyncio.to_thread(package_models, Path(scratch) / "models")
        more = {"MODELS_DIR": str(models), "AI_EMBEDDINGS_MODEL": MINILM}
        async with AsyncExitStack() as stack:
            settings = await stack.enter_async_context(
                own_database("tga_bench_recall", variables={**more, "VECTORS_DIR": f"{scratch}/recall"})
            )
            app = await stack.enter_async_context(assemble(settings, with_vectors=True))
            recalled = await recall(app, await _tenant(app), posts=recall_posts, questions=rounds)
        async with AsyncExitStack() as stack:
            settings = await stack.enter_async_context(own_database("tga_bench_search", variables=more))
            app = await stack.enter_async_context(assemble(settings))
            vectors = await stack.enter_async_context(
                open_bench_vectors(app.settings, Path(scratch) / "timing")
            )
            timed = await timing(app, vectors, posts, rounds)
    return {"bench": "search", "posts": posts, **timed, **recalled}


@asynccontextmanager
async def open_bench_vectors(settings: Settings, folder: Path) -> AsyncIterator[Vectors]:
    """Embedded, no index is built: the points of 500 channels are few enough to be compared one by one,
    with an index or without.
    """
    if settings.vectors.url:
        async with open_vectors(settings.vectors) as vectors:
            assert vectors is not None
            yield vectors
        return
    embedded = await EmbeddedVectors.open(folder, index_from=10**9)
    try:
        yield embedded
    finally:
        await embedded.close()


async def _tenant(app: App) -> TenantId:
    return (await app.system.tenants.ensure("bench")).tenant_id


# --- loading ---------------------------------------------------------------------------------


async def timing(app: App, vectors: Vectors, posts: int, rounds: int) -> dict[str, object]:
    url = (app.settings.database.admin_url or app.settings.database.url).get_secret_value()
    admin = await asyncpg.connect(url, command_timeout=3600)
    tenant_id, written = await _tenant(app), make_texts(1)
    followed = random.Random(2).sample(range(1, CHANNELS + 1), FOLLOWED)
    read = await land(admin, written, posts, tenant_id, followed)
    began = time.perf_counter()
    await make_words(app)
    words_per_s = round(posts / (time.perf_counter() - began))
    await admin.execute("VACUUM ANALYZE post_search, posts, post_enrichment, subscriptions, channels")
    queries = questions(written, read, posts, rounds)
    await make_points(app, vectors, queries)
    figures = await measure(
        app, MeaningSearch(vectors, questions=app.questions), admin, url, tenant_id, followed, queries
    )
    versions = await Versions.read(admin)
    slices = await admin.fetchval(
        "SELECT count(*) FROM pg_inherits WHERE inhparent = 'post_search'::regclass"
    )
    await admin.close()
    where = vectors.where.split(",")[0].split(" at ")[0]
    return {
        **figures,
        "channels": CHANNELS,
        "followed": FOLLOWED,
        "slices": slices,
        "words_rebuilt_per_s": words_per_s,
        "vectors": where,
        **versions.as_json(),
    }


async def land(
    admin: Admin, written: Written, posts: int, tenant_id: TenantId, followed: Sequence[int]
) -> list[list[int]]:
    """All posts with their understanding; the words of those that the tenant sees, as numbers."""
    newest, rng, ours = datetime.now(UTC).replace(microsecond=0), random.Random(4), frozenset(followed)
    await admin.copy_records_to_table(
        "channels",
        records=[(n, f"Channel {n}") for n in range(1, CHANNELS + 1)],
        columns=["channel_id", "title"],
    )
    await admin.execute(
        "INSERT INTO subscriptions (tenant_id, channel_id, history_days) SELECT $1, unnest($2::bigint[]), $3",
        tenant_id,
        list(followed),
        SPAN.days + 1,
    )
    places = [
        (channel, number)
        for channel, count in enumerate(heavy_tailed_counts(1, channels=CHANNELS, posts=posts), 1)
        for number in range(1, count + 1)
    ]
    rng.shuffle(places)
    read = []
    for some in itertools.batched(places, 10_000):
        made = []
        for (channel_id, message_id), (text, numbers) in zip(
            some, some_texts(written, len(some)), strict=True
        ):
            made.append(as_post(channel_id, message_id, moment_in(rng, newest, SPAN), text))
            if channel_id in ours:
                read.append(numbers)
        rows = zip([post.channel_id for post in made], [newest] * len(made), *as_columns(made), strict=True)
        await admin.copy_records_to_table("posts", records=list(rows), columns=COLUMNS)
    await admin.execute(
        """
        INSERT INTO post_enrichment (channel_id, message_id, kind, tier, revision, data)
        SELECT channel_id, message_id, 'tags', 'local', 1, jsonb_build_object(
            'tags', jsonb_build_array('tag ' || message_id % 50, 'tag ' || channel_id % 50), 'topic', 'city',
            'kind', 'news',
            'is_ad', (channel_id + message_id) % 30 = 0, 'entities', '[]'::jsonb, 'language', 'ru') FROM posts
        """
    )
    return read


async def make_points(app: App, vectors: Vectors, queries: Sequence[tuple[str, str]]) -> None:
    """In heaps around questions, so that each has near ones."""
    made = await app.questions.vectors(
        [question for _, question in queries[:HEAPS]], tenant_id=await _tenant(app)
    )
    assert made.value is not None
    heaps, rng = np.array(made.value), np.random.default_rng(6)
    space = Space(made.model, heaps.shape[1])
    collection = space.collection(1)
    await vectors.create(space, collection)
    await vectors.switch(space, collection)
    last: PostId | None = None
    while ids := await app.system.post_states.after(last, limit=2000):
        drawn = heaps[rng.integers(0, len(heaps), len(ids))] + rng.normal(
            scale=0.05, size=(len(ids), heaps.shape[1])
        )
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        await vectors.upsert(
            collection,
            [_point(post_id, tuple(vector)) for post_id, vector in zip(ids, drawn.tolist(), strict=True)],
        )
        last = ids[-1]


def _point(post_id: PostId, vector: Vector) -> Point:
    flags = ["ad_local"] if (post_id.channel_id + post_id.message_id) % 30 == 0 else []
    at = int(datetime.now(UTC).timestamp()) - post_id.message_id % 5_000_000
    return Point(
        post_id,
        vector,
        {
            "channel": int(post_id.channel_id),
            "at": at,
            "lang": "ru",
            "flags": flags,
            "kind_local": "news",
            "tags_local": ["tag 1"],
        },
    )


# --- measuring -------------------------------------------------------------------------------


async def measure(
    app: App,
    index: MeaningSearch,
    admin: Admin,
    url: str,
    tenant_id: TenantId,
    followed: Sequence[int],
    queries: Sequence[tuple[str, str]],
) -> dict[str, object]:
    postmaster = await find_postmaster(admin)
    bare = await asyncpg.create_pool(url, min_size=USERS, max_size=USERS)
    channels, now = list(followed), datetime.now(UTC)

    def through(either: MeaningSearch | None) -> Ask:
        async def ask(question: str) -> object:
            return await search(
                question,
                tenant_id=tenant_id,
                stores=app.tenant(tenant_id),
                index=either,
                now=now,
                by_story=True,
            )

        return ask

    async def plain(question: str) -> object:
        return await bare.fetch(BARE, question, channels)

    figures: dict[str, object] = {}
    ways: dict[str, Ask] = {"bare": plain, "fulltext": through(None), "hybrid": through(index)}
    for name, ask in ways.items():
        await crowd(ask, queries[: USERS * 10])  # what is cold is not measured
        before = own_cpu_seconds(), postgres_cpu(postmaster)
        took = await crowd(ask, queries)
        own, server = own_cpu_seconds() - before[0], postgres_cpu(postmaster) - before[1]
        every = [milliseconds for values in took.values() for milliseconds in values]
        figures |= {
            f"{name}_p50_ms": round(median(every), 1),
            f"{name}_p95_ms": round(percentile(every, 0.95), 1),
            f"{name}_p95_ms_by_band": {
                band: round(percentile(values, 0.95), 1) for band, values in sorted(took.items())
            },
            f"{name}_cpu_ms": {
                "own": round(own / len(queries) * 1e3, 1),
                "postgres": round(server / len(queries) * 1e3, 1),
            },
        }
    await bare.close()
    return {"users": USERS, "questions": len(queries), **figures}


async def crowd(ask: Ask, queries: Sequence[tuple[str, str]]) -> dict[str, list[float]]:
    """Each of the users asks the next question as soon as the last is answered."""
    took: dict[str, list[float]] = {}
    rest = iter(queries)

    async def user() -> None:
        for band, question in rest:
            began = time.perf_counter()
            await ask(question)
            took.setdefault(band, []).append((time.perf_counter() - began) * 1e3)

    await asyncio.gather(*(user() for _ in range(USERS)))
    return took


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=200_000)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument(
        "--recall-posts", type=int, default=6000, help="of the demo world; each is read by the model"
    )
    options = parser.parse_args()
    finish(asyncio.run(run(options.posts, options.questions, options.recall_posts)), options, *LIMITS)


if __name__ == "__main__":
    main()
