"""Landing pages of 100 posts: ours (posts, versions, coverage, head, outbox, fence) beside bare asyncpg
inserting the same posts rows.

Bare is one multi-row INSERT … SELECT unnest per page into the same partitioned table, one commit per page.
Both sides take turns, page group by page group, on fresh channels each; medians over the turns.
"""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import asyncpg

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.rows import LANDED, as_columns, unnest_landed
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from testkit.harness import (
    Versions,
    arguments,
    at_least,
    cpu_seconds,
    finish,
    median,
    own_cpu_seconds,
    own_database,
)
from testkit.rows import Writer, make_writer, page_of, posts_of

POSTS_PER_PAGE = 100
PAGES_PER_TURN = 40
BARE = f"INSERT INTO posts (channel_id, stored_at, {LANDED}) SELECT $1, $2, * FROM {unnest_landed(3)}"
LIMITS = at_least(0.5, "ratio")


@dataclass
class Side:
    """The measurements of one side, one value per turn."""

    per_s: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)


async def run(seconds: float) -> dict[str, object]:
    async with own_database("tga_bench_land") as settings, open_pool(settings.database) as pool:
        # Both sides have one connection each, so that the CPU of its backend is the CPU of the side.
        plain = await asyncpg.connect(
            (settings.database.admin_url or settings.database.url).get_secret_value()
        )
        system = system_stores(pool, Wakeup())
        pids = {
            "ours": await pool.fetchval("SELECT pg_backend_pid()"),
            "bare": await plain.fetchval("SELECT pg_backend_pid()"),
        }
        sides = {"ours": Side(), "bare": Side()}
        writer, channel_ids = make_writer(1), iter(range(1_000_000_000, 2_000_000_000))
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or len(sides["ours"].per_s) < 3:
            for name in ("ours", "bare") if len(sides["ours"].per_s) % 2 else ("bare", "ours"):
                pages = [await make_page(system, writer, next(channel_ids)) for _ in range(PAGES_PER_TURN)]
                await take_turn(
                    sides[name], pages, pid=pids[name], system=system if name == "ours" else None, plain=plain
                )
        versions = await Versions.read(plain)
        await plain.close()
    return summary(sides, versions)


async def make_page(system: SystemStores, writer: Writer, channel_id: int) -> tuple[Post, ...]:
    await system.channels.register(Channel(channel_id=ChannelId(channel_id), title="bench"))
    return tuple(
        posts_of(
            writer,
            channel_id,
            first_id=1,
            count=POSTS_PER_PAGE,
            newest=datetime.now(UTC),
            span=timedelta(days=3),
        )
    )


async def take_turn(
    side: Side,
    pages: list[tuple[Post, ...]],
    *,
    pid: int,
    system: SystemStores | None,
    plain: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    cpu, began = cpu_seconds(pid) + own_cpu_seconds(), time.perf_counter()
    for posts in pages:
        if system is not None:
            await system.landing.land(page_of(posts), Claim(posts[0].channel_id, 0))
        else:
            await plain.execute(BARE, posts[0].channel_id, datetime.now(UTC), *as_columns(posts))
    took, used = time.perf_counter() - began, cpu_seconds(pid) + own_cpu_seconds() - cpu
    count = len(pages) * POSTS_PER_PAGE
    side.per_s.append(count / took)
    side.cpu_us.append(used / count * 1e6)


def summary(sides: dict[str, Side], versions: Versions) -> dict[str, object]:
    ours, bare = median(sides["ours"].per_s), median(sides["bare"].per_s)
    return {
        "bench": "land",
        "ratio": round(ours / bare, 3),
        "ours_per_s": round(ours),
        "bare_per_s": round(bare),
        "cpu_us_per_post": round(median(sides["ours"].cpu_us), 1),
        "bare_cpu_us_per_post": round(median(sides["bare"].cpu_us), 1),
        "page": POSTS_PER_PAGE,
        "turns": len(sides["ours"].per_s),
        "posts": len(sides["ours"].per_s) * PAGES_PER_TURN * POSTS_PER_PAGE,
        **versions.as_json(),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    finish(asyncio.run(run(options.seconds)), options, *LIMITS)


if __name__ == "__main__":
    main()
