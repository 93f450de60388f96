"""The loop `improving`: asks a provider later about posts it could not process at once, news before history.

Reads a table, not a stream.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.lane import Lane, lane_of
from telegram_assistant.domain.understanding.policy import (
    WORTH_TRYING_AGAIN,
    FallbackReason,
    PendingImprovement,
    Urgency,
)
from telegram_assistant.errors import Busy
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.stores.postgres.pipeline.notices import QueuedNotice
from telegram_assistant.stores.postgres.posts.posts import Posts
from telegram_assistant.stores.postgres.understanding.provider_wanted import ProviderWanted
from telegram_assistant.supervision import Loop, sleep_unless
from telegram_assistant.telemetry.trace_ids import log_with_traces
from telegram_assistant.understanding.improvements import Improvement

LEASE = timedelta(minutes=3)
PAUSE = timedelta(seconds=30)
"""Pause before an entry is tried again."""
IDLE_SECONDS = 5.0


def improving(*, wanted_results: ProviderWanted, posts: Posts, improvements: Sequence[Improvement]) -> Loop:
    """One per worker; several may run concurrently. Tags, pictures and vectors do not wait for each other."""

    async def keep_improving(improvement: Improvement, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            try:
                improved_count = await improve(improvement, wanted_results=wanted_results, posts=posts)
            except Busy:
                improved_count = 0
            if not improved_count:
                await sleep_unless(stopping, IDLE_SECONDS)

    async def run(stopping: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            for improvement in improvements:
                group.create_task(keep_improving(improvement, stopping))

    return Loop("improving", run)


async def improve(improvement: Improvement, *, wanted_results: ProviderWanted, posts: Posts) -> int:
    """Processes a batch; returns how many posts got a provider's result.

    Results are announced like any other, so the index gets them.
    """
    pending_results = await wanted_results.take(improvement.work, limit=improvement.at_once, lease=LEASE)
    if not pending_results:
        return 0
    now = datetime.now(UTC)
    stored_posts = {
        stored_post.post.id: stored_post
        for stored_post in await posts.load([pending.post_id for pending in pending_results])
        if stored_post.deleted_at is None
    }
    lanes = {
        post_id: lane_of(stored_post.post.posted_at, now) for post_id, stored_post in stored_posts.items()
    }
    urgency = Urgency.RETAGGING if Lane.LIVE in lanes.values() else Urgency.BACKFILL
    with log_with_traces(
        {
            str(post_id): trace_of(post_id, stored_post.revision)
            for post_id, stored_post in stored_posts.items()
        }
    ):
        results = await improvement.make(list(stored_posts.values()), urgency) if stored_posts else {}
    notices = [
        QueuedNotice(result.event, lanes[post_id])
        for post_id, result in results.items()
        if result.event is not None
    ]
    reasons = {
        pending: results[pending.post_id].reason if pending.post_id in results else None
        for pending in pending_results
    }
    await _put_back(wanted_results, reasons, has_answered=bool(notices))
    await wanted_results.finish(
        [pending for pending, reason in reasons.items() if reason not in WORTH_TRYING_AGAIN], notices
    )
    return len(notices)


async def _put_back(
    wanted_results: ProviderWanted,
    reasons: Mapping[PendingImprovement, FallbackReason | None],
    *,
    has_answered: bool,
) -> None:
    """Returns entries by reason.

    While the provider is unavailable, history waits too. Entries without budget, or that fail alone, delay
    nothing.
    """

    def list_pending(*wanted_reasons: FallbackReason) -> list[PendingImprovement]:
        return [pending for pending, reason in reasons.items() if reason in wanted_reasons]

    await wanted_results.put_back(list_pending(FallbackReason.NO_BUDGET), pause=PAUSE, is_set_aside=True)
    await wanted_results.put_back(list_pending(FallbackReason.BUSY, FallbackReason.BREAKER), pause=PAUSE)
    await wanted_results.put_back(
        list_pending(FallbackReason.AWAY), pause=PAUSE, was_tried=True, is_set_aside=has_answered
    )
    await wanted_results.put_back(
        list_pending(FallbackReason.FAILED), pause=PAUSE, was_tried=True, is_set_aside=True
    )
