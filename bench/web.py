"""The pages: 100 people who open a page each every 10 s, over 200,000 posts of 500 channels; and what a phone loads first.

Three of four pages show posts or channels. Server time is that of the answer, without the network, by a process that has been running for a while:
templates are compiled in each language, and connections have planned their statements. Queries are counted one page at a time, as
transactions: each store method is one. A phone is Chromium's, four times slower than this machine, on a line of 1.6 Mbit/s with 150 ms of delay.
"""

import asyncio
import gzip
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import asyncpg

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.features.operations.text_upkeep import rebuild_text
from telegram_assistant.features.people import begin_session
from telegram_assistant.stores.postgres.database import Transactions
from telegram_assistant.stores.postgres.delivery.rebuilds import Projection
from telegram_assistant.stores.postgres.posts.rows import LANDED, as_columns
from telegram_assistant.web.cookies import SESSION
from telegram_assistant.web.page import Page
from telegram_assistant.web.rendering import STATIC
from telegram_assistant.web.site import COMPRESSION, OF_TENANT, name_of
from testkit.chromium import PHONE, Device, open_chromium, open_tab
from testkit.harness import Versions, arguments, at_most, finish, own_database, percentile
from testkit.rows import heavy_tailed_counts, make_writer, posts_of
from testkit.web_clients import Browser, member_browser, served_web

CHANNELS = 500
SPAN = timedelta(days=60)
PEOPLE = 100
EVERY_SECONDS = 10.0
OFTEN = 0.75
"""The share of pages that show posts or channels."""
COLUMNS = ["channel_id", "stored_at", *LANDED.split(", ")]
TAGGED = """
INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version, revision, data)
SELECT channel_id, message_id, 'tags', 'local', '', 'rules', '', 1, jsonb_build_object(
    'tags', jsonb_build_array('tag ' || message_id % 40, 'tag ' || (message_id + channel_id) % 60, 'tag ' || channel_id % 50),
    'topic', 'city', 'kind', 'news')
FROM posts
"""
COVERED = """
INSERT INTO coverage (channel_id, floor_id, verified, verified_at)
SELECT channel_id, 1, int8multirange(int8range(1, newest_message_id + 1)), now() FROM channels
"""
POLLED = """
WITH made AS (INSERT INTO telegram_accounts (tenant_id, state) VALUES ($1, 'active') RETURNING account_id)
INSERT INTO poll_schedule (channel_id, account_id, last_polled_at) SELECT channel_id, account_id, now() FROM channels CROSS JOIN made
"""
VOCABULARY = "INSERT INTO vocabulary (lang, tag, topic, state) SELECT 'en', 'tag ' || number, 'city', 'active' FROM generate_series(0, 59) number"
WORDS = ("мост", "снег", "город", "bridge", "city", "рынок")
LIMITS = (
    *at_most(150.0, "slowest_p95_ms"),
    *at_most(120.0, "assets_kb"),
    *at_most(1.0, "fcp_s"),
    *at_most(0, "errors", "queries_over", "pages_left_out"),
)

type Admin = asyncpg.Connection[asyncpg.Record]


async def run(posts: int, seconds: float, *, keep: bool) -> dict[str, object]:
    async with own_database(f"tga_bench_web_{posts}", keep=keep) as settings:
        admin = await asyncpg.connect((settings.database.admin_url or settings.database.url).get_secret_value(), command_timeout=3600)
        async with assemble(settings) as app:
            tenant_id, channels = await load(app, admin, posts)
            async with reader(app, tenant_id, "en") as one, reader(app, tenant_id, "ru") as other:
                often, seldom = pages(channels, random.Random(1))
                for path in (often | seldom).values():
                    await asyncio.gather(*(other.open(other.base + path) for _ in range(settings.database.pool_size)))
                queries = {name: await count_queries(one, path) for name, path in (often | seldom).items()}
            times, errors = await read_together(app, tenant_id, channels, seconds)
            fcp = await first_paint(app, tenant_id)
        versions = await Versions.read(admin)
        await admin.close()
    allowed = {name_of(one): one.queries for one in OF_TENANT if isinstance(one, Page)}
    p95 = {name: round(percentile(values, 0.95) * 1000, 1) for name, values in times.items()}
    return {
        "bench": "web",
        "posts": posts,
        "channels": CHANNELS,
        "people": PEOPLE,
        "slowest_p95_ms": max(p95.values()),
        "p95_ms": p95,
        "p50_ms": {name: round(percentile(values, 0.5) * 1000, 1) for name, values in times.items()},
        "pages": sum(map(len, times.values())),
        "assets_kb": round(assets_kb(), 1),
        "fcp_s": fcp,
        "errors": errors,
        "most_queries": max(queries.values()),
        "queries": queries,
        "queries_over": [name for name, count in queries.items() if count > allowed[name]],
        "pages_left_out": sorted(allowed.keys() - queries.keys() - {"media.show"}),
        **versions.as_json(),
    }


async def load(app: App, admin: Admin, posts: int) -> tuple[TenantId, list[ChannelId]]:
    tenant_id = (await app.system.tenants.ensure("readers", is_operator=True)).tenant_id
    channels = [ChannelId(number + 1) for number in range(CHANNELS)]
    if await admin.fetchval("SELECT count(*) FROM subscriptions"):
        return tenant_id, channels
    newest, writer = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5), make_writer(1)
    await admin.copy_records_to_table(
        "channels", records=[(one, f"Channel {one}", f"channel_{one}") for one in channels], columns=["channel_id", "title", "username"]
    )
    for channel_id, count in zip(channels, heavy_tailed_counts(1, channels=CHANNELS, posts=posts), strict=True):
        made = list(posts_of(writer, channel_id, first_id=1, count=count, newest=newest, span=SPAN))
        records = list(zip([post.channel_id for post in made], [newest] * len(made), *as_columns(made), strict=True))
        await admin.copy_records_to_table("posts", records=records, columns=COLUMNS)
    await admin.execute(
        """
        UPDATE channels c SET newest_message_id = p.id, newest_posted_at = p.at
        FROM (SELECT channel_id, max(message_id) AS id, max(posted_at) AS at FROM posts GROUP BY 1) p WHERE p.channel_id = c.channel_id
        """
    )
    await admin.execute(
        "INSERT INTO subscriptions (tenant_id, channel_id, history_days, folder) SELECT $1, c, 90, 'Folder ' || c % 5 FROM unnest($2::bigint[]) c",
        tenant_id,
        channels,
    )
    await admin.execute(COVERED)
    await admin.execute(POLLED, tenant_id)
    await admin.execute(VOCABULARY)
    await admin.execute(TAGGED)
    await admin.execute("UPDATE posts SET deleted_at = posted_at + interval '1 hour' WHERE message_id % 50 = 7")
    system = app.system
    await system.rebuilds.want(Projection.TEXT)
    await rebuild_text(
        word_index=system.word_index, posts=system.posts, states=system.post_states, rebuilds=system.rebuilds, owner="bench", stopping=asyncio.Event()
    )
    await admin.execute("VACUUM ANALYZE")
    return tenant_id, channels


@asynccontextmanager
async def reader(app: App, tenant_id: TenantId, language: str) -> AsyncIterator[Browser]:
    async with member_browser(app, tenant_id, role=MemberRole.OWNER, language=language) as browser:
        yield browser


def pages(channels: list[ChannelId], hand: random.Random) -> tuple[dict[str, str], dict[str, str]]:
    """A path for each page that shows posts or channels, and for each of the others."""
    channel = hand.choice(channels)
    often = {
        "feed.show": hand.choice(["/feed", "/feed?order=oldest", f"/feed?folder=Folder+{hand.randrange(5)}", f"/feed?channel={channel}"]),
        "post.show": f"/post/{channel}/1",
        "search.show": f"/search?q={hand.choice(WORDS)}",
        "changes.show": "/changes",
        "tags.show": "/tags",
        "feed.show_saved": "/saved",
        "channels.show": hand.choice(["/channels", "/channels?order=posts", "/channels?order=health&page=3"]),
        "channel.show": f"/channels/{channel}",
    }
    seldom = {
        "feed.show_mutes": "/mutes",
        "digests.show": "/digest",
        "digests.show_plan": "/digest/plan",
        "interests.show": "/interests",
        "trends.show": "/trends",
        "search.suggest": "/search/suggest?q=from:",
        "tags.show_posts": f"/tags/tag%20{hand.randrange(40)}",
        "destinations.show": "/go",
        "destinations.find": f"/go/found?q={hand.choice(WORDS)}",
        "spread.show": f"/spread/{channel}",
        "channels.export": "/channels/export/opml",
        "adding.show": "/channels/add",
        "adding.show_requests": "/channels/requests",
        "members.show": "/members",
        "setup.show": "/setup",
        "setup.show_login": "/setup/login",
        "overview.show": "/operations",
        "overview.refresh": "/operations/numbers",
        "dead_letters.show": "/operations/dead-letters",
        "tenants.show": "/operations/tenants",
        "accounts.show": "/accounts",
        "ai.show": "/ai",
        "keys.show": "/keys",
        "audit.show": "/audit",
    }
    return often, seldom


async def count_queries(browser: Browser, path: str) -> int:
    await browser.open(browser.base + path)
    with patch.object(Transactions, "begin", autospec=True, side_effect=Transactions.begin) as begun:
        answer = await browser.open(browser.base + path)
    assert answer.is_success, f"{path}: {answer.status_code}"
    return begun.call_count


async def read_together(app: App, tenant_id: TenantId, channels: list[ChannelId], seconds: float) -> tuple[dict[str, list[float]], int]:
    times: dict[str, list[float]] = {}
    errors = 0

    async def read(number: int) -> None:
        nonlocal errors
        hand = random.Random(number)
        async with reader(app, tenant_id, hand.choice(["ru", "en"])) as browser:
            await asyncio.sleep(hand.random() * EVERY_SECONDS)
            ends = time.monotonic() + seconds
            while time.monotonic() < ends:
                often, seldom = pages(channels, hand)
                name, path = hand.choice(list((often if hand.random() < OFTEN else seldom).items()))
                began = time.perf_counter()
                answer = await browser.open(browser.base + path)
                times.setdefault(name, []).append(time.perf_counter() - began)
                errors += not answer.is_success
                await asyncio.sleep(max(0.0, EVERY_SECONDS - (time.perf_counter() - began)))

    await asyncio.gather(*(read(number) for number in range(PEOPLE)))
    return times, errors


def assets_kb() -> float:
    """Our own files and the scripts that we carry, as they travel."""
    files = [STATIC / name for name in ("look.css", "app.js", "icon.svg", "vendor/htmx.min.js")]
    return sum(len(gzip.compress(one.read_bytes(), COMPRESSION)) for one in files) / 1000


async def first_paint(app: App, tenant_id: TenantId) -> float:
    member = await app.system.users.join(tenant_id, "phone", role=MemberRole.VIEWER)
    begun = await begin_session(member.user_id, people=app.api.people, agent="phone")
    async with served_web(app) as address, open_chromium() as chromium, open_tab(chromium, Device("phone", PHONE, "ru-RU"), address) as page:
        await page.context.add_cookies([{"name": SESSION, "value": begun.token, "url": address}])
        devtools = await page.context.new_cdp_session(page)
        await devtools.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        line = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 90_000}
        await devtools.send("Network.enable")
        await devtools.send("Network.emulateNetworkConditions", line)
        await page.goto("/")
        painted = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    return round(float(painted) / 1000, 2)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--quick", action="store_true", help="20,000 posts, 20 s")
    parser.add_argument("--keep", action="store_true", help="leave the database for the next run")
    options = parser.parse_args()
    posts, seconds = (20_000, 20.0) if options.quick else (options.posts, options.seconds)
    finish(asyncio.run(run(posts, seconds, keep=options.keep)), options, *LIMITS)


if __name__ == "__main__":
    main()
