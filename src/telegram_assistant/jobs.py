"""All periodic jobs, as one readable list.

A new job is a function and an entry in PERIODIC; `clock.py` runs them.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from telegram_assistant.assembly import App
from telegram_assistant.domain.graph.graph_facts import oldest_day
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channels.networks import learn_networks
from telegram_assistant.features.channels.records import count_records
from telegram_assistant.features.digests.digests import due_moment, make_digest
from telegram_assistant.features.digests.interests import learn_from_saved
from telegram_assistant.features.media import upkeep as media
from telegram_assistant.features.posts.habits import learn_channel_habits
from telegram_assistant.features.stories.keyword_trends import keep_day
from telegram_assistant.features.stories.marks import raise_followed
from telegram_assistant.features.stories.writing import SummaryWriter
from telegram_assistant.features.watches.meaning import raise_meanings
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import Settings

TREND_DAYS = 90
TREND_DAYS_MADE_UP = 7
"""Days that are looked at again if nothing was running when they ended."""
LEARNT_LETTERS = 300
"""The beginning of a post says what it is about."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work for every period.

    `run` returns a short description of what it did. `lease` is how long a run may take.
    """

    name: str
    every: timedelta
    run: Callable[[App, datetime], Awaitable[str]]
    lease: timedelta = timedelta(minutes=10)


async def make_partitions(app: App, now: datetime) -> str:
    """Create the partitions of the coming months before they are needed."""
    work = await app.system.partitions.keep_up(now)
    return f"made {len(work.made)}, dropped {len(work.dropped)}"


async def storage_usage(app: App, _now: datetime) -> str:
    """Count what each tenant stores, and find files that may be stored after all."""
    tenants = await app.system.media_upkeep.count()
    wanted_count = await media.reconsider(
        media=app.system.media, upkeep=app.system.media_upkeep, rules=app.media_rules
    )
    return f"counted for {tenants} tenants, {wanted_count} files wanted after all"


async def sweep_media(app: App, now: datetime) -> str:
    """Remove files without a row or a post, and mark rows whose file is gone."""
    if app.files is None:
        return "no place for files is set"
    swept = await media.sweep(files=app.files, upkeep=app.system.media_upkeep, now=now)
    summary = (
        f"of {swept.files} files {swept.orphans} were unknown, {swept.unused} unused; "
        f"{swept.missing} were missing"
    )
    return f"{summary}; {swept.thumbnails} thumbnails without a file"


async def forget_notices(app: App, _now: datetime) -> str:
    """Delete notices that were announced more than a day ago."""
    return f"forgot {await app.system.notices.forget_old()}"


async def forget_pages(app: App, now: datetime) -> str:
    """Delete linked pages that nobody has asked for in a month. Posts keep their excerpts."""
    return f"forgot {await app.system.pages.forget(now - timedelta(days=30))}"


async def forget_tagging(app: App, now: datetime) -> str:
    """Delete proposed tags without support, and texts that are too old to be compared with copies."""
    before = now - timedelta(days=30)
    return (
        f"forgot {await app.system.vocabularies.forget(before)} proposals, "
        f"{await app.system.near_texts.forget(before)} texts"
    )


async def forget_terms(app: App, now: datetime) -> str:
    """Delete the terms of posts that were compared a week ago. Their stories stay."""
    return f"forgot the terms of {await app.system.post_terms.forget(now)} posts"


async def forget_summaries(app: App, now: datetime) -> str:
    """Delete texts about stories that a provider wrote a month ago."""
    return f"forgot {await app.system.summary_upkeep.forget(now - timedelta(days=30))}"


async def settle_lost_calls(app: App, _now: datetime) -> str:
    """Count calls to providers as spent if their process died before settling them."""
    return f"{await app.system.spending.expire()} calls written off as spent"


async def forget_answers(app: App, now: datetime) -> str:
    """Delete responses to changes, which are kept for a day for repeated requests."""
    return f"forgot {await app.system.idempotency.forget(now - timedelta(days=1))}"


async def forget_requests(app: App, now: datetime) -> str:
    """Delete requests to follow that were answered more than a month ago."""
    return f"forgot {await app.system.request_queue.forget(now - timedelta(days=30))}"


async def forget_operations(app: App, now: datetime) -> str:
    """Delete the throughput of stages and the reports of processes from before the last day."""
    return f"forgot {await app.system.stage_minutes.forget(now - timedelta(days=1))} minutes of stages"


async def forget_in_graph(app: App, now: datetime) -> str:
    """Delete what is older than the graph keeps."""
    if app.graph_index is None:
        return "the graph is off"
    return f"forgot {await app.graph_index.graph.forget(oldest_day(now))} days and posts"


async def make_digests(app: App, now: datetime) -> str:
    """Make the digests that are due."""
    due = [
        (plan, moment)
        for plan in await app.system.digest_plans.everybody()
        if (moment := due_moment(plan, now=now))
    ]
    for plan, moment in due:
        own = app.person(plan.tenant_id, plan.user_id)
        await make_digest(
            plan.tenant_id,
            plan.user_id,
            moment,
            stores=app.tenant(plan.tenant_id),
            own=own,
            now=now,
            language=plan.language,
            is_planned=True,
            writer=SummaryWriter(app.questions, plan.tenant_id),
        )
    return f"made {len(due)}"


async def find_trends(app: App, now: datetime) -> str:
    """Keep the names and tags that the day before, and days that were missed, were about;
    delete those of older days.
    """
    today = now.astimezone(UTC).date()
    missing = await app.system.trend_days.missing(
        [today - timedelta(days=ago) for ago in range(1, TREND_DAYS_MADE_UP + 1)]
    )
    trend_count = 0
    for tenant_id, day in missing:
        trend_count += await keep_day(day, stores=app.tenant(tenant_id))
    forgotten = await app.system.trend_days.forget(today - timedelta(days=TREND_DAYS))
    return f"found {trend_count} trends of {len(missing)} days, forgot {forgotten} days"


async def learn_channel_networks(app: App, now: datetime) -> str:
    """Learn which channels have one owner, for each tenant from the posts that it sees."""
    tenant_ids = await app.system.tenants.following()
    changed = 0
    for tenant_id in tenant_ids:
        changed += await learn_networks(networks=app.tenant(tenant_id).networks, now=now)
    return f"looked at {len(tenant_ids)} tenants, changed {changed} channels"


async def learn_posting_habits(app: App, now: datetime) -> str:
    """Learn how channels begin and end their posts, for each tenant from the posts that it sees."""
    tenant_ids = await app.system.tenants.following()
    changed = 0
    for tenant_id in tenant_ids:
        changed += await learn_channel_habits(habits=app.tenant(tenant_id).habits, now=now)
    return f"looked at {len(tenant_ids)} tenants, learnt of {changed} channels"


async def count_channel_records(app: App, now: datetime) -> str:
    """Count the records of channels anew, for each tenant from the posts that it sees."""
    tenant_ids = await app.system.tenants.with_old_records(now)
    counted = 0
    for tenant_id in tenant_ids:
        counted += await count_records(stores=app.tenant(tenant_id), now=now)
    return f"counted {counted} channels of {len(tenant_ids)} tenants"


async def sync_interests(app: App, _now: datetime) -> str:
    """Learn from the posts that people saved, and let what was learnt fade."""
    saved = await app.system.interest_upkeep.newly_saved()
    for post in saved:
        await learn_from_saved(
            post.post_id,
            post.text[:LEARNT_LETTERS],
            interests=app.person(post.tenant_id, post.user_id).interests,
        )
    remaining = await app.system.interest_upkeep.fade(
        period=timedelta(minutes=app.settings.web.interests_minutes)
    )
    return f"learnt from {len(saved)} saved posts, {remaining} topics kept"


async def watch_silences(app: App, now: datetime) -> str:
    """Raise the alerts of channels that are silent for as long as a watch says."""
    return f"raised {await app.system.watch_matching.raise_silences(now)} alerts"


async def watch_stories(app: App, now: datetime) -> str:
    """Raise the alerts of stories that have reached as many posts as a watch says,
    and of new posts in stories that people follow.
    """
    story_alerts = await app.system.watch_matching.raise_grown(now)
    followed_alerts = await raise_followed(followers=app.system.story_followers, tenant=app.tenant)
    return f"raised {story_alerts} alerts of watches, {followed_alerts} of followed stories"


async def watch_meanings(app: App, now: datetime) -> str:
    """Raise the alerts of posts that mean what a watch says."""
    alert_count = await raise_meanings(
        matching=app.system.watch_matching, tenant=app.tenant, index=app.meaning_search, now=now
    )
    return f"raised {alert_count} alerts"


async def forget_alerts(app: App, now: datetime) -> str:
    """Delete alerts that are older than three months."""
    return f"forgot {await app.system.watch_matching.forget(now - timedelta(days=90))}"


async def forget_deliveries(app: App, now: datetime) -> str:
    """Delete counts of mails from before yesterday, and secrets of webhooks that have been replaced."""
    return f"forgot {await app.system.deliveries.forget(now - timedelta(days=1))}"


PERIODIC = (
    Job("digests", timedelta(minutes=15), make_digests, lease=timedelta(hours=1)),
    Job("trends", timedelta(days=1), find_trends, lease=timedelta(hours=1)),
    Job("channel_networks", timedelta(days=1), learn_channel_networks, lease=timedelta(hours=1)),
    Job("channel_records", timedelta(minutes=15), count_channel_records, lease=timedelta(hours=1)),
    Job("posting_habits", timedelta(days=1), learn_posting_habits, lease=timedelta(hours=1)),
    Job("make_partitions", timedelta(hours=1), make_partitions),
    Job("forget_notices", timedelta(hours=1), forget_notices),
    Job("storage_usage", timedelta(hours=6), storage_usage),
    Job("sweep_media", timedelta(hours=6), sweep_media, lease=timedelta(hours=1)),
    Job("forget_pages", timedelta(days=1), forget_pages),
    Job("forget_tagging", timedelta(days=1), forget_tagging),
    Job("forget_terms", timedelta(days=1), forget_terms),
    Job("forget_summaries", timedelta(days=1), forget_summaries),
    Job("forget_answers", timedelta(hours=1), forget_answers),
    Job("forget_requests", timedelta(days=1), forget_requests),
    Job("forget_operations", timedelta(hours=1), forget_operations),
    Job("forget_in_graph", timedelta(days=1), forget_in_graph, lease=timedelta(hours=1)),
    Job("watch_silences", timedelta(minutes=10), watch_silences),
    Job("watch_stories", timedelta(minutes=1), watch_stories),
    Job("watch_meanings", timedelta(minutes=1), watch_meanings),
    Job("forget_alerts", timedelta(days=1), forget_alerts),
    Job("forget_deliveries", timedelta(days=1), forget_deliveries),
    Job("settle_lost_calls", timedelta(minutes=10), settle_lost_calls),
)


def periodic_jobs(settings: Settings) -> tuple[Job, ...]:
    """Return all jobs, with the periods that an installation chooses."""
    return (*PERIODIC, Job("interests", timedelta(minutes=settings.web.interests_minutes), sync_interests))


def job_named(name: str, settings: Settings) -> Job:
    """Return the job with this name."""
    for job in periodic_jobs(settings):
        if job.name == name:
            return job
    raise Rejected(Reason("job_unknown", "there is no job {job!r}; `tga jobs list` shows them", job=name))
