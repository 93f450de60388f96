"""All kinds of due work, as one readable list.

A new kind is a function and an entry in KINDS; a job of `jobs.py` enqueues it, and any worker does it.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.operations.due_work import MAX_ROWS, DueWork, WorkUrgency
from telegram_assistant.features.channels.networks import learn_networks
from telegram_assistant.features.channels.records import count_records
from telegram_assistant.features.digests.interests import learn_from_saved
from telegram_assistant.features.digests.planned import begin_digests
from telegram_assistant.features.operations.due_work import DueKind, DueWorker, RunWork
from telegram_assistant.features.posts.habits import learn_channel_habits
from telegram_assistant.features.stories.keyword_trends import keep_day
from telegram_assistant.features.stories.marks import raise_followed
from telegram_assistant.features.stories.writing import SummaryWriter
from telegram_assistant.features.watches.meaning import raise_meanings
from telegram_assistant.stores.postgres.stories.post_terms import FORGOTTEN_AT_ONCE, POSTINGS_EACH
from telegram_assistant.telemetry.health import Health

LEARNT_LETTERS = 300
"""The beginning of a post says what it is about."""
TREND_DAYS = 90
TREND_DAYS_MADE_UP = 7
"""Days that are looked at again if nothing was running when they ended."""

type ForTenant = Callable[[App, TenantId, datetime], Awaitable[object]]
type Forget = Callable[[App, datetime, int], Awaitable[int]]
"""Deletes so many rows at most. Returns how many."""


async def make_digests(app: App, works: Sequence[DueWork], now: datetime) -> RunWork:
    """Make the digests that are due to people of a tenant."""
    return await begin_digests(
        works,
        tenant=app.tenant,
        person=app.person,
        plans=app.system.digest_plans,
        writer=partial(SummaryWriter, app.questions),
        now=now,
    )


async def find_trends(app: App, tenant_id: TenantId, now: datetime) -> None:
    """Keep the names and tags that the day before, and days that were missed, were about."""
    today = now.astimezone(UTC).date()
    days = [today - timedelta(days=ago) for ago in range(1, TREND_DAYS_MADE_UP + 1)]
    for day in await app.system.trend_days.missing(tenant_id, days):
        await keep_day(day, stores=app.tenant(tenant_id))


async def learn_channel_networks(app: App, tenant_id: TenantId, now: datetime) -> None:
    """Learn which channels have one owner, from the posts that the tenant sees."""
    await learn_networks(networks=app.tenant(tenant_id).networks, now=now)


async def learn_posting_habits(app: App, tenant_id: TenantId, now: datetime) -> None:
    """Learn how channels begin and end their posts, from the posts that the tenant sees."""
    await learn_channel_habits(habits=app.tenant(tenant_id).habits, now=now)


async def count_channel_records(app: App, tenant_id: TenantId, now: datetime) -> None:
    """Count the records of channels anew, from the posts that the tenant sees."""
    await count_records(stores=app.tenant(tenant_id), now=now)


async def sync_interests(app: App, tenant_id: TenantId, _now: datetime) -> None:
    """Learn from the posts that people saved, and let what was learnt fade."""
    for post in await app.system.interest_upkeep.newly_saved(tenant_id):
        await learn_from_saved(
            post.post_id,
            post.text[:LEARNT_LETTERS],
            interests=app.person(post.tenant_id, post.user_id).interests,
        )
    await app.system.interest_upkeep.fade(
        tenant_id, period=timedelta(minutes=app.settings.web.interests_minutes)
    )


async def watch_silences(app: App, tenant_id: TenantId, now: datetime) -> None:
    """Raise the alerts of channels that are silent for as long as a watch says."""
    await app.system.watch_matching.raise_silences(now, tenant_id)


async def watch_stories(app: App, tenant_id: TenantId, now: datetime) -> None:
    """Raise the alerts of stories that have reached as many posts as a watch says."""
    await app.system.watch_matching.raise_grown(now, tenant_id)


async def watch_followed_stories(app: App, tenant_id: TenantId, _now: datetime) -> None:
    """Raise the alerts of new posts in stories that people follow."""
    await raise_followed(followers=app.system.story_followers, tenant=app.tenant, tenant_id=tenant_id)


async def watch_meanings(app: App, tenant_id: TenantId, now: datetime) -> None:
    """Raise the alerts of posts that mean what a watch says."""
    await raise_meanings(
        tenant_id,
        matching=app.system.watch_matching,
        stores=app.tenant(tenant_id),
        index=app.meaning_search,
        now=now,
    )


async def forget_notices(app: App, _now: datetime, limit: int) -> int:
    """Delete notices that were announced more than a day ago."""
    return await app.system.notices.forget_old(limit=limit)


async def forget_pages(app: App, now: datetime, limit: int) -> int:
    """Delete linked pages that nobody has asked for in a month. Posts keep their excerpts."""
    return await app.system.pages.forget(now - timedelta(days=30), limit=limit)


async def forget_proposals(app: App, now: datetime, limit: int) -> int:
    """Delete proposed tags without support."""
    return await app.system.vocabularies.forget(now - timedelta(days=30), limit=limit)


async def forget_near_texts(app: App, now: datetime, limit: int) -> int:
    """Delete texts that are too old to be compared with copies."""
    return await app.system.near_texts.forget(now - timedelta(days=30), limit=limit)


async def forget_terms(app: App, now: datetime, limit: int) -> int:
    """Delete the terms of posts that were compared a week ago. Their stories stay."""
    return await app.system.post_terms.forget(now, limit=limit)


async def forget_summaries(app: App, now: datetime, limit: int) -> int:
    """Delete texts about stories that a provider wrote a month ago."""
    return await app.system.summary_upkeep.forget(now - timedelta(days=30), limit=limit)


async def forget_answers(app: App, now: datetime, limit: int) -> int:
    """Delete responses to changes, which are kept for a day for repeated requests."""
    return await app.system.idempotency.forget(now - timedelta(days=1), limit=limit)


async def forget_requests(app: App, now: datetime, limit: int) -> int:
    """Delete requests to follow that were answered more than a month ago."""
    return await app.system.request_queue.forget(now - timedelta(days=30), limit=limit)


async def forget_operations(app: App, now: datetime, limit: int) -> int:
    """Delete the throughput of stages and the reports of processes from before the last day."""
    return await app.system.stage_minutes.forget(now - timedelta(days=1), limit=limit)


async def forget_trends(app: App, now: datetime, limit: int) -> int:
    """Delete the trends of old days."""
    before = now.astimezone(UTC).date() - timedelta(days=TREND_DAYS)
    return await app.system.trend_days.forget(before, limit=limit)


async def forget_alerts(app: App, now: datetime, limit: int) -> int:
    """Delete alerts that are older than three months."""
    return await app.system.watch_matching.forget(now - timedelta(days=90), limit=limit)


async def forget_deliveries(app: App, now: datetime, limit: int) -> int:
    """Delete counts of mails from before yesterday, and secrets of webhooks that have been replaced."""
    return await app.system.deliveries.forget(now - timedelta(days=1), limit=limit)


def _for_tenant(
    name: str,
    urgency: WorkUrgency,
    run: ForTenant,
    *,
    rows: int | None = None,
    timeout_seconds: float = 600.0,
) -> DueKind[App]:
    async def begin(app: App, _works: Sequence[DueWork], now: datetime) -> RunWork:
        async def run_for_tenant(work: DueWork) -> datetime | None:
            if work.tenant_id is not None:
                await run(app, work.tenant_id, now)
            return None

        return run_for_tenant

    return DueKind(name=name, urgency=urgency, begin=begin, rows=rows, timeout_seconds=timeout_seconds)


def _forgetting(forget: Forget, *, limit: int = MAX_ROWS, rows_each: int = 1) -> DueKind[App]:
    """The kind is named after the function. A run that deleted as much as it may is due again at once, after
    the others. `rows_each` are the rows that are deleted with one.
    """

    async def begin(app: App, _works: Sequence[DueWork], now: datetime) -> RunWork:
        async def run(_work: DueWork) -> datetime | None:
            return now if await forget(app, now, limit) >= limit else None

        return run

    return DueKind(name=forget.__name__, urgency=WorkUrgency.UPKEEP, begin=begin, rows=limit * rows_each)


DIGEST = "digest"
ALERTS_SECONDS = 120.0
KINDS: tuple[DueKind[App], ...] = (
    DueKind(
        name=DIGEST,
        urgency=WorkUrgency.DIGEST,
        begin=make_digests,
        together=20,
        timeout_seconds=300.0,
    ),
    _for_tenant("watch_silences", WorkUrgency.ALERT, watch_silences, timeout_seconds=ALERTS_SECONDS),
    _for_tenant("watch_stories", WorkUrgency.ALERT, watch_stories, timeout_seconds=ALERTS_SECONDS),
    _for_tenant(
        "watch_followed_stories", WorkUrgency.ALERT, watch_followed_stories, timeout_seconds=ALERTS_SECONDS
    ),
    _for_tenant("watch_meanings", WorkUrgency.ALERT, watch_meanings, timeout_seconds=ALERTS_SECONDS),
    _for_tenant("trends", WorkUrgency.UPKEEP, find_trends),
    _for_tenant("channel_networks", WorkUrgency.UPKEEP, learn_channel_networks),
    _for_tenant("channel_records", WorkUrgency.UPKEEP, count_channel_records),
    _for_tenant("posting_habits", WorkUrgency.UPKEEP, learn_posting_habits),
    _for_tenant("interests", WorkUrgency.UPKEEP, sync_interests, rows=MAX_ROWS),
    _forgetting(forget_notices),
    _forgetting(forget_pages),
    _forgetting(forget_proposals),
    _forgetting(forget_near_texts),
    _forgetting(forget_terms, limit=FORGOTTEN_AT_ONCE, rows_each=1 + POSTINGS_EACH),
    _forgetting(forget_summaries),
    _forgetting(forget_answers),
    _forgetting(forget_requests),
    _forgetting(forget_operations),
    _forgetting(forget_trends),
    _forgetting(forget_alerts, limit=MAX_ROWS // 4, rows_each=3),
    _forgetting(forget_deliveries),
)


def urgency_of(kind: str) -> WorkUrgency:
    """The urgency of the kind with this name."""
    return next(due_kind.urgency for due_kind in KINDS if due_kind.name == kind)


def build_worker(app: App, health: Health) -> DueWorker[App]:
    """Build the worker of this process for all kinds."""
    return DueWorker(queue=app.system.due_work, kinds=KINDS, tools=app, owner=app.instance, health=health)
