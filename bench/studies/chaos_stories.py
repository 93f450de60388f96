"""Stories while workers are killed and Redis is emptied, and posts come in another order.

Pages of all channels are stored in a random order. Two processes run the stage `stories` behind the outbox,
its relay and Redis Streams; again and again one of them is killed with -9, or Redis is killed and starts
empty. When the outbox is empty, the stories must be those of an undisturbed run, up to their ids. Both runs
count words once, before: what is rare is then the same.
"""

import asyncio
import os
import random
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import batched
from pathlib import Path

import asyncpg

from bench.chaos.worker import OPTIONS
from bench.chaos.worker_runs import count_words_for_ever
from bench.workloads.story_world import LabelledPost, land, pages_of_channels, world
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import PostId
from telegram_assistant.events import PostIndexed, PostParsed
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.stages.stories import stories
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.streams.stage import stage
from telegram_assistant.supervision import keep_running
from telegram_assistant.telemetry.health import Health
from telegram_assistant.worker_role import build_loops
from testkit.engines import Engine, running_engine
from testkit.factories import make_page
from testkit.harness import arguments, at_least, at_most, finish, own_database

DATABASE = "tga_bench_chaos_stories"
BATCH, PAGE = 200, 25
WORKERS = 2
WORKS_SECONDS = (0.5, 4.0)
"""So long nothing happens: a worker starts within two seconds."""
DONE_SECONDS = 900.0
LIMITS = (*at_most(0, "different", "waiting"), *at_least(3, "kills"), *at_least(2, "emptied"))


@stage(consumes=PostParsed, emits=PostIndexed, batch=50, concurrency=2, backoff_seconds=0.1)
async def pass_on(events: list[PostParsed]) -> list[PostIndexed]:
    """In place of all that happens to a post before it is grouped."""
    return [PostIndexed.about(event.post, event.revision, occurred_at=event.occurred_at) for event in events]


async def work() -> None:
    """One worker."""
    health = Health(probes={})
    async with assemble(read_settings(os.environ)) as app, asyncio.TaskGroup() as tasks:
        for loop in build_loops((pass_on, stories), (stories,), app, health, OPTIONS):
            tasks.create_task(
                keep_running(loop, stopping=asyncio.Event(), health=health, first_pause_seconds=0.2)
            )


async def start_worker(environ: Mapping[str, str]) -> Process:
    command = (sys.executable, "-m", "bench.chaos_stories", "--work")
    return await asyncio.create_subprocess_exec(*command, env=environ, stdout=DEVNULL, stderr=DEVNULL)


async def end_worker(worker: Process) -> None:
    with suppress(ProcessLookupError):
        worker.send_signal(signal.SIGKILL)
    await worker.wait()


async def land_in_any_order(app: App, posts: Sequence[LabelledPost], rng: random.Random) -> None:
    pages = await pages_of_channels(app, posts, PAGE)
    rng.shuffle(pages)
    for page in pages:
        await app.system.landing.land(make_page(*page), Claim(page[0].channel_id, 0))


async def disturb(
    admin: "asyncpg.Connection[asyncpg.Record]",
    engine: Engine,
    environ: Mapping[str, str],
    rng: random.Random,
) -> Counter[str]:
    """Until every post has passed. Returns how often what happened."""
    happened, deadline = Counter[str](), asyncio.get_running_loop().time() + DONE_SECONDS
    workers = [await start_worker(environ) for _ in range(WORKERS)]
    try:
        while (
            await admin.fetchval("SELECT EXISTS (SELECT 1 FROM outbox)")
            and asyncio.get_running_loop().time() < deadline
        ):
            await asyncio.sleep(rng.uniform(*WORKS_SECONDS))
            if rng.random() < 0.7:
                happened["kills"] += 1
                await end_worker(workers.pop(rng.randrange(WORKERS)))
                workers.append(await start_worker(environ))
            else:
                happened["emptied"] += 1
                await asyncio.to_thread(engine.kill)
                engine.forget_everything()
                await asyncio.to_thread(engine.start)
    finally:
        for worker in workers:
            await end_worker(worker)
    return happened


async def load_stories(app: App, posts: Sequence[LabelledPost]) -> set[frozenset[PostId]]:
    story_ids = await app.system.stories.of_posts([told_post.post.id for told_post in posts])
    groups: dict[object, set[PostId]] = {}
    for post, story in story_ids.items():
        groups.setdefault(story, set()).add(post)
    return {frozenset(group) for group in groups.values()}


async def count_words(settings: Settings, posts: Sequence[LabelledPost]) -> None:
    """Counting meanwhile would depend on which posts have come."""
    admin = await connect(settings)
    await count_words_for_ever(admin, posts)
    await admin.close()


async def connect(settings: Settings) -> "asyncpg.Connection[asyncpg.Record]":
    assert settings.database.admin_url is not None
    return await asyncpg.connect(settings.database.admin_url.get_secret_value())


async def group_undisturbed(posts: Sequence[LabelledPost]) -> set[frozenset[PostId]]:
    async with own_database(DATABASE) as settings, assemble(settings) as app:
        await land(app, posts)
        await count_words(settings, posts)
        for batch in batched(posts, BATCH):
            await app.story_builder.group([post.post.id for post in batch], now=datetime.now(UTC))
        return await load_stories(app, posts)


async def run(days: int, seed: int) -> dict[str, object]:
    posts, rng = world(days=days), random.Random(seed)
    calm = await group_undisturbed(posts)
    with tempfile.TemporaryDirectory() as folder, running_engine("redis", Path(folder)) as engine:
        async with (
            own_database(DATABASE, variables={"REDIS_URL": engine.url}) as settings,
            assemble(settings) as app,
        ):
            await count_words(settings, posts)
            await land_in_any_order(app, posts, rng)
            admin = await connect(settings)
            urls = {"DATABASE_URL": settings.database.url.get_secret_value(), "REDIS_URL": engine.url}
            happened = await disturb(admin, engine, {**os.environ, **urls, "NEO4J_URI": ""}, rng)
            waiting = await admin.fetchval("SELECT count(*) FROM outbox")
            await admin.close()
            disturbed = await load_stories(app, posts)
    return {
        "posts": len(posts),
        "stories": len(calm),
        "kills": happened["kills"],
        "emptied": happened["emptied"],
        "waiting": waiting,
        "different": len(calm ^ disturbed),
        "seed": seed,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", action="store_true", help="be one of the workers")
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.work:
        asyncio.run(work())
        return
    finish({"bench": "chaos_stories", **asyncio.run(run(options.days, options.seed))}, options, *LIMITS)


if __name__ == "__main__":
    main()
