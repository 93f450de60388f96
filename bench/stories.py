"""How well and how fast posts are grouped into stories, without any model, through PostgreSQL: the measuring world knows the truth.

Reported are kinds of events and days on which nothing was fitted (bench.fit_stories). A recall is the share of posts that are in one
story with an earlier post of theirs. Posts per second are of the CPU of this process and of its connections in PostgreSQL.
`growth` compares the cost of a post after ten times as many posts, with as many posts a day.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from bench.story_world import MEASURING_DAYS, figures, halves, land, world
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import PostId
from telegram_assistant.settings import Settings
from testkit.harness import arguments, at_least, at_most, cpu_seconds, finish, own_cpu_seconds, own_database

BATCH = 200
LIMITS = (
    *at_least(0.97, "precision", "b_cubed_f1"),
    *at_least(1.0, "recall_forward"),
    *at_least(0.98, "recall_copy"),
    *at_least(0.95, "recall_picture"),
    *at_least(0.8, "recall_rewrite"),
    *at_least(0.85, "recall_translation"),
    *at_least(0.93, "first_source"),
    *at_least(300, "posts_per_s"),
    *at_most(1.3, "growth"),
)


async def grouped(app: App, admin: "asyncpg.Connection[asyncpg.Record]", posts: Sequence[PostId]) -> tuple[float, float]:
    """Groups the posts, and returns the CPU seconds of this process and of its connections."""
    pids = [row["pid"] for row in await admin.fetch("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")]
    own, servers = own_cpu_seconds(), sum(map(_cpu, pids))
    for start in range(0, len(posts), BATCH):
        await app.story_builder.group(posts[start : start + BATCH], now=datetime.now(UTC))
    after = [row["pid"] for row in await admin.fetch("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")]
    return own_cpu_seconds() - own, sum(map(_cpu, {*pids, *after})) - servers


async def connected(settings: Settings) -> "asyncpg.Connection[asyncpg.Record]":
    assert settings.database.admin_url is not None
    return await asyncpg.connect(settings.database.admin_url.get_secret_value())


def _cpu(pid: int) -> float:
    try:
        return cpu_seconds(pid)
    except OSError:
        return 0.0


async def measured(days: int) -> dict[str, Any]:
    told = world(days=days)
    _, reported = halves(told)
    async with own_database("tga_bench_stories") as settings, assemble(settings) as app:
        await land(app, told)
        admin = await connected(settings)
        began = time.perf_counter()
        own, servers = await grouped(app, admin, [one.post.id for one in told])
        wall = time.perf_counter() - began
        await admin.close()
        stories = await app.system.stories.of_posts([one.post.id for one in told])
        return {
            "posts": len(told),
            "reported_posts": len(reported),
            "stories": len(set(stories.values())),
            **figures(reported, stories),
            "posts_per_s": round(len(told) / (own + servers)),
            "own_cpu_ms": round(own / len(told) * 1000, 2),
            "postgres_cpu_ms": round(servers / len(told) * 1000, 2),
            "wall_posts_per_s": round(len(told) / wall),
        }


async def growth(archive: int) -> dict[str, float]:
    """The CPU of a post at the end of an archive beside that after a tenth of it, both at the same number of posts a day."""
    told = world(days=14)
    async with own_database("tga_bench_stories") as settings, assemble(settings) as app:
        admin = await connected(settings)
        costs: list[float] = []
        done = number = 0
        for until in (archive // 10, archive):
            cost = 0.0
            while done < until:
                later = [one.moved(timedelta(days=14 * number), 1_000_000 * number) for one in told[: max(until - done, BATCH)]]
                await land(app, later)
                own, servers = await grouped(app, admin, [one.post.id for one in later])
                cost, done, number = (own + servers) / len(later), done + len(later), number + 1
            costs.append(cost)
        await admin.close()
    return {"growth": round(costs[1] / costs[0], 2), "growth_posts": done}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=MEASURING_DAYS)
    parser.add_argument("--archive", type=int, default=20_000, help="posts of the archive whose last posts are timed")
    options = parser.parse_args()
    result = asyncio.run(measured(options.days))
    result |= asyncio.run(growth(options.archive))
    finish({"bench": "stories", **result}, options, *LIMITS)


if __name__ == "__main__":
    main()
