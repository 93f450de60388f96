"""How well and how fast posts are grouped into stories, without any model, through PostgreSQL: the measuring
world and the unruly world know the truth.

Judged are the stories that a reader of all posts is shown by default. `unfitted_*` are of kinds of events and
days on which nothing was fitted (bench.fit_stories). A recall is the share of posts that are in one story
with an earlier post of theirs, `unreplied_follow_ups` the share of follow-ups that reply to nothing;
`join_right_*` the share of joins that name an earlier post of the same event, `impure_stories` that of
stories of several channels which tell more than one event. Pictures are hashed by our own code, and read as
well as our own OCR reads (bench.story_pictures). Posts per second are of the CPU of this process and of its
connections in PostgreSQL. `growth` compares the cost of the same new posts in an archive and in one ten times
as large, with as many posts a day; the archives are copies of grouped posts, written by SQL.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from bench.workloads.shown_stories import judge_joins, load_links, show_stories
from bench.workloads.story_pictures import read_pictures, store_pictures
from bench.workloads.story_world import MEASURING_DAYS, figures, halves, land, world
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import PostId
from telegram_assistant.settings import Settings
from testkit.harness import arguments, at_least, at_most, cpu_seconds, finish, own_cpu_seconds, own_database

BATCH = 200
WEEK = 7
COPIED_IDS = 1_000_000
COPIES = (
    """
    INSERT INTO posts (channel_id, message_id, posted_at, stored_at, kind, text, content_hash, revision)
    SELECT channel_id, message_id + $1::int, posted_at - $2::interval, stored_at - $2::interval, kind, text,
        content_hash, revision FROM posts
    WHERE message_id < 1000000
    """,
    """
    INSERT INTO stories (story_id, first_posted_at, last_posted_at, posts)
    SELECT md5(story_id::text || $1::int)::uuid, first_posted_at - $2::interval,
        last_posted_at - $2::interval, posts FROM stories
    WHERE story_id IN (SELECT story_id FROM story_posts WHERE message_id < 1000000)
    """,
    """
    INSERT INTO story_posts (channel_id, message_id, story_id, posted_at, link, terms_hash)
    SELECT channel_id, message_id + $1::int, md5(story_id::text || $1::int)::uuid, posted_at - $2::interval,
        link, terms_hash FROM story_posts
    WHERE message_id < 1000000
    """,
    """
    INSERT INTO story_links (channel_id, message_id, other_channel_id, other_message_id, kind, score, is_leaf,
        posted_at, other_posted_at)
    SELECT channel_id, message_id + $1::int, other_channel_id, other_message_id + $1::int, kind, score,
        is_leaf, posted_at - $2::interval,
           other_posted_at - $2::interval FROM story_links WHERE message_id < 1000000
    """,
)
"""Terms are kept for a week, so an archive has no more of them than a week."""
LIMITS = (
    *at_least(0.97, "precision", "b_cubed_f1"),
    *at_least(1.0, "recall_forward"),
    *at_least(0.98, "recall_copy"),
    *at_least(0.95, "recall_picture"),
    *at_least(0.84, "recall_rewrite"),
    *at_least(0.95, "recall_translation"),
    *at_least(0.4, "recall_follow_up"),
    *at_least(0.99, "join_right_copy", "join_right_translation"),
    *at_least(0.94, "join_right_rewrite"),
    *at_most(0.06, "impure_stories"),
    *at_least(0.93, "first_source"),
    *at_least(300, "posts_per_s"),
    *at_most(1.3, "growth"),
)
UNRULY_LIMITS = (
    *at_least(0.4, "recall_follow_up"),
    *at_least(0.5, "unreplied_follow_ups"),
    *at_least(0.99, "join_right_copy", "join_right_translation"),
    *at_most(0.06, "impure_stories"),
)
"""Here half of the follow-ups reply to nothing; in the measuring world nearly all reply to their story."""


async def group_posts(
    app: App, admin: "asyncpg.Connection[asyncpg.Record]", posts: Sequence[PostId]
) -> tuple[float, float]:
    """Groups the posts, and returns the CPU seconds of this process and of its connections."""
    pids = [
        row["pid"]
        for row in await admin.fetch("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
    ]
    own, servers = own_cpu_seconds(), sum(map(_cpu, pids))
    for start in range(0, len(posts), BATCH):
        await app.story_builder.group(posts[start : start + BATCH], now=datetime.now(UTC))
    after = [
        row["pid"]
        for row in await admin.fetch("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
    ]
    return own_cpu_seconds() - own, sum(map(_cpu, {*pids, *after})) - servers


async def connect(settings: Settings) -> "asyncpg.Connection[asyncpg.Record]":
    assert settings.database.admin_url is not None
    return await asyncpg.connect(settings.database.admin_url.get_secret_value())


def _cpu(pid: int) -> float:
    try:
        return cpu_seconds(pid)
    except OSError:
        return 0.0


async def measure(days: int, *, is_unruly: bool = False, seed: int = 1) -> dict[str, Any]:
    posts = world(days=days, is_unruly=is_unruly, seed=seed)
    _, reported = halves(posts)
    pictures, reading = await read_pictures(posts)
    async with own_database("tga_bench_stories") as settings, assemble(settings) as app:
        await land(app, posts)
        admin = await connect(settings)
        await store_pictures(admin, posts, pictures)
        began = time.perf_counter()
        own, servers = await group_posts(app, admin, [post.post.id for post in posts])
        wall = time.perf_counter() - began
        links = await load_links(admin)
        await admin.close()
        stored = await app.system.stories.of_posts([post.post.id for post in posts])
        stories = show_stories(posts, stored, links)
        story_ids = {post.post_id: story.story_id for story in stories for post in story.posts}
        unfitted = figures(reported, story_ids)
        return {
            "posts": len(posts),
            "stories": len(stories),
            **reading,
            **figures(posts, story_ids),
            **judge_joins(posts, stories),
            **{f"unfitted_{key}": unfitted[key] for key in ("precision", "b_cubed_f1", "recall_rewrite")},
            "posts_per_s": round(len(posts) / (own + servers)),
            "own_cpu_ms": round(own / len(posts) * 1000, 2),
            "postgres_cpu_ms": round(servers / len(posts) * 1000, 2),
            "wall_posts_per_s": round(len(posts) / wall),
        }


async def growth(archive: int) -> dict[str, float]:
    """The CPU of a post of the newest week in an archive beside that in a tenth of it."""
    posts = world(days=2 * WEEK)
    middle = posts[-1].post.posted_at - timedelta(days=WEEK)
    old, new = (
        [post for post in posts if post.post.posted_at < middle],
        [post for post in posts if post.post.posted_at >= middle],
    )
    costs = []
    for size in (archive // 10, archive):
        async with own_database("tga_bench_stories") as settings, assemble(settings) as app:
            admin = await connect(settings)
            await land(app, old)
            await group_posts(app, admin, [post.post.id for post in old])
            for number in range(1, size // len(old)):
                for copying in COPIES:
                    await admin.execute(copying, COPIED_IDS * number, timedelta(days=WEEK * number))
            for table in ("posts", "stories", "story_posts", "story_links"):
                await admin.execute(f"ANALYZE {table}")
            await land(app, new)
            own, servers = await group_posts(app, admin, [post.post.id for post in new])
            costs.append((own + servers) / len(new))
            await admin.close()
    return {"growth": round(costs[1] / costs[0], 2), "growth_posts": archive}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=MEASURING_DAYS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--unruly", action="store_true", help="the unruly world, with limits of its own")
    parser.add_argument("--archive", type=int, default=1_000_000, help="posts of the larger archive")
    options = parser.parse_args()
    result = asyncio.run(measure(options.days, is_unruly=options.unruly, seed=options.seed))
    if options.unruly:
        finish({"bench": "stories", **result}, options, *UNRULY_LIMITS)
    print(result, flush=True)
    result |= asyncio.run(growth(options.archive))
    finish({"bench": "stories", **result}, options, *LIMITS)


if __name__ == "__main__":
    main()
