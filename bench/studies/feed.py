"""The feed under row-level security: newest 50 posts of a tenant over 20,000 heavy-tailed channels, first
page and 30 days back.

Tenants: 500 random channels, the 500 quietest, the 500 busiest, all 20,000. Warm, one client, through the
store that the product uses.
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import asyncpg
from rich.console import Console
from rich.progress import Progress

from telegram_assistant.domain.ids import ChannelId, MessageId, TenantId
from telegram_assistant.stores.postgres.database import Pool, open_pool
from telegram_assistant.stores.postgres.feed.tenant_feed import FIRST_PAGE, LATER_PAGE, Cursor
from telegram_assistant.stores.postgres.posts.rows import LANDED, as_columns
from telegram_assistant.stores.postgres.stores import tenant_stores
from testkit.harness import Versions, arguments, at_most, finish, median, own_database, percentile
from testkit.rows import heavy_tailed_counts, make_post, make_writer

CHANNELS = 20_000
SLICES = 60
SPAN = timedelta(days=60)
DEPTH = timedelta(days=30)
POSTS_PER_PAGE = 50
RANDOM_TENANTS = 10
COLUMNS = ["channel_id", "stored_at", *LANDED.split(", ")]
LIMITS = at_most(100.0, "first_page_p95_ms", "deep_page_p95_ms")


type Admin = asyncpg.Connection[asyncpg.Record]


async def run(posts: int, rounds: int, *, keep: bool) -> dict[str, object]:
    async with own_database(f"tga_bench_feed_{posts}", keep=keep) as settings:
        admin = await asyncpg.connect(
            (settings.database.admin_url or settings.database.url).get_secret_value(), command_timeout=3600
        )
        counts = heavy_tailed_counts(1, channels=CHANNELS, posts=posts)
        if not await admin.fetchval("SELECT count(*) FROM subscriptions"):
            await load(admin, counts)
        now = await admin.fetchval("SELECT max(newest_posted_at) FROM channels")
        tenants = {
            row["name"]: TenantId(row["tenant_id"])
            for row in await admin.fetch("SELECT name, tenant_id FROM tenants WHERE name <> 'default'")
        }
        async with open_pool(settings.database) as pool:
            measured = await measure(pool, tenants, now=now, rounds=rounds)
            for title, query in (("first page", FIRST_PAGE), ("30 days back", LATER_PAGE)):
                print(
                    f"--- plan: {title}, 500 random channels",
                    *await plan(pool, tenants["random 0"], query, now),
                    sep="\n",
                    file=sys.stderr,
                )
        versions = await Versions.read(admin)
        size = await admin.fetchval(
            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits "
            "WHERE inhparent = 'posts'::regclass"
        )
        await admin.close()
    return summary(measured, posts=posts, rounds=rounds, size=int(size), versions=versions)


# --- loading ---------------------------------------------------------------------------------


async def load(admin: Admin, counts: list[int]) -> None:
    """Slice by slice in time, as posts arrive in life,
    so that a channel's posts lie scattered over the table.
    """
    newest = datetime.now(UTC).replace(microsecond=0)
    await admin.copy_records_to_table(
        "channels",
        records=[(n + 1, f"Channel {n + 1}") for n in range(CHANNELS)],
        columns=["channel_id", "title"],
    )
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("loading posts", total=sum(counts))
        for records in slices(counts, newest):
            await admin.copy_records_to_table("posts", records=records, columns=COLUMNS)
            progress.advance(task, len(records))
    await admin.execute(
        """
        UPDATE channels c SET newest_message_id = p.id, newest_posted_at = p.at
        FROM (SELECT channel_id, max(message_id) AS id, max(posted_at) AS at FROM posts GROUP BY 1) p
        WHERE p.channel_id = c.channel_id
        """
    )
    rng, by_count = random.Random(2), sorted(range(CHANNELS), key=lambda n: counts[n])
    await subscribe(admin, "quietest", by_count[:500])
    await subscribe(admin, "busiest", by_count[-500:])
    await subscribe(admin, "all", list(range(CHANNELS)))
    for number in range(RANDOM_TENANTS):
        await subscribe(admin, f"random {number}", rng.sample(range(CHANNELS), 500))
    await admin.execute("VACUUM ANALYZE")


def slices(counts: list[int], newest: datetime) -> Iterator[list[tuple[object, ...]]]:
    writer, next_ids = make_writer(1), [1] * CHANNELS
    shares: list[list[int]] = [[] for _ in range(SLICES)]
    for total in counts:
        whole, rest = divmod(total, SLICES)
        lucky = set(writer.rng.sample(range(SLICES), rest))
        for number in range(SLICES):
            shares[number].append(whole + (number in lucky))
    for number, share in enumerate(shares):
        end = newest - SPAN * (SLICES - 1 - number) / SLICES
        posts = []
        for channel, count in enumerate(share):
            moments = sorted(end - SPAN / SLICES * writer.rng.random() for _ in range(count))
            for moment in moments:
                posts.append(
                    make_post(
                        writer,
                        channel + 1,
                        next_ids[channel],
                        moment.replace(microsecond=0),
                        is_russian=channel % 4 != 0,
                    )
                )
                next_ids[channel] += 1
        writer.rng.shuffle(posts)
        for start in range(0, len(posts), 20_000):
            part = posts[start : start + 20_000]
            yield list(
                zip([post.channel_id for post in part], [newest] * len(part), *as_columns(part), strict=True)
            )


async def subscribe(admin: Admin, name: str, channels: list[int]) -> None:
    tenant_id = await admin.fetchval("INSERT INTO tenants (name) VALUES ($1) RETURNING tenant_id", name)
    await admin.execute(
        "INSERT INTO subscriptions (tenant_id, channel_id, history_days) SELECT $1, unnest($2::bigint[]), $3",
        tenant_id,
        [n + 1 for n in channels],
        SPAN.days + 1,
    )


# --- measuring -------------------------------------------------------------------------------


async def measure(
    pool: Pool, tenants: dict[str, TenantId], *, now: datetime, rounds: int
) -> dict[tuple[str, str], list[float]]:
    """Milliseconds by tenant kind and page; the kinds take turns, so that a noisy moment hits all of them."""
    back = Cursor(now - DEPTH, ChannelId(2**62), MessageId(2**62))
    measured: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds + 3):
        for kind, tenant in (
            ("random", f"random {number % RANDOM_TENANTS}"),
            ("quietest", "quietest"),
            ("busiest", "busiest"),
            ("all", "all"),
        ):
            feed = tenant_stores(pool, tenants[tenant]).feed
            for page, before in (("first", None), ("deep", back)):
                began = time.perf_counter()
                posts = await feed.newest(limit=POSTS_PER_PAGE, before=before)
                took = (time.perf_counter() - began) * 1000
                if len(posts) != POSTS_PER_PAGE:
                    sys.exit(f"expected {POSTS_PER_PAGE} posts for {kind}, {page} page, and got {len(posts)}")
                if number >= 3:
                    measured.setdefault((kind, page), []).append(took)
    return measured


async def plan(pool: Pool, tenant_id: TenantId, query: str, now: datetime) -> list[str]:
    parameters: list[object] = (
        [POSTS_PER_PAGE] if query is FIRST_PAGE else [POSTS_PER_PAGE, now - DEPTH, 2**62, 2**62]
    )
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(f"SET LOCAL ROLE tga_tenant; SET LOCAL app.tenant_id = '{tenant_id}'")
        statement = await connection.prepare(query)
        explained = await statement.explain(*parameters, analyze=True)
    return [*_lines(explained[0]["Plan"]), f"execution {explained[0]['Execution Time']:.1f} ms"]


def _lines(node: dict[str, object], depth: int = 0) -> Iterator[str]:
    """One line per kind of node below; the sixteen partitions of an append are one line."""
    name = (
        node.get("Index Name")
        or node.get("Relation Name")
        or node.get("CTE Name")
        or node.get("Subplan Name")
        or ""
    )
    counted = (
        f"rows={node.get('Actual Rows')} loops={node.get('Actual Loops')} ms={node.get('Actual Total Time')}"
    )
    yield f"{'  ' * depth}{node['Node Type']} {name} {counted}"
    children = json.loads(json.dumps(node.get("Plans", [])))
    printed = (
        [child for child in children if child.get("Actual Loops")][:1]
        if "Append" in str(node["Node Type"])
        else children
    )
    for child in printed:
        yield from _lines(child, depth + 1)


def summary(
    measured: dict[tuple[str, str], list[float]], *, posts: int, rounds: int, size: int, versions: Versions
) -> dict[str, object]:
    p95 = {key: round(percentile(values, 0.95), 1) for key, values in measured.items()}
    three = ("random", "quietest", "busiest")
    return {
        "bench": "feed",
        "posts": posts,
        "channels": CHANNELS,
        "rounds": rounds,
        "first_page_p95_ms": max(p95[kind, "first"] for kind in three),
        "deep_page_p95_ms": max(p95[kind, "deep"] for kind in three),
        "all_channels_p95_ms": p95["all", "first"],
        "all_channels_deep_p95_ms": p95["all", "deep"],
        "p50_ms": {f"{kind} {page}": round(median(values), 1) for (kind, page), values in measured.items()},
        "p95_ms": {f"{kind} {page}": value for (kind, page), value in p95.items()},
        "posts_mb": round(size / 1e6),
        **versions.as_json(),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--keep", action="store_true", help="leave the database for the next run")
    options = parser.parse_args()
    finish(asyncio.run(run(options.posts, options.rounds, keep=options.keep)), options, *LIMITS)


if __name__ == "__main__":
    main()
