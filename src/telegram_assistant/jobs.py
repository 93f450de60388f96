"""All periodic jobs, as one readable list.

A new job is a function and an entry in PERIODIC; `clock.py` runs them. Work for tenants and people, and work
that may have many rows, is only enqueued here: `work_kinds.py` says what it is, and any worker does it.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.assembly import App
from telegram_assistant.domain.graph.graph_facts import oldest_day
from telegram_assistant.domain.operations.due_work import WorkUrgency
from telegram_assistant.errors import Rejected
from telegram_assistant.features.media import upkeep as media
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.operations.enqueuing import Audience
from telegram_assistant.work_kinds import DIGEST, urgency_of

type Run = Callable[[App, datetime], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Job:
    """Work for every period.

    `run` returns a short description of what it did. `lease` is how long a run may take. `enqueues` are the
    kinds of due work that it enqueues; the workers do them.
    """

    name: str
    every: timedelta
    run: Run
    lease: timedelta = timedelta(minutes=10)
    enqueues: tuple[str, ...] = ()


async def make_partitions(app: App, now: datetime) -> str:
    """Create the partitions of the coming months before they are needed."""
    work = await app.system.partitions.keep_up(now)
    return f"made {len(work.made)}, dropped {len(work.dropped)}"


async def storage_usage(app: App, _now: datetime) -> str:
    """Count what each tenant stores, and find files that may be stored after all."""
    tenant_count = await app.system.media_upkeep.count()
    wanted_count = await media.reconsider(
        media=app.system.media, upkeep=app.system.media_upkeep, rules=app.media_rules
    )
    return f"counted for {tenant_count} tenants, {wanted_count} files wanted after all"


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


async def sweep_stories(app: App, now: datetime) -> str:
    """Group posts whose links have changed and whose worker died before it grouped them."""
    return f"grouped {await app.story_builder.sweep(now=now)} posts that were left behind"


async def settle_lost_calls(app: App, _now: datetime) -> str:
    """Count calls to providers as spent if their process died before settling them."""
    return f"{await app.system.spending.expire()} calls written off as spent"


async def forget_in_graph(app: App, now: datetime) -> str:
    """Delete what is older than the graph keeps."""
    if app.graph_index is None:
        return "the graph is off"
    return f"forgot {await app.graph_index.graph.forget(oldest_day(now))} days and posts"


async def enqueue_digests(app: App, _now: datetime) -> str:
    """Enqueue the digests of new and changed plans; prepare those before their hour that many wait for."""
    changed_count = await app.system.enqueuer.enqueue_digests(DIGEST, WorkUrgency.DIGEST)
    early = await app.system.enqueuer.spread_digests(DIGEST)
    return f"{changed_count} plans are new or changed, {early} digests are prepared early"


def _enqueue(*kinds: str) -> Run:
    """Enqueue work of the whole installation."""

    async def run(app: App, _now: datetime) -> str:
        count = sum([await app.system.enqueuer.enqueue(kind, urgency_of(kind)) for kind in kinds])
        return f"enqueued {count}"

    return run


def _enqueue_for_tenants(every: timedelta, audiences: Mapping[str, Audience]) -> Run:
    """Enqueue work of these kinds, each for the tenants that it is for, within half the period at most."""

    async def run(app: App, now: datetime) -> str:
        count = sum(
            [
                await app.system.enqueuer.enqueue_for_tenants(
                    kind, urgency_of(kind), audience, now=now, spread=every / 2
                )
                for kind, audience in audiences.items()
            ]
        )
        return f"enqueued {count}"

    return run


def _forgetting(name: str, every: timedelta, *kinds: str) -> Job:
    """A job that enqueues the forgetting of old rows; without kinds, the kind of its own name."""
    return Job(name, every, _enqueue(*(kinds or (name,))), enqueues=kinds or (name,))


def _for_tenants(name: str, every: timedelta, audience: Audience, **more: Audience) -> Job:
    """A job that enqueues work of its own name, and of others, for tenants."""
    audiences = {name: audience, **more}
    return Job(name, every, _enqueue_for_tenants(every, audiences), enqueues=tuple(audiences))


PERIODIC = (
    Job("digests", timedelta(minutes=1), enqueue_digests, enqueues=(DIGEST,)),
    _for_tenants("trends", timedelta(days=1), Audience.WITHOUT_TRENDS),
    _for_tenants("channel_networks", timedelta(days=1), Audience.FOLLOWING),
    _for_tenants("channel_records", timedelta(minutes=15), Audience.OLD_RECORDS),
    _for_tenants("posting_habits", timedelta(days=1), Audience.FOLLOWING),
    Job("make_partitions", timedelta(hours=1), make_partitions),
    _forgetting("forget_notices", timedelta(hours=1)),
    Job("storage_usage", timedelta(hours=6), storage_usage),
    Job("sweep_media", timedelta(hours=6), sweep_media, lease=timedelta(hours=1)),
    _forgetting("forget_pages", timedelta(days=1)),
    _forgetting("forget_tagging", timedelta(days=1), "forget_proposals", "forget_near_texts"),
    _forgetting("forget_terms", timedelta(days=1)),
    _forgetting("forget_summaries", timedelta(days=1)),
    _forgetting("forget_trends", timedelta(days=1)),
    _forgetting("forget_answers", timedelta(hours=1)),
    _forgetting("forget_requests", timedelta(days=1)),
    _forgetting("forget_operations", timedelta(hours=1)),
    Job("forget_in_graph", timedelta(days=1), forget_in_graph, lease=timedelta(hours=1)),
    Job("sweep_stories", timedelta(minutes=1), sweep_stories),
    _for_tenants("watch_silences", timedelta(minutes=10), Audience.SILENCE_WATCHES),
    _for_tenants(
        "watch_stories",
        timedelta(minutes=1),
        Audience.STORY_WATCHES,
        watch_followed_stories=Audience.FOLLOWED_STORIES,
    ),
    _for_tenants("watch_meanings", timedelta(minutes=1), Audience.MEANING_WATCHES),
    _forgetting("forget_alerts", timedelta(days=1)),
    _forgetting("forget_deliveries", timedelta(days=1)),
    Job("settle_lost_calls", timedelta(minutes=10), settle_lost_calls),
)


def periodic_jobs(settings: Settings) -> tuple[Job, ...]:
    """Return all jobs, with the periods that an installation chooses."""
    every = timedelta(minutes=settings.web.interests_minutes)
    return (*PERIODIC, _for_tenants("interests", every, Audience.INTERESTED))


def job_named(name: str, settings: Settings) -> Job:
    """Return the job with this name."""
    for job in periodic_jobs(settings):
        if job.name == name:
            return job
    raise Rejected(Reason("job_unknown", "there is no job {job!r}; `tga jobs list` shows them", job=name))
