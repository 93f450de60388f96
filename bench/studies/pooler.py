"""Many clients over few connections: the feed through PgBouncer in transaction mode, beside direct
connections.

Each client is a pool of one connection, as in a process of its own, and opens first pages of the feed of
random tenants at random moments. Both ways take turns with the same pages per second. `cold` is the first
page of each client: over a connection of its own PostgreSQL plans the statements first. If the server
allows fewer connections than there are clients, there are fewer direct clients.
"""

import asyncio
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import asyncpg
from pydantic import SecretStr

from bench.studies.feed import CHANNELS, POSTS_PER_PAGE, load
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.errors import Busy
from telegram_assistant.settings import DatabaseLogin, DatabaseSettings
from telegram_assistant.stores.postgres.database import Pool, open_pool
from telegram_assistant.stores.postgres.stores import tenant_stores
from testkit.harness import (
    Versions,
    arguments,
    at_most,
    finish,
    median,
    own_database,
    percentile,
)
from testkit.pooler import pooled_environ, pooler
from testkit.processes import proportional_mb
from testkit.rows import heavy_tailed_counts

SPARE_CONNECTIONS = 20
"""Left to others on the server."""
DIRECT, POOLED = WAYS = ("direct", "pooled")
FREE = "SELECT current_setting('max_connections')::int - count(*)::int FROM pg_stat_activity"
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = $1"
LIMITS = at_most(1.2, "p95_ratio") + at_most(0, "failed")

type Admin = asyncpg.Connection[asyncpg.Record]


@dataclass(frozen=True, slots=True)
class Load:
    """The work of the clients in one turn."""

    clients: int
    pages_per_second: float
    seconds: float


@dataclass(slots=True)
class Measured:
    """The figures of one way so far."""

    clients: int
    cold_ms: list[float] = field(default_factory=list)
    warm_ms: list[float] = field(default_factory=list)
    server_connections: int = 0
    server_mb: float = 0
    failed: int = 0

    @property
    def p95_ms(self) -> float:
        return percentile(self.warm_ms, 0.95)

    def as_json(self) -> dict[str, object]:
        return {
            "clients": self.clients,
            "pages": len(self.warm_ms),
            "p50_ms": round(median(self.warm_ms), 1),
            "p95_ms": round(self.p95_ms, 1),
            "cold_p50_ms": round(median(self.cold_ms), 1),
            "cold_p95_ms": round(percentile(self.cold_ms, 0.95), 1),
            "server_connections": self.server_connections,
            "server_mb": round(self.server_mb),
        }


async def run(posts: int, connections: int, load_plan: Load, turns: int) -> dict[str, object]:
    async with own_database("tga_bench_pooler") as settings:
        database = settings.database
        admin = await asyncpg.connect(database.migration_url.get_secret_value(), command_timeout=600)
        await load(admin, heavy_tailed_counts(1, channels=CHANNELS, posts=posts))
        rows = await admin.fetch("SELECT tenant_id FROM tenants WHERE name LIKE 'random %'")
        tenants = [TenantId(row["tenant_id"]) for row in rows]
        environ = {
            **os.environ,
            "DATABASE_URL": database.url.get_secret_value(),
            "DATABASE_ADMIN_URL": database.migration_url.get_secret_value(),
        }
        free = await admin.fetchval(FREE) - connections - SPARE_CONNECTIONS
        measured = {DIRECT: Measured(min(load_plan.clients, free)), POOLED: Measured(load_plan.clients)}
        with pooler(environ, size=connections) as port:
            urls = {DIRECT: environ["DATABASE_URL"], POOLED: pooled_environ(environ, port)["DATABASE_URL"]}
            for turn in range(turns):
                for way in WAYS if turn % 2 == 0 else reversed(WAYS):
                    own = database.model_copy(update={"url": SecretStr(urls[way]), "pool_size": 1})
                    await take_turn(measured[way], own, tenants, load_plan, admin=admin)
                    print(f"turn {turn + 1}, {way}: {measured[way].as_json()}", file=sys.stderr)
        versions = await Versions.read(admin)
        await admin.close()
    return {
        "bench": "pooler",
        "posts": posts,
        "pages_per_second": load_plan.pages_per_second,
        "p95_ratio": round(measured[POOLED].p95_ms / measured[DIRECT].p95_ms, 2),
        "failed": sum(each.failed for each in measured.values()),
        **{way: measured[way].as_json() for way in WAYS},
        **versions.as_json(),
    }


async def take_turn(
    measured: Measured,
    database: DatabaseSettings,
    tenants: Sequence[TenantId],
    load_plan: Load,
    *,
    admin: Admin,
) -> None:
    """Each client opens its first page, one after another; then all open pages at random moments."""
    async with open_clients(database, measured.clients) as clients:
        for client in clients:
            measured.cold_ms += await open_page(client, tenants, measured)
        pause_seconds = measured.clients / load_plan.pages_per_second
        until = time.monotonic() + load_plan.seconds
        await asyncio.gather(
            *(
                read_pages(client, tenants, measured, pause_seconds=pause_seconds, until=until)
                for client in clients
            )
        )
        backends = [row["pid"] for row in await admin.fetch(BACKENDS, database.name_of(DatabaseLogin.API))]
        measured.server_connections = max(measured.server_connections, len(backends))
        measured.server_mb = max(measured.server_mb, proportional_mb(backends))


@asynccontextmanager
async def open_clients(database: DatabaseSettings, count: int) -> AsyncIterator[list[Pool]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_pool(database)) for _ in range(count)]


async def read_pages(
    client: Pool, tenants: Sequence[TenantId], measured: Measured, *, pause_seconds: float, until: float
) -> None:
    while True:
        next_at = time.monotonic() + random.expovariate(1 / pause_seconds)
        await asyncio.sleep(min(next_at, until) - time.monotonic())
        if next_at >= until:
            return
        measured.warm_ms += await open_page(client, tenants, measured)


async def open_page(client: Pool, tenants: Sequence[TenantId], measured: Measured) -> list[float]:
    """Milliseconds of the page, or nothing if it failed."""
    began = time.perf_counter()
    try:
        posts = await tenant_stores(client, random.choice(tenants)).feed.newest(limit=POSTS_PER_PAGE)
    except Busy as error:
        print(f"a page failed: {error}", file=sys.stderr)
        measured.failed += 1
        return []
    measured.failed += len(posts) != POSTS_PER_PAGE
    return [(time.perf_counter() - began) * 1000]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=200_000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--connections", type=int, default=20, help="of PgBouncer to PostgreSQL")
    parser.add_argument("--pages-per-second", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each turn")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="20,000 posts, 40 clients, two short turns")
    options = parser.parse_args()
    if options.quick:
        options.posts, options.clients, options.connections = 20_000, 40, 10
        options.pages_per_second, options.seconds, options.turns = 8.0, 10.0, 2
    load_plan = Load(options.clients, options.pages_per_second, options.seconds)
    finish(asyncio.run(run(options.posts, options.connections, load_plan, options.turns)), options, *LIMITS)


if __name__ == "__main__":
    main()
