"""The semantic part of a search. If it is unavailable, it says why."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.search.query import Query
from telegram_assistant.domain.understanding.policy import AiPolicy, FallbackReason
from telegram_assistant.errors import Busy
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.search.search import SearchFilters, SearchScope
from telegram_assistant.stores.postgres.understanding.policies_in_force import PoliciesInForce
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.vectors.index import MeaningSearch
from telegram_assistant.vectors.protocol import Reach, VectorQuery

log = get_logger()

MEANING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Nearness:
    """How many posts are wanted at most, and how similar they must be at least."""

    limit: int
    min_score: float


OF_SEARCH = Nearness(50, 0.25)
"""Posts with a lower similarity are about something else."""


class WordsOnly(StrEnum):
    """Why a search did not use meaning, or not for all posts (`filling`)."""

    OFF = "off"
    AWAY = "away"
    SLOW = "slow"
    POLICY = "policy"
    NO_BUDGET = "no_budget"
    NO_MODEL = "no_model"
    FILLING = "filling"
    """Meaning was used, but some posts have no vector yet."""

    @property
    def words(self) -> Reason:
        """The reason for people, with what to do about it."""
        return _WHY[self]


_WHY = {
    WordsOnly.OFF: Reason(
        "words_only_off",
        "search by words only: search by meaning is switched off on this server; "
        "its operator can switch it on",
    ),
    WordsOnly.AWAY: Reason("words_only_away", "search by words only: search by meaning does not answer now"),
    WordsOnly.SLOW: Reason("words_only_slow", "search by words only: search by meaning took too long"),
    WordsOnly.POLICY: Reason(
        "words_only_policy", "search by words only: your AI policy for these channels is off"
    ),
    WordsOnly.NO_BUDGET: Reason(
        "words_only_no_budget", "search by words only: the budget for queries is used up"
    ),
    WordsOnly.FILLING: Reason(
        "words_only_filling",
        "some posts are not ready for search by meaning yet and were searched by words only",
    ),
    WordsOnly.NO_MODEL: Reason(
        "words_only_no_model",
        "search by words only: no model could read the query",
    ),
}
_BECAUSE = {
    FallbackReason.POLICY: WordsOnly.POLICY,
    FallbackReason.NO_BUDGET: WordsOnly.NO_BUDGET,
    FallbackReason.BUSY: WordsOnly.SLOW,
}


async def nearest_posts(
    query: Query,
    limits: SearchFilters,
    *,
    scope: SearchScope,
    until: datetime,
    tenant_id: TenantId,
    index: MeaningSearch | None,
    patience_seconds: float,
) -> tuple[Sequence[PostId], WordsOnly | None]:
    """Returns the nearest posts first; and why there are none, or not all of them."""
    if index is None or not query.meaning or not scope.in_force.policies:
        return (), WordsOnly.OFF if query.meaning and index is None else None
    nearest = await find_nearest(
        query.meaning,
        limits,
        policies_in_force=scope.in_force,
        until=until,
        nearness=OF_SEARCH,
        tenant_id=tenant_id,
        index=index,
        patience_seconds=patience_seconds,
    )
    if isinstance(nearest, WordsOnly):
        return (), nearest
    return nearest, None if scope.vectors_are_complete else WordsOnly.FILLING


async def find_nearest(
    meaning: str,
    limits: SearchFilters,
    *,
    policies_in_force: PoliciesInForce,
    until: datetime,
    nearness: Nearness,
    tenant_id: TenantId,
    index: MeaningSearch,
    patience_seconds: float,
) -> tuple[PostId, ...] | WordsOnly:
    """Returns the posts that are near enough, the nearest first; or why they are not known."""
    reach = _reach(policies_in_force, limits.channels)
    if not reach.channels:
        return WordsOnly.POLICY
    vector_query = VectorQuery(
        reach=reach,
        limit=nearness.limit,
        since=limits.since,
        until=until,
        languages=limits.languages,
        tags=limits.tags,
        kinds=limits.kinds,
        has=limits.has,
        without_ads=not limits.with_ads,
    )
    try:
        async with asyncio.timeout(patience_seconds):
            nearest = await index.nearest(meaning, vector_query, tenant_id=tenant_id)
    except TimeoutError:
        return WordsOnly.SLOW
    except Busy:
        return WordsOnly.AWAY
    if isinstance(nearest, FallbackReason):
        return _BECAUSE.get(nearest, WordsOnly.NO_MODEL)
    return tuple(hit.post_id for hit in nearest if hit.score >= nearness.min_score)


def _reach(policies_in_force: PoliciesInForce, channel_ids: Sequence[ChannelId] | None) -> Reach:
    """Leaves out channels whose policy for this tenant is off: they are not searched by meaning."""
    policies = policies_in_force.policies
    among = (
        policies
        if channel_ids is None
        else {channel_id: policies[channel_id] for channel_id in channel_ids if channel_id in policies}
    )
    by_policy = {
        policy: frozenset(channel_id for channel_id, in_force in among.items() if in_force is policy)
        for policy in (AiPolicy.LOCAL, AiPolicy.PROVIDER)
    }
    return Reach(by_policy[AiPolicy.LOCAL], by_policy[AiPolicy.PROVIDER], since=policies_in_force.since)
