"""An open page: what PostgreSQL reads every two seconds to learn whether a tenant's channels have new posts.

`counter` is what the program asks, `sum` the newest ids of all channels: what it asked before. Tenants follow
ever more channels. `relay` is what the counter costs where posts are announced: nobody waits, one tenant of
ten with 500 channels each waits, all of them wait.
"""

import asyncio
import json
import random
from typing import Any

import asyncpg

from telegram_assistant.stores.postgres.database import PLANNING
from telegram_assistant.stores.postgres.feed.news import COUNT_ARRIVALS, READ
from testkit.harness import Versions, arguments, at_most, finish, median, own_database

SUM = """
SELECT coalesce(sum(c.newest_message_id), 0)::bigint FROM subscriptions s
JOIN channels c USING (channel_id) WHERE s.active
"""
CHANNELS = 20_000
FOLLOWED = (10, 500, 5_000, 20_000)
TENANT_CHANNELS = 500
LIMITS = at_most(8, "counter_buffers") + at_most(1.0, "relay_idle_ms")

type Admin = asyncpg.Connection[asyncpg.Record]


async def run(tenants: int, rounds: int) -> dict[str, object]:
    async with own_database("tga_bench_open_pages") as settings:
        admin = await asyncpg.connect(settings.database.migration_url.get_secret_value(), command_timeout=600)
        readers = await load(admin, tenants)
        pages = {
            followed: {
                "sum": await explain(admin, SUM, tenant_id=tenant_id, rounds=rounds),
                "counter": await explain(admin, READ, tenant_id=tenant_id, rounds=rounds),
            }
            for followed, tenant_id in readers.items()
        }
        relay = {
            f"{waiting} wait, {channels} channels": await measure_relay(admin, waiting, channels, rounds)
            for waiting in (0, tenants // 10, tenants)
            for channels in (1, 100)
        }
        versions = await Versions.read(admin)
        await admin.close()
    return {
        "bench": "open_pages",
        "counter_buffers": max(page["counter"]["buffers"] for page in pages.values()),
        "relay_idle_ms": relay["0 wait, 100 channels"]["ms"],
        "pages": pages,
        "relay": relay,
        **versions.as_json(),
    }


async def load(admin: Admin, tenants: int) -> dict[int, int]:
    """Tenants with TENANT_CHANNELS channels each, and one reader for each number of FOLLOWED."""
    await admin.execute(
        "INSERT INTO channels (channel_id, title, newest_message_id) SELECT n, 'channel', n "
        "FROM generate_series(1, $1::int) n",
        CHANNELS,
    )
    rng = random.Random(1)
    for _ in range(tenants):
        await subscribe(admin, rng.sample(range(1, CHANNELS + 1), TENANT_CHANNELS))
    readers = {count: await subscribe(admin, list(range(1, count + 1))) for count in FOLLOWED}
    await admin.execute(
        "INSERT INTO tenant_news (tenant_id, awaited_until) "
        "SELECT tenant_id, now() + interval '1 day' FROM tenants"
    )
    await admin.execute("VACUUM ANALYZE")
    return readers


async def subscribe(admin: Admin, channels: list[int]) -> int:
    return int(
        await admin.fetchval(
            """
            WITH tenant AS (INSERT INTO tenants (name) VALUES (gen_random_uuid()::text) RETURNING tenant_id),
            followed AS (
                INSERT INTO subscriptions (tenant_id, channel_id)
                SELECT tenant_id, unnest($1::bigint[]) FROM tenant
            )
            SELECT tenant_id FROM tenant
            """,
            channels,
        )
    )


async def measure_relay(admin: Admin, waiting: int, channels: int, rounds: int) -> dict[str, float]:
    await admin.execute(
        """
        UPDATE tenant_news SET awaited_until = now() + CASE
            WHEN tenant_id IN (SELECT tenant_id FROM tenant_news ORDER BY tenant_id LIMIT $1)
            THEN interval '1 day' ELSE interval '-1 day' END
        """,
        waiting,
    )
    await admin.execute("VACUUM ANALYZE tenant_news")
    rng = random.Random(2)
    samples = [sorted(rng.sample(range(1, CHANNELS + 1), channels)) for _ in range(rounds)]
    return await explain(admin, COUNT_ARRIVALS, rounds=rounds, values=samples)


async def explain(
    admin: Admin,
    query: str,
    *,
    rounds: int,
    tenant_id: int | None = None,
    values: list[list[int]] | None = None,
) -> dict[str, float]:
    """Pages read and milliseconds of execution, medians; what the query writes is rolled back."""
    buffers, took_ms = list[float](), list[float]()
    for number in range(rounds):
        transaction = admin.transaction()
        await transaction.start()
        role = "tga_system" if tenant_id is None else "tga_tenant"
        await admin.execute(f"{PLANNING}; SET LOCAL ROLE {role}")
        if tenant_id is not None:
            await admin.execute(f"SET LOCAL app.tenant_id = '{tenant_id}'")
        parameters = () if values is None else (values[number],)
        explained: Any = await admin.fetchval(
            f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {query}", *parameters
        )
        await transaction.rollback()
        [explanation] = json.loads(explained)
        buffers.append(explanation["Plan"]["Shared Hit Blocks"] + explanation["Plan"]["Shared Read Blocks"])
        took_ms.append(explanation["Execution Time"])
    return {"buffers": median(buffers), "ms": round(median(took_ms), 3)}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--quick", action="store_true", help="100 tenants")
    options = parser.parse_args()
    tenants = 100 if options.quick else options.tenants
    finish(asyncio.run(run(tenants, options.rounds)), options, *LIMITS)


if __name__ == "__main__":
    main()
