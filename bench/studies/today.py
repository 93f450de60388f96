"""How much of *Today* is no news over days of the demo world: advertising, remarks that channels repeat every
day, and posts that only look alike.

A person follows every third channel, so that the list is short and has room for all of this, and reads all of
it every evening. `not_news` are stories of which no two channels tell the same event; `missed` are events
that three or more channels told in their own words on that day and that the list does not have.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from bench.studies.digests import store
from bench.studies.stories import connect
from bench.workloads.story_world import LabelledPost, world
from telegram_assistant.ai.local.kinds import has_ad_marks
from telegram_assistant.ai.local.words import WORD
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.stories.stories import recent_stories
from telegram_simulator.world.demo.plan import Kind, Role
from testkit.harness import arguments, at_least, at_most, finish, own_cpu_seconds, own_database

DAY = timedelta(days=1)
EVERY, ALL, TOLD_BY = 3, 10_000, 3
REPEATED = frozenset({Role.FORWARD, Role.COPY})
LIMITS = (*at_most(2, "not_news_percent", "missed_percent"), *at_least(50, "listed"))


async def mark_advertising(
    admin: "asyncpg.Connection[asyncpg.Record]", posts: Sequence[LabelledPost]
) -> None:
    """Tags the posts that the local tagger would call advertising."""
    ads = [
        post.post
        for post in posts
        if has_ad_marks(post.post.text, f" {' '.join(WORD.findall(post.post.text.casefold()))} ")
    ]
    await admin.executemany(
        """
        INSERT INTO post_enrichment (channel_id, message_id, kind, revision, tier, data)
            VALUES ($1, $2, 'tags', 1, 'local', '{"is_ad": true}')
        """,
        [(post_id.channel_id, post_id.message_id) for post_id in ads],
    )


def sort_of(story: VisibleStory, truth: dict[PostId, LabelledPost]) -> str:
    planned_posts = [truth[post.post_id].planned for post in story.posts if post.post_id in truth]
    events = defaultdict(set)
    for planned in planned_posts:
        if planned.story is not None:
            events[planned.story.story_id].add(planned.channel.name)
    if any(len(channels) > 1 for channels in events.values()):
        return "news"
    if sum(post.kind is Kind.ADVERTISING for post in planned_posts) * 2 > len(planned_posts):
        return "advertising"
    return "looks_alike" if events else "said_every_day"


def events_of(posts: Sequence[LabelledPost]) -> set[object]:
    """Events that enough channels told in words of their own."""
    channels = defaultdict(set)
    for post in posts:
        if post.planned.story is not None and post.planned.role not in REPEATED:
            channels[post.planned.story.story_id].add(post.post.channel_id)
    return {event for event, names in channels.items() if len(names) >= TOLD_BY}


async def measure(days: int, *, shows: bool) -> dict[str, Any]:
    everything = [post for post in world(with_advertising=True) if not post.is_private]
    followed = set(sorted({post.post.channel_id for post in everything})[::EVERY])
    posts = [post for post in everything if post.post.channel_id in followed]
    until, truth = posts[-1].post.posted_at, {post.post.id: post for post in posts}
    sorts, event_count, missed, known = Counter[str](), 0, 0, set[ChannelId]()
    async with own_database("tga_bench_today") as settings, assemble(settings) as app:
        admin, tenant = await connect(settings), await app.system.tenants.ensure("bench")
        for day in range(days):
            since, now = until - (days - day) * DAY, until - (days - day - 1) * DAY
            todays = [post for post in posts if since < post.post.posted_at <= now]
            await store(app, admin, tenant.tenant_id, todays, known)
            await mark_advertising(admin, todays)
            listed = await stories_of_day(app, tenant.tenant_id, since, now)
            for story in listed:
                sort = sort_of(story, truth)
                sorts[sort] += 1
                if shows and sort != "news":
                    print(sort, *(f"\n   {post.channel}: {post.text[:150]!r}" for post in story.posts))
            events = events_of(todays)
            event_count += len(events)
            listed_events = {
                event.story_id
                for listed_story in listed
                for post in listed_story.posts
                if (event := truth[post.post_id].planned.story)
            }
            missed += len(events - listed_events)
        await admin.close()
    listed_count = sorts.total()
    return {
        "bench": "today",
        "days": days,
        "listed": listed_count,
        "by_sort": dict(sorts),
        "not_news_percent": round(100 * (listed_count - sorts["news"]) / max(1, listed_count), 1),
        "events": event_count,
        "missed_percent": round(100 * missed / max(1, event_count), 1),
        "cpu": round(own_cpu_seconds(), 1),
    }


async def stories_of_day(app: App, tenant_id: TenantId, since: datetime, now: datetime) -> list[VisibleStory]:
    recent = await recent_stories(since, stores=app.tenant(tenant_id), now=now, limit=ALL)
    return [story.story for story in recent.stories]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--quick", action="store_true", help="four days")
    parser.add_argument("--show", action="store_true", help="print what is no news")
    options = parser.parse_args()
    finish(asyncio.run(measure(4 if options.quick else options.days, shows=options.show)), options, *LIMITS)


if __name__ == "__main__":
    main()
