"""improving: what a provider could not say when a post came by is asked later, the newest first. Works off a table, not a stream."""

import asyncio
from datetime import UTC, datetime, timedelta

from telegram_assistant.ai.questions import TAGGING
from telegram_assistant.domain.lane import lane_of
from telegram_assistant.domain.understanding import Reason, Tier, Urgency
from telegram_assistant.errors import Busy
from telegram_assistant.events import PostTagged, Trigger
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.stages.tags import Tagger
from telegram_assistant.stores.postgres.notices import Told
from telegram_assistant.stores.postgres.posts import Posts
from telegram_assistant.stores.postgres.provider_wanted import ProviderWanted
from telegram_assistant.supervision import Loop, sleep_unless

BATCH = 20
LEASE = timedelta(minutes=3)
PAUSE = timedelta(seconds=30)
"""What nobody has tried is tried again then."""
IDLE_SECONDS = 5.0
NOT_TRIED = frozenset({Reason.NO_BUDGET, Reason.BUSY, Reason.BREAKER})


def improving(*, wanted: ProviderWanted, posts: Posts, tagger: Tagger) -> Loop:
    """One per worker; many are safe together."""

    async def run(stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            try:
                improved = await improve(wanted=wanted, posts=posts, tagger=tagger)
            except Busy:
                improved = 0
            if not improved:
                await sleep_unless(stopping, IDLE_SECONDS)

    return Loop("improving", run)


async def improve(*, wanted: ProviderWanted, posts: Posts, tagger: Tagger) -> int:
    """Work off some; how many have got a provider's result. It is told like any tagging, so that the index hears of it."""
    taken = await wanted.take(TAGGING, limit=BATCH, lease=LEASE)
    if not taken:
        return 0
    stored = {one.post.id: one for one in await posts.load([one.post_id for one in taken])}
    understood = await tagger.tag(list(stored.values()), urgency=Urgency.RETAGGING, pays_for_history=True)
    reasons = {one: understood[one.post_id].reason if one.post_id in understood else None for one in taken}
    now, told = datetime.now(UTC), []
    for post_id, result in understood.items():
        if result.tier is Tier.PROVIDER:
            one = stored[post_id]
            tags = result.local.tags if result.local is not None else ()
            trace = trace_of(post_id, one.revision)
            event = PostTagged.about(post_id, one.revision, occurred_at=now, trace_id=trace, trigger=Trigger.PROVIDER_RETAG, tags=tags)
            told.append(Told(event, lane_of(one.post.posted_at, now)))
    if not_tried := [one for one, reason in reasons.items() if reason in NOT_TRIED]:
        await wanted.put_back(not_tried, pause=PAUSE)
    await wanted.done([one for one, reason in reasons.items() if reason not in NOT_TRIED and reason is not Reason.FAILED], told)
    return len(told)
