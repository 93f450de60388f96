"""Watches by meaning: the posts of some time that are near to a text. They need vectors, and say so where there are none."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy, FallbackReason
from telegram_assistant.domain.watches.watch import WatchConditions
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.features.watches.watches import read_conditions
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.watches.matching import WatchMatching
from telegram_assistant.vectors.index import MeaningSearch
from telegram_assistant.vectors.protocol import Reach, VectorQuery

MIN_SCORE = 0.5
"""A search shows the nearest posts, however far they are. An alert interrupts somebody, so its post must be near."""
NEAREST = 100
SECONDS = 5.0
LOOKING_BACK = timedelta(hours=3)
"""Vectors may come late; what was found before raises nothing again."""
NO_VECTORS = Reason("meaning_needs_vectors", "a watch by meaning needs vectors, and they are off (set QDRANT_URL or VECTORS_DIR)")
NO_MEANING = Reason("meaning_unavailable", "meaning is not available now: no model could process the text, or your AI policy is off")


async def raise_meanings(*, matching: WatchMatching, tenant: Callable[[TenantId], TenantStores], index: MeaningSearch | None, now: datetime) -> int:
    """Raises the alerts of all watches by meaning for the posts of the last hours. Returns how many are new.

    A watch costs one question to the vector store for each run, however many posts there are.
    """
    if index is None:
        return 0
    raised = 0
    for watched in await matching.meanings():
        stores = tenant(watched.tenant_id)
        try:
            conditions = await read_conditions(watched.target, stores=stores, now=now, zone=UTC)
        except Rejected:  # a channel that it names is not followed any more
            continue
        since = max(watched.begins_at, now - LOOKING_BACK)
        near = await nearest_since(conditions, tenant_id=watched.tenant_id, stores=stores, index=index, since=since, until=now)
        if not isinstance(near, Reason) and near:
            raised += await matching.raise_found(watched, near)
    return raised


async def nearest_since(
    conditions: WatchConditions, *, tenant_id: TenantId, stores: TenantStores, index: MeaningSearch | None, since: datetime, until: datetime
) -> tuple[PostId, ...] | Reason:
    """The posts of that time that mean the same, the nearest first; or why they are not known."""
    if index is None:
        return NO_VECTORS
    query = conditions.query
    policies = (in_force := (await stores.words.scope()).in_force).policies
    among = {one: its for one, its in policies.items() if conditions.channel_ids is None or one in conditions.channel_ids}
    local, provider = (frozenset(one for one, its in among.items() if its is policy) for policy in (AiPolicy.LOCAL, AiPolicy.PROVIDER))
    reach = Reach(local, provider, since=in_force.since)
    if not reach.channels:
        return NO_MEANING
    sought = VectorQuery(
        reach=reach,
        limit=NEAREST,
        since=since,
        until=until,
        languages=query.languages,
        tags=conditions.tags,
        kinds=query.kinds,
        has=query.has,
        without_ads=not query.with_ads,
    )
    try:
        async with asyncio.timeout(SECONDS):
            near = await index.nearest(query.meaning, sought, tenant_id=tenant_id)
    except (TimeoutError, Busy):
        return NO_MEANING
    if isinstance(near, FallbackReason):
        return NO_MEANING
    return tuple(hit.post_id for hit in near if hit.score >= MIN_SCORE)
