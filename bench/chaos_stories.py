"""Stories while workers are killed: two processes group posts, are killed with -9 again and again, and posts come in another order and twice.

Afterwards the stories must be those of an undisturbed run, up to their ids. Both runs count words once, before: what is rare is then the same.
"""

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import asyncpg

from bench.story_world import ToldPost, land, world
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import PostId
from telegram_assistant.language.terms import terms_of
from telegram_assistant.settings import Settings, read_settings
from testkit.harness import arguments, at_least, at_most, finish, own_database

DATABASE = "tga_bench_chaos_stories"
BATCH = 25
WORKERS = 2
LIMITS = (*at_most(0, "different"), *at_least(3, "kills"))


async def work() -> None:
    """One worker: groups the posts that it is given, one batch a line, and says which batch is done."""
    async with assemble(read_settings(os.environ)) as app:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            await app.story_builder.group([PostId.parse(one) for one in line.split()], now=datetime.now(UTC))
            print("done", flush=True)


async def start(environ: dict[str, str]) -> Process:
    command = (sys.executable, "-m", "bench.chaos_stories", "--work")
    process = await asyncio.create_subprocess_exec(*command, env=environ, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
    assert process.stdout is not None
    while (line := await process.stdout.readline()) and line != b"ready\n":
        pass
    return process


async def killed_while_grouping(batches: Sequence[Sequence[PostId]], environ: dict[str, str], *, every: int, seed: int) -> int:
    """Gives each batch to a worker until one has done it; kills a worker in the middle of every so many batches. Returns how often."""
    hand, waiting, kills, given = random.Random(seed), list(batches), 0, 0
    hand.shuffle(waiting)

    async def keep_working() -> None:
        nonlocal kills, given
        process = await start(environ)
        while waiting:
            batch = waiting.pop()
            given += 1
            assert process.stdin is not None
            process.stdin.write(f"{' '.join(map(str, batch))}\n".encode())
            await process.stdin.drain()
            if given % every == 0:
                await asyncio.sleep(hand.random() * 0.2)
                process.send_signal(signal.SIGKILL)
                await process.wait()
                kills += 1
                waiting.insert(hand.randrange(len(waiting) + 1), batch)
                process = await start(environ)
            else:
                assert process.stdout is not None
                assert await process.stdout.readline() == b"done\n"
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()

    await asyncio.gather(*(keep_working() for _ in range(WORKERS)))
    return kills


async def stories_of(app: App, told: Sequence[ToldPost]) -> set[frozenset[PostId]]:
    found = await app.system.stories.of_posts([one.post.id for one in told])
    groups: dict[object, set[PostId]] = {}
    for post, story in found.items():
        groups.setdefault(story, set()).add(post)
    return {frozenset(group) for group in groups.values()}


async def count_words(settings: Settings, told: Sequence[ToldPost]) -> None:
    """As if all posts had been counted: counting while posts come depends on which have come."""
    terms = [terms_of(one.post.text) for one in told]
    counts = Counter(term for one in terms for part in (one.words, one.names, one.numbers) for term in part)
    assert settings.database.admin_url is not None
    admin = await asyncpg.connect(settings.database.admin_url.get_secret_value())
    await admin.execute("INSERT INTO term_counts VALUES (1, now(), $1, $2, $3)", len(told), list(counts), list(counts.values()))
    await admin.close()


async def run(days: int, every: int, seed: int) -> dict[str, object]:
    told = world(days=days)
    posts = [one.post.id for one in told]
    batches = [posts[start : start + BATCH] for start in range(0, len(posts), BATCH)]
    results, kills = [], 0
    for is_calm in (True, False):
        async with own_database(DATABASE) as settings, assemble(settings) as app:
            await land(app, told)
            await count_words(settings, told)
            if is_calm:
                for batch in batches:
                    await app.story_builder.group(batch, now=datetime.now(UTC))
            else:
                admin = settings.database.admin_url
                assert admin is not None
                environ = {**_environ(), "DATABASE_URL": settings.database.url.get_secret_value(), "DATABASE_ADMIN_URL": admin.get_secret_value()}
                kills = await killed_while_grouping(batches, environ, every=every, seed=seed)
            results.append(await stories_of(app, told))
    calm, killed = results
    return {"posts": len(posts), "stories": len(calm), "kills": kills, "different": len(calm ^ killed), "seed": seed}


def _environ() -> dict[str, str]:
    return {**os.environ, "NEO4J_URI": ""}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", action="store_true", help="be one of the workers")
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--every", type=int, default=6, help="a worker is killed in every so many batches")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.work:
        asyncio.run(work())
        return
    result = asyncio.run(run(options.days, options.every, options.seed))
    finish({"bench": "chaos_stories", **result}, options, *LIMITS)


if __name__ == "__main__":
    main()
