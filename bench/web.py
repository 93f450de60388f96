"""The pages: 100 people who open a page each every 10 s, over 200,000 posts of 500 channels; and what a phone loads first.

Three of four pages show stories, posts or channels. Server time is that of the answer, without the network, by a process that has been running for
a while: templates are compiled in each language, and connections have planned their statements. A thumbnail is made when somebody first asks for
it; that time stands apart. Queries are counted one page at a time, as transactions: each store method is one. A page that is not opened here
misses a limit. A phone is Chromium's, four times slower than this machine, on a line of 1.6 Mbit/s with 150 ms of delay.
"""

import asyncio
import gzip
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from unittest.mock import patch
from uuid import UUID

import asyncpg

from bench.web_world import CHANNELS, WATCHED_WORDS, WORDS, World, build_world, settle
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.features.people import begin_session
from telegram_assistant.stores.postgres.database import Transactions
from telegram_assistant.web.cookies import SESSION
from telegram_assistant.web.page import Page
from telegram_assistant.web.rendering import STATIC
from telegram_assistant.web.site import COMPRESSION, OF_PERSON, OF_TENANT, OPEN, name_of
from testkit.chromium import PHONE, Device, open_chromium, open_tab
from testkit.harness import Versions, arguments, at_most, finish, median, own_database, percentile
from testkit.web_clients import Browser, member_browser, served_web

PEOPLE = 100
EVERY_SECONDS = 10.0
OFTEN = 0.75
"""The share of pages that show stories, posts or channels."""
NOT_MEASURED = {"login.show", "login.show_start", "login.show_link", "checks.show"}
"""Forms without anything to read, for who has not logged in; and checks of the servers, which are as fast as these answer."""
LIMITS = (
    *at_most(150.0, "slowest_p95_ms"),
    *at_most(120.0, "assets_kb"),
    *at_most(1.0, "fcp_s"),
    *at_most(0, "errors", "queries_over", "pages_left_out"),
)


@dataclass(frozen=True, slots=True)
class ReadingPerson:
    """Somebody with a browser and digests of their own."""

    browser: Browser
    digests: list[UUID]

    def pages(self, world: World, hand: random.Random) -> tuple[dict[str, str], dict[str, str]]:
        """An address for each page that shows stories, posts or channels, and for each of the others."""
        often, seldom = pages(world, self.digests, hand)
        base = self.browser.base
        outside = {"person.show": "/me", "feed_file.show": f"/feeds/{world.feed}.atom"}
        return (
            {"person.home": "/", **{name: base + path for name, path in often.items()}},
            {**outside, **{name: base + path for name, path in seldom.items()}},
        )


async def run(posts: int, seconds: float, *, keep: bool) -> dict[str, object]:
    with TemporaryDirectory() as files:
        async with own_database(f"tga_bench_web_{posts}", keep=keep, variables={"S3_ENDPOINT": "", "FILES_DIR": files}) as settings:
            admin = await asyncpg.connect((settings.database.admin_url or settings.database.url).get_secret_value(), command_timeout=3600)
            async with assemble(settings) as app:
                world = await build_world(app, admin, posts)
                async with reader(app, world, "en") as one, reader(app, world, "ru") as other:
                    thumbnails = [
                        await time_opening(one.browser, f"{one.browser.base}/media/{post}/0/{size}") for post in world.pictured for size in "sm"
                    ]
                    often, seldom = other.pages(world, random.Random(1))
                    for path in (often | seldom).values():
                        await asyncio.gather(*(other.browser.open(path) for _ in range(settings.database.pool_size)))
                    often, seldom = one.pages(world, random.Random(1))
                    queries = {name: await count_queries(one.browser, path) for name, path in (often | seldom).items()}
                times, errors = await read_together(app, world, seconds)
                fcp = await first_paint(app, world.tenant_id)
            versions = await Versions.read(admin)
            await admin.close()
    allowed = {name_of(one): one.queries for one in (*OPEN, *OF_PERSON, *OF_TENANT) if isinstance(one, Page)}
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
        "new_thumbnail_ms": round(median(thumbnails) * 1000, 1),
        "assets_kb": round(assets_kb(), 1),
        "fcp_s": fcp,
        "errors": errors,
        "most_queries": max(queries.values()),
        "queries": queries,
        "queries_over": [name for name, count in queries.items() if count > allowed[name]],
        "pages_left_out": sorted(allowed.keys() - queries.keys() - NOT_MEASURED),
        **versions.as_json(),
    }


@asynccontextmanager
async def reader(app: App, world: World, language: str) -> AsyncIterator[ReadingPerson]:
    async with member_browser(app, world.tenant_id, role=MemberRole.OWNER, language=language) as browser:
        yield ReadingPerson(browser, await settle(app, world, browser.user_id))


def pages(world: World, digests: list[UUID], hand: random.Random) -> tuple[dict[str, str], dict[str, str]]:
    """Paths below the tenant's."""
    channel, told, pictured, word = hand.choice(world.channels), hand.choice(world.told), hand.choice(world.pictured), hand.choice(WORDS)
    often = {
        "today.show": hand.choice(["/today", "/today?window=3days", "/today?window=week", f"/today?folder=Folder+{hand.randrange(5)}"]),
        "story.show": f"/story/{told}",
        "feed.show": hand.choice(["/feed", "/feed?order=oldest", f"/feed?folder=Folder+{hand.randrange(5)}", f"/feed?channel={channel}"]),
        "post.show": f"/post/{hand.choice([told, f'{channel}/1'])}",
        "search.show": f"/search?q={word}",
        "changes.show": "/changes",
        "tags.show": "/tags",
        "feed.show_saved": "/saved",
        "channels.show": hand.choice(["/channels", "/channels?order=posts", "/channels?order=health&page=3"]),
        "channel.show": f"/channels/{channel}",
    }
    seldom = {
        "alerts.show": hand.choice(["/alerts", "/alerts?show=all"]),
        "watches.show": "/watches",
        "watches.show_new": "/watches/new",
        "watches.show_one": f"/watches/{hand.choice(world.watches)}",
        "watches.preview": f"/watches/preview?kind=words&query={hand.choice(WATCHED_WORDS)}",
        "receivers.show": "/receivers",
        "ask.show": f"/ask?q={word}%3F",
        "ask.stream": f"/ask/stream?q={word}%3F",
        "media.show": f"/media/{pictured}/0/{hand.choice('sm')}",
        "feed.show_mutes": "/mutes",
        "digests.show": "/digest",
        "digests.show_one": f"/digest/{hand.choice(digests)}",
        "digests.show_plan": "/digest/plan",
        "interests.show": "/interests",
        "trends.show": "/trends",
        "search.suggest": "/search/suggest?q=from:",
        "tags.show_posts": f"/tags/tag%20{hand.randrange(40)}",
        "destinations.show": "/go",
        "destinations.find": f"/go/found?q={word}",
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


async def time_opening(browser: Browser, path: str) -> float:
    began = time.perf_counter()
    answer = await browser.open(path)
    assert answer.is_success, f"{path}: {answer.status_code}"
    return time.perf_counter() - began


async def count_queries(browser: Browser, path: str) -> int:
    await browser.open(path)
    with patch.object(Transactions, "begin", autospec=True, side_effect=Transactions.begin) as begun:
        answer = await browser.open(path)
    assert answer.is_success, f"{path}: {answer.status_code}"
    return begun.call_count


async def read_together(app: App, world: World, seconds: float) -> tuple[dict[str, list[float]], int]:
    times: dict[str, list[float]] = {}
    errors = 0

    async def read(person: ReadingPerson, hand: random.Random) -> None:
        nonlocal errors
        await asyncio.sleep(hand.random() * EVERY_SECONDS)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            often, seldom = person.pages(world, hand)
            name, path = hand.choice(list((often if hand.random() < OFTEN else seldom).items()))
            began = time.perf_counter()
            answer = await person.browser.open(path)
            times.setdefault(name, []).append(time.perf_counter() - began)
            errors += not answer.is_success
            await asyncio.sleep(max(0.0, EVERY_SECONDS - (time.perf_counter() - began)))

    async with AsyncExitStack() as stack:
        hands = [random.Random(number) for number in range(PEOPLE)]
        people = [await stack.enter_async_context(reader(app, world, hand.choice(["ru", "en"]))) for hand in hands]
        await asyncio.gather(*(read(person, hand) for person, hand in zip(people, hands, strict=True)))
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
