"""What stands on *Today* over days of the demo world that is no news: advertising, what is said every day,
and posts that only look alike.

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

from bench.digests import store
from bench.stories import connected
from bench.story_world import ToldPost, world
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


async def mark_advertising(admin: "asyncpg.Connection[asyncpg.Record]", posts: Sequence[ToldPost]) -> None:
    """Says what the local tagger would say."""
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
        [(one.channel_id, one.message_id) for one in ads],
    )


def sort_of(story: VisibleStory, truth: dict[PostId, ToldPost]) -> str:
    told = [truth[post.post_id].planned for post in story.posts if post.post_id in truth]
    events = defaultdict(set)
    for one in told:
        if one.story is not None:
            events[one.story.story_id].add(one.channel.name)
    if any(len(channels) > 1 for channels in events.values()):
        return "news"
    if sum(one.kind is Kind.ADVERTISING for one in told) * 2 > len(told):
        return "advertising"
    return "looks_alike" if events else "said_every_day"


def events_of(posts: Sequence[ToldPost]) -> set[object]:
    """Events that enough channels told in words of their own."""
    channels = defaultdict(set)
    for post in posts:
        if post.planned.story is not None and post.planned.role not in REPEATED:
            channels[post.planned.story.story_id].add(post.post.channel_id)
    return {event for event, told in channels.items() if len(told) >= TOLD_BY}


async def measured(days: int, *, shows: bool) -> dict[str, Any]:
    everything = [one for one in world(with_advertising=True) if not one.is_private]
    followed = set(sorted({one.post.channel_id for one in everything})[::EVERY])
    posts = [one for one in everything if one.post.channel_id in followed]
    until, truth = posts[-1].post.posted_at, {post.post.id: post for post in posts}
    sorts, told, missed, known = Counter[str](), 0, 0, set[ChannelId]()
    async with own_database("tga_bench_today") as settings, assemble(settings) as app:
        admin, tenant = await connected(settings), await app.system.tenants.ensure("bench")
        for day in range(days):
            since, now = until - (days - day) * DAY, until - (days - day - 1) * DAY
            todays = [post for post in posts if since < post.post.posted_at <= now]
            await store(app, admin, tenant.tenant_id, todays, known)
            await mark_advertising(admin, todays)
            listed = await stories_of_day(app, tenant.tenant_id, since, now)
            for one in listed:
                sort = sort_of(one, truth)
                sorts[sort] += 1
                if shows and sort != "news":
                    print(sort, *(f"\n   {post.channel}: {post.text[:150]!r}" for post in one.posts))
            events = events_of(todays)
            told += len(events)
            shown = {
                event.story_id
                for one in listed
                for post in one.posts
                if (event := truth[post.post_id].planned.story)
            }
            missed += len(events - shown)
        await admin.close()
    listed_count = sorts.total()
    return {
        "bench": "today",
        "days": days,
        "listed": listed_count,
        "by_sort": dict(sorts),
        "not_news_percent": round(100 * (listed_count - sorts["news"]) / max(1, listed_count), 1),
        "events": told,
        "missed_percent": round(100 * missed / max(1, told), 1),
        "cpu": round(own_cpu_seconds(), 1),
    }


async def stories_of_day(app: App, tenant_id: TenantId, since: datetime, now: datetime) -> list[VisibleStory]:
    found = await recent_stories(since, stores=app.tenant(tenant_id), now=now, limit=ALL)
    return [story.story for story in found.stories]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--quick", action="store_true", help="four days")
    parser.add_argument("--show", action="store_true", help="print what is no news")
    options = parser.parse_args()
    finish(asyncio.run(measured(4 if options.quick else options.days, shows=options.show)), options, *LIMITS)


if __name__ == "__main__":
    main()
