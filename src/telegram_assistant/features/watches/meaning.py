"""Watches by meaning: the posts of some time that are near to a text.

They need vectors, and say so where there are none.
"""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.watches.watch import WatchConditions
from telegram_assistant.errors import Rejected
from telegram_assistant.features.search.meaning import Nearness, WordsOnly, find_nearest
from telegram_assistant.features.watches.watches import read_conditions
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.search.search import SearchFilters
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.watches.matching import WatchMatching
from telegram_assistant.vectors.index import MeaningSearch

OF_WATCH = Nearness(100, 0.39)
"""A search shows the nearest posts, however far they are.

An alert interrupts somebody, so its post must be nearer (bench.meaning_watches).
"""
TIMEOUT_SECONDS = 5.0
LOOKING_BACK = timedelta(hours=3)
"""Vectors may come late; what was found before raises nothing again."""
NO_VECTORS = Reason(
    "meaning_needs_vectors",
    "a watch by meaning needs search by meaning, which is switched off on this server",
)
NO_MEANING = Reason(
    "meaning_unavailable",
    "search by meaning is unavailable: no model could process the text, or your AI policy is off",
)


async def raise_meanings(
    tenant_id: TenantId,
    *,
    matching: WatchMatching,
    stores: TenantStores,
    index: MeaningSearch | None,
    now: datetime,
) -> int:
    """Raises the alerts of the tenant's watches by meaning for the posts of the last hours. Returns how many
    are new.

    A watch costs one question to the vector store for each run, however many posts there are.
    """
    if index is None:
        return 0
    raised_count = 0
    for watched_meaning in await matching.meanings(tenant_id):
        try:
            conditions = await read_conditions(watched_meaning.target, stores=stores, now=now, zone=UTC)
        except Rejected:  # a channel that it names is not followed any more
            continue
        since = max(watched_meaning.begins_at, now - LOOKING_BACK)
        nearest_posts = await nearest_since(
            conditions, tenant_id=tenant_id, stores=stores, index=index, since=since, until=now
        )
        if not isinstance(nearest_posts, Reason) and nearest_posts:
            raised_count += await matching.raise_found(watched_meaning, nearest_posts)
    return raised_count


async def nearest_since(
    conditions: WatchConditions,
    *,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    since: datetime,
    until: datetime,
) -> tuple[PostId, ...] | Reason:
    """The posts of that time that mean the same, the nearest first; or why they are not known."""
    if index is None:
        return NO_VECTORS
    query = conditions.query
    limits = SearchFilters(
        channels=conditions.channel_ids,
        since=since,
        languages=query.languages,
        has=query.has,
        tags=conditions.tags,
        kinds=query.kinds,
        with_ads=query.with_ads,
    )
    nearest = await find_nearest(
        query.meaning,
        limits,
        policies_in_force=(await stores.words.scope()).in_force,
        until=until,
        nearness=OF_WATCH,
        tenant_id=tenant_id,
        index=index,
        patience_seconds=TIMEOUT_SECONDS,
    )
    return NO_MEANING if isinstance(nearest, WordsOnly) else nearest
