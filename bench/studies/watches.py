"""Watches: what a post costs beside 10,000 and beside 100,000 of them, and how soon a preview answers.

A thousand tenants follow twenty of two thousand channels each. A watch asks for two words that stand together
in some other post; the words are as frequent as in real texts (bench.search_texts). Both numbers of watches
have a database of their own with the same posts, each of them in a story of five, and take turns. A cost is
the CPU of this process and of its connections in PostgreSQL. Then one tenant follows everything and previews
watches over all posts of the last 30 days; the same watches are also replayed post by post through the
stage's own statement, and must find the same.

With `--hot`: one word of one channel that ten thousand tenants watch (bench.workloads.hot_watches).
"""

import asyncio
import os
import random
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import asyncpg

from bench.workloads.hot_watches import FULL, QUICK, run_hot
from bench.workloads.search_texts import Written, as_post, make_texts, some_texts
from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.watches.watch import WatchKind, WatchOptions, WatchTarget
from telegram_assistant.features.watches.watches import create_watch, read_conditions
from telegram_assistant.stores.postgres.database import Pool, open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.posts import derived_of
from telegram_assistant.stores.postgres.posts.rows import LANDED, as_columns
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores, tenant_stores
from testkit.harness import (
    Limit,
    Versions,
    arguments,
    at_least,
    at_most,
    cpu_seconds,
    finish,
    median,
    own_cpu_seconds,
    own_database,
)

TENANTS, CHANNELS, FOLLOWED = 1000, 2000, 20
BATCH = 100
OF_STORY = 5
"""Posts of each story; the first of them decides what an alert is about."""
FEW, MANY = 10_000, 100_000
COLUMNS = ["channel_id", "stored_at", *LANDED.split(", ")]
LIMITS: tuple[Limit, ...] = (
    *at_most(1.5, "cost_ratio"),
    *at_most(2.0, "preview_s"),
    *at_least(1, "preview_equal"),
)
HOT_LIMITS: tuple[Limit, ...] = (
    *at_most(0.05, "ms_per_candidate", "ms_per_candidate_again"),
    *at_most(2.0, "others_p99_ratio"),
    *at_most(1.5, "growth"),
    *at_most(0.05, "lock_share_4"),
    *at_most(0, "different", "twice", "alerts_of_second_posts"),
    *at_least(1, "strangers_change_nothing"),
)

type Admin = asyncpg.Connection[asyncpg.Record]


async def run(posts: int, watches: int, matched: int) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        few, many = [await _open(stack, f"tga_bench_watches_{name}") for name in ("few", "many")]
        written = make_texts(1)
        texts = list(some_texts(written, matched))
        watched = list(some_texts(written, 20_000))
        for (_, admin, _), count in ((few, watches // 10), (many, watches)):
            await _settle(admin, written, watched, count)
            await _land(admin, [text for text, _ in texts])
        costs = await _take_turns(few[0], many[0], few[1], many[1], matched)
        versions = await Versions.read(many[1])
    async with AsyncExitStack() as stack:
        previewed = await _preview(*await _open(stack, "tga_bench_watches_preview"), posts=posts)
    return {
        "bench": "watches",
        "watches": watches,
        "matched_posts": matched,
        **costs,
        **previewed,
        **versions.as_json(),
    }


async def _open(stack: AsyncExitStack, name: str) -> tuple[SystemStores, Admin, Pool]:
    settings = await stack.enter_async_context(own_database(name))
    pool = await stack.enter_async_context(open_pool(settings.database))
    admin = await asyncpg.connect(
        os.environ["DATABASE_ADMIN_URL"].rsplit("/", 1)[0] + f"/{name}", command_timeout=3600
    )
    stack.push_async_callback(admin.close)
    return system_stores(pool, Wakeup()), admin, pool


async def _settle(admin: Admin, written: Written, texts: Sequence[tuple[str, list[int]]], count: int) -> None:
    """Tenants, channels and watches.

    The rarer word of each is its term, as `index_watch` would choose with the statistics of the posts.
    """
    rng = random.Random(2)
    await admin.execute(
        "INSERT INTO tenants (tenant_id, name) OVERRIDING SYSTEM VALUE SELECT n, 'bench ' || n "
        "FROM generate_series(10, $1::int) n",
        TENANTS + 9,
    )
    await admin.execute(
        "INSERT INTO channels (channel_id, title) SELECT n, 'Channel ' || n "
        "FROM generate_series(1, $1::int) n",
        CHANNELS,
    )
    pairs = [
        (tenant, channel)
        for tenant in range(10, TENANTS + 10)
        for channel in rng.sample(range(1, CHANNELS + 1), FOLLOWED)
    ]
    await admin.execute(
        "INSERT INTO subscriptions (tenant_id, channel_id, history_days) SELECT t, c, 60 "
        "FROM unnest($1::bigint[], $2::bigint[]) AS n(t, c)",
        [tenant for tenant, _ in pairs],
        [channel for _, channel in pairs],
    )
    tenants, words, rarest = [], [], []
    for number in range(count):
        numbers = sorted(set(rng.choice(texts)[1]))
        first, other = rng.sample(
            [n for n in numbers if n > 200] or numbers, 2
        )  # nobody watches the commonest words
        tenants.append(10 + number % TENANTS)
        words.append(f"{written.vocabulary[first]} {written.vocabulary[other]}")
        rarest.append(
            written.vocabulary[first if written.posts_with[first] <= written.posts_with[other] else other]
        )
    await admin.execute(
        """
        WITH made AS (
            INSERT INTO watches (tenant_id, name, query, words, created_by, begins_at)
            SELECT t, n::text, w, websearch_to_tsquery('russian', w), r, now() - interval '40 days'
            FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS g(t, w, r, n)
                RETURNING tenant_id, watch_id, created_by)
        INSERT INTO watch_terms (term, tenant_id, watch_id)
        SELECT 'w:' || (tsvector_to_array(to_tsvector('russian', created_by)))[1], tenant_id, watch_id
        FROM made
        WHERE cardinality(tsvector_to_array(to_tsvector('russian', created_by))) > 0
        """,
        tenants,
        words,
        rarest,
    )
    await admin.execute("VACUUM ANALYZE watches, watch_terms, subscriptions")


STORIES = """
INSERT INTO story_posts (channel_id, message_id, story_id, posted_at, link, terms_hash)
SELECT channel_id, message_id, md5((place / $1)::text)::uuid, posted_at, 'rewrite', 0
FROM (SELECT *, row_number() OVER (ORDER BY posted_at DESC, channel_id) - 1 AS place FROM posts) p
"""


async def _land(admin: Admin, texts: Sequence[str]) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    posts = [
        as_post(1 + n % CHANNELS, 1 + n // CHANNELS, now - timedelta(seconds=n), text)
        for n, text in enumerate(texts)
    ]
    await _copy(admin, posts)
    await admin.execute(STORIES, OF_STORY)
    await admin.execute("VACUUM ANALYZE posts, story_posts")


async def _copy(admin: Admin, posts: Sequence[Post]) -> None:
    rows = zip(
        [post.channel_id for post in posts],
        [post.posted_at for post in posts],
        *as_columns(posts),
        strict=True,
    )
    await admin.copy_records_to_table("posts", records=rows, columns=COLUMNS)


async def _take_turns(
    few: SystemStores, many: SystemStores, few_admin: Admin, many_admin: Admin, matched: int
) -> dict[str, object]:
    """Milliseconds of CPU of a post, of this process and of its connections, by the median of batches;
    and what was found.
    """
    took: dict[str, list[float]] = {"few": [], "many": []}
    places = [PostId.parse(f"{1 + n % CHANNELS}/{1 + n // CHANNELS}") for n in range(matched)]
    for first in range(0, matched, BATCH):
        for name, system, admin in (("few", few, few_admin), ("many", many, many_admin)):
            derived = [derived_of(post) for post in await system.posts.load(places[first : first + BATCH])]
            began = await _cpu_seconds(admin)
            await system.watch_matching.raise_alerts(derived)
            took[name].append((await _cpu_seconds(admin) - began) * 1e3 / len(derived))
    few_ms, many_ms = median(took["few"]), median(took["many"])
    alerts = [await admin.fetchval("SELECT count(*) FROM alerts") for admin in (few_admin, many_admin)]
    return {
        "post_cpu_ms": {"few": round(few_ms, 3), "many": round(many_ms, 3)},
        "cost_ratio": round(many_ms / few_ms, 2),
        "alerts_per_post": {"few": round(alerts[0] / matched, 3), "many": round(alerts[1] / matched, 3)},
    }


async def _cpu_seconds(admin: Admin) -> float:
    rows = await admin.fetch(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    return own_cpu_seconds() + sum(cpu_seconds(row["pid"]) for row in rows)


async def _preview(system: SystemStores, admin: Admin, pool: Pool, *, posts: int) -> dict[str, object]:
    tenant_id = TenantId((await system.tenants.ensure("bench")).tenant_id)
    await admin.execute(
        "INSERT INTO channels (channel_id, title) SELECT n, 'Channel ' || n "
        "FROM generate_series(1, $1::int) n",
        CHANNELS,
    )
    await admin.execute(
        "INSERT INTO subscriptions (tenant_id, channel_id, history_days) SELECT $1, channel_id, 60 "
        "FROM channels",
        tenant_id,
    )
    written, now, places = make_texts(1), datetime.now(UTC).replace(microsecond=0), []
    pending: list[Post] = []
    step = timedelta(days=29) / posts
    for number, (text, _) in enumerate(some_texts(written, posts)):
        pending.append(as_post(1 + number % CHANNELS, 1 + number // CHANNELS, now - step * number, text))
        if len(pending) == 10_000 or number == posts - 1:
            await _copy(admin, pending)
            places += [post.id for post in pending]
            pending = []
    await admin.execute(
        """
        INSERT INTO post_search (channel_id, message_id, posted_at, words, lang, has)
        SELECT channel_id, message_id, posted_at, to_tsvector('russian', text), 'ru', CASE
            WHEN message_id % 3 = 0 THEN 1 ELSE 0 END FROM posts
        """
    )
    await admin.execute("VACUUM ANALYZE posts, post_search, subscriptions")
    stores, queries = tenant_stores(pool, tenant_id), _queries(written, posts)
    took, previews = [], {}
    for query in queries:
        target = WatchTarget(kind=WatchKind.WORDS, query=query)
        conditions = await read_conditions(target, stores=stores, now=now, zone=UTC)
        began = time.perf_counter()
        previewed = await stores.watch_previews.posts(conditions, since=now - timedelta(days=30))
        took.append(time.perf_counter() - began)
        if previewed.is_complete:
            watch = await create_watch(
                query,
                WatchTarget(kind=WatchKind.WORDS, query=query),
                WatchOptions(),
                stores=stores,
                created_by="bench",
                now=now,
                zone=UTC,
            )
            previews[watch.watch_id] = {alert.post_id for alert in previewed.alerts}
    await admin.execute("UPDATE watches SET begins_at = $1", now - timedelta(days=30))
    for first in range(len(places), 0, -BATCH):  # the oldest first, as they came
        await system.watch_matching.raise_alerts(
            [derived_of(post) for post in await system.posts.load(places[max(0, first - BATCH) : first])]
        )
    replayed: dict[object, set[PostId]] = {watch_id: set() for watch_id in previews}
    for row in await admin.fetch("SELECT watch_id, channel_id, message FROM alerts"):
        replayed[row["watch_id"]].add(PostId.parse(f"{row['channel_id']}/{row['message']}"))
    return {
        "posts": posts,
        "previews": {query: round(seconds, 3) for query, seconds in zip(queries, took, strict=True)},
        "preview_s": round(max(took), 3),
        "preview_equal": int(replayed == previews),
        "replayed_alerts": sum(map(len, replayed.values())),
    }


def _queries(written: Written, posts: int) -> list[str]:
    """A word of each frequency, two words, and one with an exclusion."""
    shares = written.posts_with / posts
    by_share = [
        next(number for number in range(len(shares)) if shares[number] < share)
        for share in (0.02, 0.005, 0.001)
    ]
    common, rarer, rarest = (written.vocabulary[number] for number in by_share)
    return [
        common,
        rarer,
        rarest,
        f"{common} {rarer}",
        f"{rarer} -{common}",
        f'"{common} {rarer}" or {rarest}',
    ]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=1_000_000, help="for the preview")
    parser.add_argument("--watches", type=int, default=MANY, help="and a tenth of them")
    parser.add_argument(
        "--matched", type=int, default=4000, help="posts that are matched beside both numbers of watches"
    )
    parser.add_argument("--quick", action="store_true", help="20,000 posts and 20,000 watches")
    parser.add_argument(
        "--hot",
        action="store_true",
        help="instead: one word of one channel that 10,000 tenants watch, a million watches, and 4 workers",
    )
    options = parser.parse_args()
    if options.hot:
        finish(asyncio.run(run_hot(QUICK if options.quick else FULL)), options, *HOT_LIMITS)
    sizes = (20_000, 20_000, 1000) if options.quick else (options.posts, options.watches, options.matched)
    finish(asyncio.run(run(*sizes)), options, *LIMITS)


if __name__ == "__main__":
    main()
