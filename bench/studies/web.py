"""The pages: 100 people who open a page each every 10 s, over 200,000 posts of 500 channels; and what a phone
loads first.

Three of four pages show stories, posts or channels. This process is the server and nothing else while the
people read: they are in another one (`bench/workloads/web_load.py`), and their clocks tell the server time,
from the request to the last byte of the answer on loopback. The server has been running for a while, with the
program's memory settings: templates are compiled in each language, and connections have planned their
statements. A thumbnail is made when somebody first asks for it; that time stands apart. CPU is that of one
page at a time, of this process and of its connections. Queries are counted one page at a time, as
transactions: each store method is one. A page that is not opened here misses a limit. A phone is Chromium's,
four times slower than this machine, on a line of 1.6 Mbit/s with 150 ms of delay.
"""

import asyncio
import gzip
import os
import random
import secrets
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from tempfile import TemporaryDirectory
from unittest.mock import patch

import asyncpg
import httpx

from bench.workloads.web_load import ReadingPerson, measure_costs, open_client, read_together
from bench.workloads.web_world import CHANNELS, World, build_world, settle
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.sharing.links import PublicLinkKind
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.features.sharing.public_links import create_link
from telegram_assistant.interpreter import collect_seldom, switch_threads_often
from telegram_assistant.stores.postgres.database import Transactions
from telegram_assistant.web.cookies import SESSION
from telegram_assistant.web.page import Page
from telegram_assistant.web.rendering import STATIC
from telegram_assistant.web.site import COMPRESSION, OF_PERSON, OF_TENANT, OPEN, name_of
from testkit.chromium import PHONE, Device, open_chromium, open_tab
from testkit.harness import Versions, arguments, at_most, finish, median, own_database, percentile
from testkit.web_clients import begin_session, serve_web

PEOPLE = 100
NOT_MEASURED = {
    "login.show",
    "login.show_start",
    "login.show_link",
    "subscriptions.show_confirm",
    "subscriptions.show_unsubscribe",
    "checks.show",
}
"""Forms without anything to read, for who has not logged in; and checks of the servers,
which are as fast as these answer.
"""
UNLIMITED = {"WEB_REQUESTS_PER_MINUTE": "1000000", "WEB_TENANT_REQUESTS_PER_MINUTE": "1000000"}
"""One person opens everything many times, to see what it costs."""
MENU_QUERIES = 1
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
LIMITS = (
    *at_most(150.0, "slowest_p95_ms"),
    *at_most(120.0, "assets_kb"),
    *at_most(1.0, "fcp_s"),
    *at_most(12, "most_queries"),
    *at_most(0, "errors", "queries_over", "pages_left_out"),
)


async def run(posts: int, seconds: float, *, keep: bool) -> dict[str, object]:
    collect_seldom()
    switch_threads_often()
    with TemporaryDirectory() as files:
        async with own_database(
            f"tga_bench_web_{posts}",
            keep=keep,
            variables={"S3_ENDPOINT": "", "FILES_DIR": files, **UNLIMITED},
        ) as settings:
            admin = await asyncpg.connect(
                (settings.database.admin_url or settings.database.url).get_secret_value(),
                command_timeout=3600,
            )
            async with assemble(settings) as app, serve_web(app) as address:
                world = await build_world(app, admin, posts)
                thumbnails, queries = await warm_up(app, world, address)
                people = [
                    await settle_person(app, world, random.Random(number).choice(["ru", "en"]))
                    for number in range(PEOPLE)
                ]
                backends = [row["pid"] for row in await admin.fetch(BACKENDS)]
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as clients:
                    loop, seen = asyncio.get_running_loop(), replace(world, digests=())
                    costs = await loop.run_in_executor(
                        clients, measure_costs, address, seen, people[0], os.getpid(), backends
                    )
                    load = await loop.run_in_executor(clients, read_together, address, seen, people, seconds)
                fcp = await first_paint(app, world.tenant_id, address)
            versions = await Versions.read(admin)
            await admin.close()
    allowed = {
        name_of(page): page.queries for page in (*OPEN, *OF_PERSON, *OF_TENANT) if isinstance(page, Page)
    }
    p95 = {name: milliseconds(percentile(values, 0.95)) for name, values in load.times.items()}
    return {
        "bench": "web",
        "posts": posts,
        "channels": CHANNELS,
        "people": PEOPLE,
        "slowest_p95_ms": max(p95.values()),
        "p95_ms": p95,
        "p50_ms": {name: milliseconds(percentile(values, 0.5)) for name, values in load.times.items()},
        "api_cpu_ms": {
            name: milliseconds(median([cost.api for cost in samples])) for name, samples in costs.items()
        },
        "postgres_cpu_ms": {
            name: milliseconds(median([cost.postgres for cost in samples])) for name, samples in costs.items()
        },
        "pages": sum(map(len, load.times.values())),
        "new_thumbnail_ms": milliseconds(median(thumbnails)),
        "assets_kb": round(assets_kb(), 1),
        "fcp_s": fcp,
        "errors": load.errors.total(),
        "errors_by_page": dict(load.errors),
        "most_queries": max(queries.values()),
        "queries": queries,
        "queries_over": [name for name, count in queries.items() if count > allowed[name] + MENU_QUERIES],
        "pages_left_out": sorted(allowed.keys() - queries.keys() - NOT_MEASURED),
        **versions.as_json(),
    }


def milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 1)


async def settle_person(app: App, world: World, language: str) -> ReadingPerson:
    """A new owner of the tenant, logged in, with what somebody has after two weeks."""
    member = await app.system.users.join(
        world.tenant_id, f"person {secrets.token_hex(6)}", role=MemberRole.OWNER
    )
    begun = await begin_session(app, member.user_id, agent="bench")
    digests = await settle(app, world, member.user_id)
    session = await app.api.people.session(begun.token)
    assert session is not None
    [membership] = session.memberships
    link = await create_link(
        PublicLinkKind.STORY,
        str(world.story_posts[0]),
        days=7,
        stores=app.tenant(world.tenant_id),
        own=app.person(world.tenant_id, member.user_id),
    )
    return ReadingPerson(
        begun.token,
        f"/t/{membership.tenant}",
        language,
        tuple(digests),
        session.person.public_id,
        link.path,
    )


async def warm_up(app: App, world: World, address: str) -> tuple[list[float], dict[str, int]]:
    """Opens everything on every connection. Seconds of new thumbnails, and the queries of each page."""
    person, other = await settle_person(app, world, "en"), await settle_person(app, world, "ru")
    async with open_client(address) as client:
        thumbnails = [
            await time_opening(client, person, f"{person.base}/media/{post}/0/{size}")
            for post in world.pictured
            for size in "sm"
        ]
        often, seldom = other.pages(world, random.Random(1))
        for path in (often | seldom).values():
            await asyncio.gather(
                *(client.get(path, headers=other.headers) for _ in range(app.settings.database.pool_size))
            )
        often, seldom = person.pages(world, random.Random(1))
        return thumbnails, {
            name: await count_queries(client, person, path) for name, path in (often | seldom).items()
        }


async def time_opening(client: httpx.AsyncClient, person: ReadingPerson, path: str) -> float:
    began = time.perf_counter()
    answer = await client.get(path, headers=person.headers)
    assert answer.is_success, f"{path}: {answer.status_code}"
    return time.perf_counter() - began


async def count_queries(client: httpx.AsyncClient, person: ReadingPerson, path: str) -> int:
    await client.get(path, headers=person.headers)
    with patch.object(Transactions, "begin", autospec=True, side_effect=Transactions.begin) as begun:
        answer = await client.get(path, headers=person.headers)
    assert answer.is_success, f"{path}: {answer.status_code}"
    return begun.call_count


def assets_kb() -> float:
    """Our own files, and the scripts and fonts that we carry, as they travel."""
    files = [STATIC / name for name in ("look.css", "app.js", "icon.svg", "icons.svg", "vendor/htmx.min.js")]
    fonts = [STATIC / f"vendor/pt-serif-{script}-700-normal.woff2" for script in ("latin", "cyrillic")]
    texts = sum(len(gzip.compress(file.read_bytes(), COMPRESSION)) for file in files)
    return (texts + sum(len(font.read_bytes()) for font in fonts)) / 1000


async def first_paint(app: App, tenant_id: TenantId, address: str) -> float:
    member = await app.system.users.join(tenant_id, "phone", role=MemberRole.VIEWER)
    begun = await begin_session(app, member.user_id, agent="phone")
    async with (
        open_chromium() as chromium,
        open_tab(chromium, Device("phone", PHONE, "ru-RU"), address) as page,
    ):
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
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--quick", action="store_true", help="20,000 posts, 20 s")
    parser.add_argument("--keep", action="store_true", help="leave the database for the next run")
    options = parser.parse_args()
    posts, seconds = (20_000, 20.0) if options.quick else (options.posts, options.seconds)
    finish(asyncio.run(run(posts, seconds, keep=options.keep)), options, *LIMITS)


if __name__ == "__main__":
    main()
