"""One tenant's backfill and another tenant's news: how much later are the news because of the backfill?

A worker runs in a process of its own. News are landed one by one, ten a second; their latency is from the
landing to the moment the post has passed the pipeline (its row has left the outbox). Without a backfill,
while 10,000 posts of one are being landed (ten pages a second, what twelve accounts together may ask for),
and while the rest of them passes the pipeline, taking turns.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import asyncpg
from pydantic import SecretStr

from bench.studies.soak_streams import end_worker, start_worker
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.settings import DatabaseSettings
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import open_wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from testkit.engines import free_port, running_engine
from testkit.harness import Versions, arguments, at_most, finish, median, own_database, percentile
from testkit.rows import Writer, make_writer, page_of, posts_of

NEWS_PER_SECOND = 10
LOOK_SECONDS = 0.002
POSTS_PER_PAGE = 100
channel_ids = count(1_000_000)
LIMITS = at_most(3.0, "p95_ratio")


async def land(
    system: SystemStores,
    writer: Writer,
    channel_id: ChannelId,
    posts: int,
    lane: Lane,
    requested_by: int | None = None,
) -> None:
    await system.channels.register(Channel(channel_id=channel_id, title="bench"))
    by = None if requested_by is None else TenantId(requested_by)
    page = tuple(
        posts_of(
            writer, channel_id, first_id=1, count=posts, newest=datetime.now(UTC), span=timedelta(days=1)
        )
    )
    await system.landing.land(page_of(page, lane=lane, requested_by=by), Claim(channel_id, 0))


async def one_piece_of_news(
    system: SystemStores, writer: Writer, admin: "asyncpg.Pool[asyncpg.Record]"
) -> float:
    """Milliseconds until it has passed the pipeline."""
    channel_id = ChannelId(next(channel_ids))
    await land(system, writer, channel_id, 1, Lane.LIVE)
    landed = time.perf_counter()
    while await admin.fetchval("SELECT 1 FROM outbox WHERE channel_id = $1", channel_id):
        await asyncio.sleep(LOOK_SECONDS)
    return (time.perf_counter() - landed) * 1000


async def news(
    system: SystemStores, writer: Writer, admin: "asyncpg.Pool[asyncpg.Record]", until: asyncio.Event
) -> list[float]:
    tasks = []
    while not until.is_set():
        tasks.append(asyncio.create_task(one_piece_of_news(system, writer, admin)))
        await asyncio.sleep(1 / NEWS_PER_SECOND)
    return list(await asyncio.gather(*tasks))


async def backfill(database_url: str, first_channel: int, posts: int) -> None:
    """In a process of its own: pages come ten a second, more than one account may ask for."""
    settings = DatabaseSettings(url=SecretStr(database_url))
    writer = make_writer(2)
    async with open_pool(settings) as pool, open_wakeup(settings) as wakeup:
        system = system_stores(pool, wakeup)
        for number in range(posts // POSTS_PER_PAGE):
            began = time.monotonic()
            await land(
                system, writer, ChannelId(first_channel + number), POSTS_PER_PAGE, Lane.BULK, requested_by=2
            )
            await asyncio.sleep(max(0.0, began + 0.1 - time.monotonic()))


async def all_landed(database_url: str, first_channel: int, posts: int) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.lanes", "--backfill", database_url, str(first_channel), str(posts)
    )
    assert await program.wait() == 0


async def all_through(admin: "asyncpg.Pool[asyncpg.Record]") -> None:
    while await admin.fetchval("SELECT 1 FROM outbox WHERE lane = 'bulk' LIMIT 1"):
        await asyncio.sleep(0.1)


async def run(rounds: int, posts: int) -> dict[str, object]:
    idle: list[list[float]] = []
    landing: list[list[float]] = []
    passing: list[list[float]] = []
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder, running_engine("redis", Path(folder) / "redis") as engine:
        async with (
            own_database("tga_bench_lanes") as settings,
            open_pool(settings.database) as pool,
            open_wakeup(settings.database) as wakeup,
        ):
            system, writer = system_stores(pool, wakeup), make_writer(1)
            environ = {
                **os.environ,
                "DATABASE_URL": settings.database.url.get_secret_value(),
                "REDIS_URL": engine.url,
            }
            admin = await asyncpg.create_pool(
                (settings.database.admin_url or settings.database.url).get_secret_value()
            )
            worker = await start_worker(environ, free_port(), Path(folder) / "worker.log")
            try:
                await one_piece_of_news(system, writer, admin)
                url = settings.database.url.get_secret_value()
                for number in range(rounds):
                    idle.append(await in_the_meantime(asyncio.sleep(10), system, writer, admin))
                    began = time.perf_counter()
                    landing.append(
                        await in_the_meantime(
                            all_landed(url, 5_000_000 + number * posts, posts), system, writer, admin
                        )
                    )
                    passing.append(await in_the_meantime(all_through(admin), system, writer, admin))
                    took.append(time.perf_counter() - began)
            finally:
                await end_worker(worker)
                await admin.close()
            connection = await asyncpg.connect(url)
            versions = await Versions.read(connection)
            await connection.close()
    return {
        "bench": "lanes",
        "p95_ratio": ratio(passing, idle),
        "p95_ratio_while_landing": ratio(landing, idle),
        **{
            f"{name}_p{share}_ms": round(median([percentile(delays, share / 100) for delays in rounds_of]), 1)
            for name, rounds_of in (("idle", idle), ("landing", landing), ("passing", passing))
            for share in (50, 95)
        },
        "news_while_passing": sum(len(delays) for delays in passing),
        "backfill_posts": posts,
        "backfill_posts_per_s": round(posts / median(took)),
        "rounds": rounds,
        **versions.as_json(),
    }


def ratio(busy: list[list[float]], idle: list[list[float]]) -> float:
    return round(
        median(
            [
                percentile(during, 0.95) / percentile(before, 0.95)
                for before, during in zip(idle, busy, strict=True)
            ]
        ),
        2,
    )


async def in_the_meantime(
    work: Awaitable[object], system: SystemStores, writer: Writer, admin: "asyncpg.Pool[asyncpg.Record]"
) -> list[float]:
    """Latencies of the news while the work goes on."""
    over = asyncio.Event()
    listening = asyncio.create_task(news(system, writer, admin, over))
    await work
    over.set()
    return await listening


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--posts", type=int, default=10_000)
    parser.add_argument(
        "--backfill",
        nargs=3,
        metavar=("URL", "CHANNEL", "POSTS"),
        help="be the process that fills (used by the bench itself)",
    )
    options = parser.parse_args()
    if options.backfill:
        url, first_channel, posts = options.backfill
        asyncio.run(backfill(url, int(first_channel), int(posts)))
        return
    finish(asyncio.run(run(options.rounds, options.posts)), options, *LIMITS)


if __name__ == "__main__":
    main()
