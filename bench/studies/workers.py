"""Workers beside each other: what a second and a fourth one add, and whether they group the same stories.

Each worker is a process of its own that gets batches of posts from this one. First in order, posts landed
before, with 1, 2 and 4 workers: posts per second, CPU per post, the share of their time that they wait for
locks, and the time for which a post holds locks of its stories. Then posts come with edits: in order with one
worker, which is what the others must equal; shuffled, landed as they come; and with workers that are killed
with -9 within a batch, in order and shuffled. Stories and links must be the same.

Two controls show that the bench would notice: without looking for later posts, and without the locks of
stories, both switched off in the database, stories must differ.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import batched
from typing import Any

import asyncpg

from bench.chaos.worker_fleet import Fleet
from bench.chaos.worker_runs import (
    CONTROLS,
    Item,
    Pictures,
    Sampled,
    Sampler,
    count_words_for_ever,
    deal_items,
    find_albums,
    load_links,
    make_items,
    shuffle_items,
)
from bench.studies.chaos_stories import connect, load_stories
from bench.workloads.story_world import LabelledPost, land, pages_of_channels, world
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.jobs import periodic_jobs
from telegram_assistant.language.terms import terms_of
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.stores.postgres.posts.landing import Claim
from testkit.factories import make_page
from testkit.harness import Versions, arguments, at_least, at_most, cpu_seconds, finish, own_database

DATABASE = "tga_bench_workers"
BATCH, KILLED_BATCH, DEALT_BATCH = 100, 50, 25
WARM_BATCHES = 4
"""Given to the workers before anything is measured: they plan their statements."""
SWEEP = "sweep_stories"
LIMITS = (
    *at_most(0.05, "lock_wait_share"),
    *at_most(1.15, "cpu_ratio_2"),
    *at_least(1.6, "speedup_2"),
    *at_most(0.35, "under_lock_ms"),
    *at_most(0, "different", "errors", "dirty"),
    *at_least(25, "kills"),
    *at_least(1, *(f"control_{control}" for control in CONTROLS)),
)


async def group_posts(app: App, posts: Sequence[PostId]) -> None:
    await app.story_builder.group(posts, now=datetime.now(UTC))


WORK: Mapping[str, Callable[[App, Sequence[PostId]], Awaitable[None]]] = {"stories": group_posts}
"""The work of a batch by the stage that is measured. The stage `alerts` has its place here."""


async def work(stage: str) -> None:
    """One worker: a line for each batch that comes in, a line when it is done."""
    terms_of("Москва: 5 человек пришли в Большой театр. Moscow hosts 12 teams.")
    async with assemble(read_settings(os.environ)) as app:
        print(json.dumps({"ready": True}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            posts = [PostId(ChannelId(channel), MessageId(message)) for channel, message in json.loads(line)]
            error = None
            try:
                await WORK[stage](app, posts)
            except Exception as failure:  # noqa: BLE001 -- it is counted, and the batch comes again
                error = f"{type(failure).__name__}: {failure}"[:300]
            print(json.dumps({"error": error}), flush=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The stories and links that a run has left."""

    stories: set[frozenset[PostId]]
    links: set[tuple[Any, ...]]
    kills: int = 0
    errors: tuple[str, ...] = ()
    dirty: int = 0

    def count_differences(self, other: "Outcome") -> int:
        return len(self.stories ^ other.stories) + len(self.links ^ other.links)


@dataclass(frozen=True, slots=True)
class Speed:
    """The cost of a post with a number of workers, in order."""

    posts_per_s: float
    cpu_ms: float
    own_cpu_ms: float
    sampled: Sampled
    outcome: Outcome


def environ_of(settings: Settings) -> dict[str, str]:
    return {**os.environ, "DATABASE_URL": settings.database.url.get_secret_value(), "NEO4J_URI": ""}


async def measure_speed(posts: Sequence[LabelledPost], workers: int) -> Speed:
    """In order, without edits; all posts are landed and their words are counted before."""
    async with own_database(DATABASE) as settings, assemble(settings) as app:
        admin = await connect(settings)
        await land(app, posts)
        await count_words_for_ever(admin, posts)
        for table in ("posts", "channels"):
            await admin.execute(f"ANALYZE {table}")
        before = await _backends(admin)
        fleet = Fleet(environ_of(settings), workers)
        await fleet.start()
        batches = [[Item(post.post) for post in batch] for batch in batched(posts, BATCH)]
        await fleet.run(batches[:WARM_BATCHES], _land_nothing)
        servers = await _backends(admin) - before
        own, theirs = _cpu(worker.pid for worker in fleet.workers), _cpu(servers)
        async with Sampler(settings) as sampler:
            began = time.perf_counter()
            await fleet.run(batches[WARM_BATCHES:], _land_nothing)
            wall = time.perf_counter() - began
        servers |= await _backends(admin) - before - {sampler.pid}
        own, theirs = _cpu(worker.pid for worker in fleet.workers) - own, _cpu(servers) - theirs
        measured = sum(map(len, batches[WARM_BATCHES:]))
        await fleet.end()
        outcome = await _outcome(app, admin, posts, fleet)
        await admin.close()
        return Speed(
            measured / wall,
            (own + theirs) / measured * 1000,
            own / measured * 1000,
            sampler.shares(workers, wall / measured * 1000),
            outcome,
        )


async def run_with_edits(
    posts: Sequence[LabelledPost],
    items: Sequence[Item],
    pictures: Pictures,
    *,
    workers: int,
    batch: int = BATCH,
    kill_seed: int | None = None,
    control: str | None = None,
    lands_before: bool = False,
) -> Outcome:
    """Lands posts as they come, or all before: then the workers are busy all the time. Edits always come."""
    async with own_database(DATABASE) as settings, assemble(settings) as app:
        admin = await connect(settings)
        await pages_of_channels(app, posts, BATCH)  # registers the channels
        await count_words_for_ever(admin, posts)
        if control is not None:
            for statement in CONTROLS[control]:
                try:
                    await admin.execute(statement)
                except asyncpg.UndefinedTableError:
                    break
        fleet = Fleet(
            environ_of(settings),
            workers,
            rng=None if kill_seed is None else random.Random(kill_seed),
        )

        landing, landed, albums = asyncio.Lock(), set[Item](), find_albums(items)

        async def land_batch(batch: Sequence[Item]) -> None:
            async with landing:
                arrived: list[Item] = []
                for item in batch:
                    if item not in landed:
                        at_once = albums.get(item.album, [item])
                        page = make_page(*(other.post for other in at_once))
                        await app.system.landing.land(page, Claim(item.post.channel_id, 0))
                        landed.update(at_once)
                        arrived += at_once
                await pictures.store(admin, arrived)

        if lands_before:
            await land_batch([item for item in items if not item.is_edit])
        await fleet.start()
        await fleet.run([list(some) for some in batched(items, batch)], land_batch)
        await fleet.end()
        outcome = await _outcome(app, admin, posts, fleet)
        await admin.close()
        return outcome


async def _land_nothing(_batch: Sequence[Item]) -> None:
    """Everything is landed."""


async def _outcome(
    app: App, admin: "asyncpg.Connection[asyncpg.Record]", posts: Sequence[LabelledPost], fleet: Fleet
) -> Outcome:
    for job in periodic_jobs(app.settings):
        if job.name == SWEEP:
            await job.run(app, datetime.now(UTC) + timedelta(hours=1))
    exists = await admin.fetchval("SELECT to_regclass('story_dirty') IS NOT NULL")
    return Outcome(
        await load_stories(app, posts),
        await load_links(admin),
        fleet.kills,
        tuple(fleet.errors),
        await admin.fetchval("SELECT count(*) FROM story_dirty") if exists else 0,
    )


async def _backends(admin: "asyncpg.Connection[asyncpg.Record]") -> set[int]:
    rows = await admin.fetch("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
    return {row["pid"] for row in rows}


def _cpu(pids: Any) -> float:
    total = 0.0
    for pid in pids:
        with suppress(OSError):
            total += cpu_seconds(pid)
    return total


async def measure(days: int, sizes: Sequence[int], kill_runs: int, seed: int) -> dict[str, Any]:
    posts = world(days=days, seed=seed)
    speeds = {size: await measure_speed(posts, size) for size in sizes}
    single, double, most = speeds[1], speeds[2], speeds[max(sizes)]
    for size, speed in speeds.items():
        print({"workers": size, **_figures(speed)}, file=sys.stderr, flush=True)
    items = make_items(posts, seed)
    pictures = Pictures.of(posts)
    reference = await run_with_edits(posts, items, pictures, workers=1)
    runs = {f"in_order_{size}": speeds[size].outcome.count_differences(single.outcome) for size in sizes[1:]}
    dealt = deal_items(items, DEALT_BATCH, max(sizes))
    disturbed = {
        "dealt": await run_with_edits(
            posts, dealt, pictures, workers=max(sizes), batch=DEALT_BATCH, lands_before=True
        )
    }
    for number in range(kill_runs):
        rng = random.Random(seed * 100 + number)
        shuffled = shuffle_items(items, rng)
        size = max(sizes)
        disturbed |= {
            f"shuffled_{number}": await run_with_edits(posts, shuffled, pictures, workers=size),
            f"killed_{number}": await run_with_edits(
                posts, items, pictures, workers=size, batch=KILLED_BATCH, kill_seed=number, lands_before=True
            ),
            f"killed_shuffled_{number}": await run_with_edits(
                posts, shuffled, pictures, workers=size, batch=KILLED_BATCH, kill_seed=number
            ),
        }
    runs |= {name: outcome.count_differences(reference) for name, outcome in disturbed.items()}
    controls = {
        f"control_{control}": (
            await run_with_edits(
                posts,
                dealt,
                pictures,
                workers=max(sizes),
                batch=DEALT_BATCH,
                control=control,
                lands_before=True,
            )
        ).count_differences(reference)
        for control in CONTROLS
    }
    outcomes = [speed.outcome for speed in speeds.values()] + [reference, *disturbed.values()]
    errors = [error for outcome in outcomes for error in outcome.errors]
    async with own_database(DATABASE) as settings:
        admin = await connect(settings)
        versions = (await Versions.read(admin)).as_json()
        await admin.close()
    return {
        "stage": "stories",
        "posts": len(posts),
        "edits": sum(item.is_edit for item in items),
        "stories": len(reference.stories),
        "links": len(reference.links),
        "lock_wait_share": round(most.sampled.waiting, 4),
        "cpu_ratio_2": round(double.cpu_ms / single.cpu_ms, 3),
        "speedup_2": round(double.posts_per_s / single.posts_per_s, 3),
        "under_lock_ms": round(single.sampled.holding, 3),
        "different": sum(runs.values()),
        "kills": sum(outcome.kills for outcome in disturbed.values()),
        "errors": len(errors),
        "dirty": sum(outcome.dirty for outcome in outcomes),
        **controls,
        "runs": runs,
        "workers": {size: _figures(speed) for size, speed in speeds.items()},
        "some_errors": errors[:5],
        "seed": seed,
        "versions": versions,
    }


def _figures(speed: Speed) -> dict[str, float]:
    return {
        "posts_per_s": round(speed.posts_per_s, 1),
        "cpu_ms": round(speed.cpu_ms, 3),
        "own_cpu_ms": round(speed.own_cpu_ms, 3),
        "lock_wait_share": round(speed.sampled.waiting, 4),
        "under_lock_ms": round(speed.sampled.holding, 3),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", action="store_true", help="be one of the workers")
    parser.add_argument("--stage", choices=sorted(WORK), default="stories")
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--runs", type=int, default=2, help="schedules of each kind with kills")
    parser.add_argument("--quick", action="store_true", help="four days, one schedule of each kind")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.work:
        asyncio.run(work(options.stage))
        return
    days, runs = (4, 1) if options.quick else (options.days, options.runs)
    result = asyncio.run(measure(days, (1, 2, 4), runs, options.seed))
    limits = tuple(
        replace(limit, number=8) if options.quick and limit.figure == "kills" else limit for limit in LIMITS
    )
    finish({"bench": "workers", **result}, options, *limits)


if __name__ == "__main__":
    main()
