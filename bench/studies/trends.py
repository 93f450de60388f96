"""How soon and how surely trends are found: 30 days of the measuring world, nights and weekends included,
grouped by the program as they arrive.

The world plants two bursts a day. `found` is the share of them that a reader who follows all channels sees as
a trend within 15 minutes after the fifth channel within an hour has told the story; `found_since_first`
within 15 minutes after the first post. A trend is false if the story that most of its posts tell was in fewer
than five channels within every hour. The first week is grouped, and nothing of it is reported.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

import asyncpg

from bench.studies.stories import connect
from bench.workloads.story_world import LabelledPost, land, world
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import PostId
from telegram_assistant.features.stories.trends import Trend, trends_since
from telegram_assistant.stores.postgres.stores import TenantStores
from testkit.harness import arguments, at_least, at_most, finish, own_cpu_seconds, own_database

type Admin = asyncpg.Connection[asyncpg.Record]

LEAD_DAYS = 7
BATCH = 200
EARLY_PERIOD = timedelta(minutes=15)
WAVE = timedelta(hours=1)
WAVE_CHANNELS = 5
MINUTE = timedelta(minutes=1)
LIMITS = (*at_least(0.9, "found"), *at_most(1.0, "false_per_day"))


@dataclass(frozen=True, slots=True)
class SeenTrend:
    """A trend when it was first shown, and the true story that most of its posts tell."""

    shown_at: datetime
    truth: object


def minute_of(post: LabelledPost) -> datetime:
    """When the post was there for everybody: the end of its minute."""
    return post.post.posted_at.replace(second=0, microsecond=0) + MINUTE


async def collect_trends(
    app: App, admin: Admin, stores: TenantStores, told_posts: Sequence[LabelledPost], since: datetime
) -> list[SeenTrend]:
    """Groups the posts minute by minute and looks at the trends after each."""
    truths = {post.post.id: post.truth for post in told_posts}
    lead = [post for post in told_posts if post.post.posted_at < since]
    for start in range(0, len(lead), BATCH):
        await app.story_builder.group(
            [post.post.id for post in lead[start : start + BATCH]], now=minute_of(lead[start])
        )
    seen: list[SeenTrend] = []
    known: set[PostId] = set()
    for now, batch in groupby((post for post in told_posts if post.post.posted_at >= since), key=minute_of):
        await app.story_builder.group([post.post.id for post in batch], now=now)
        if not await admin.fetchval(
            "SELECT EXISTS (SELECT 1 FROM story_posts WHERE is_bursting AND posted_at >= $1)",
            now - EARLY_PERIOD - MINUTE,
        ):
            continue  # the reader would look in vain
        for trend in await trends_since(now - EARLY_PERIOD - MINUTE, stores=stores):
            posts = {post.post_id for post in trend.story.posts}
            if not posts & known:
                seen.append(SeenTrend(now, _truth_of(trend, truths)))
            known |= posts
    return seen


def _truth_of(trend: Trend, truths: Mapping[PostId, object]) -> object:
    return Counter(truths[post.post_id] for post in trend.story.posts).most_common(1)[0][0]


def wave_at(posts: Iterable[LabelledPost]) -> datetime | None:
    """When five channels had told a story within an hour; None if they never did."""
    last: dict[int, datetime] = {}
    for post in posts:
        last[post.post.channel_id] = post.post.posted_at
        if sum(post.post.posted_at - at <= WAVE for at in last.values()) >= WAVE_CHANNELS:
            return post.post.posted_at
    return None


async def run(days: int) -> dict[str, object]:
    posts = world(days=LEAD_DAYS + days)
    since = posts[0].post.posted_at + timedelta(days=LEAD_DAYS)
    async with own_database("tga_bench_trends") as settings, assemble(settings) as app:
        await land(app, posts)
        tenant_id = (await app.system.tenants.ensure("bench")).tenant_id
        admin = await connect(settings)
        await admin.execute(
            "INSERT INTO subscriptions (tenant_id, channel_id, history_days) SELECT $1, channel_id, 90 "
            "FROM channels",
            tenant_id,
        )
        began = own_cpu_seconds()
        seen = await collect_trends(app, admin, app.tenant(tenant_id), posts, since)
        cpu = own_cpu_seconds() - began
        await admin.close()
    return {
        "bench": "trends",
        "days": days,
        "posts": len(posts),
        "own_cpu_s": round(cpu),
        **judge_trends(posts, seen, since, days),
    }


def judge_trends(
    told_posts: Sequence[LabelledPost], seen: Sequence[SeenTrend], since: datetime, days: int
) -> dict[str, object]:
    stories: dict[object, list[LabelledPost]] = defaultdict(list)
    for told_post in told_posts:
        stories[told_post.truth].append(told_post)
    first_shown: dict[object, datetime] = {}
    for trend in seen:
        first_shown.setdefault(trend.truth, trend.shown_at)
    waves = {truth: moment for truth, posts in stories.items() if (moment := wave_at(posts))}
    planted = {
        truth: posts[0]
        for truth, posts in stories.items()
        if (story := posts[0].planned.story) and story.burst and posts[0].post.posted_at >= since
    }
    bursts = {truth: first for truth, first in planted.items() if truth in waves}
    soon = [
        truth
        for truth in bursts
        if truth in first_shown and first_shown[truth] <= waves[truth] + EARLY_PERIOD + MINUTE
    ]
    at_once = [
        truth
        for truth, first in planted.items()
        if truth in first_shown and first_shown[truth] <= first.post.posted_at + EARLY_PERIOD + MINUTE
    ]
    nights = [truth for truth, first in bursts.items() if not 4 <= first.post.posted_at.hour < 20]
    weekends = [truth for truth, first in bursts.items() if first.post.posted_at.weekday() >= 5]
    false = [trend for trend in seen if trend.truth not in waves]
    return {
        "planted": len(planted),
        "never_five_in_an_hour": len(planted) - len(bursts),
        "found": round(len(soon) / len(bursts), 3),
        "found_of_all_planted": round(len(soon) / len(planted), 3),
        "found_since_first": round(len(at_once) / len(planted), 3),
        "found_at_night": f"{len(set(nights) & set(soon))} of {len(nights)}",
        "found_at_weekends": f"{len(set(weekends) & set(soon))} of {len(weekends)}",
        "missed": [f"{planted[burst].post.posted_at:%a %H:%M}" for burst in bursts if burst not in soon],
        "trends_per_day": round(len(seen) / days, 2),
        "false_per_day": round(len(false) / days, 2),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="five days")
    options = parser.parse_args()
    finish(asyncio.run(run(5 if options.quick else options.days)), options, *LIMITS)


if __name__ == "__main__":
    main()
