"""The coverage ledger: which message ids of a channel are proven, and which are missing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any

import asyncpg

from telegram_assistant.domain.channels.coverage import CoverageFacts, CoverageStatus, IdRange, status_of
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.reasons import load_reason
from telegram_assistant.stores.postgres.database import SystemTransactions, TenantTransactions


@dataclass(frozen=True, slots=True)
class Coverage:
    """The proven and missing ids of a channel above its floor. Complete if there is no gap."""

    floor_id: MessageId
    newest_id: MessageId
    verified_at: datetime
    gaps: tuple[IdRange, ...]
    verified: tuple[IdRange, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.gaps


NEWEST = "CROSS JOIN LATERAL (SELECT greatest(c.newest_message_id, upper(v.verified) - 1) AS newest_id) n"
"""The highest known id, for a query that has the channel as `c` and its coverage as `v`."""
GAPS = (
    "unnest(int8multirange(int8range(least(v.floor_id, n.newest_id + 1), "
    "n.newest_id + 1)) - v.verified) AS gap"
)
"""The unproven id ranges between the floor and the newest id."""

_COVERAGE = f"""
SELECT v.floor_id, {{verified_at}} AS verified_at, n.newest_id,
       ARRAY(SELECT gap FROM {GAPS} ORDER BY gap DESC LIMIT $2) AS gaps,
       ARRAY(SELECT proven FROM unnest(v.verified) AS proven ORDER BY proven DESC LIMIT $2) AS verified
FROM {{ledger}} v
JOIN channels c ON c.channel_id = v.channel_id
{NEWEST}
WHERE v.channel_id = $1
"""
COVERAGE = _COVERAGE.format(ledger="coverage", verified_at="v.verified_at")

# History that other tenants want changes neither the floor that a tenant sees nor the ranges above it: both
# begin with the first post of the tenant's own window. `is_in_reach` is true if the ledger reaches back as
# far as the window.
OWN_LEDGER = """(
    SELECT v.channel_id, f.floor_id, s.created_at AS followed_at,
           v.verified * int8multirange(int8range(f.floor_id, NULL)) AS verified,
           v.floor_id <= 1 OR v.floor_at <= s.visible_from AS is_in_reach
    FROM subscriptions s JOIN coverage v ON v.channel_id = s.channel_id
    JOIN channels c ON c.channel_id = s.channel_id
    LEFT JOIN LATERAL (
        SELECT p.message_id FROM posts p WHERE p.channel_id = s.channel_id AND p.posted_at >= s.visible_from
        ORDER BY p.posted_at, p.message_id LIMIT 1) oldest ON true
    CROSS JOIN LATERAL (
        SELECT greatest(v.floor_id, coalesce(oldest.message_id,
            greatest(c.newest_message_id, upper(v.verified) - 1) + 1)) AS floor_id) f
    WHERE s.active AND {only})"""
# Every landing updates `verified_at`, also for history that only other tenants want, so a tenant sees the
# time of the last poll.
_LAST_POLL = (
    "coalesce((SELECT r.last_polled_at FROM reading_of_channels(ARRAY[v.channel_id]) r), v.followed_at)"
)
OWN_COVERAGE = _COVERAGE.format(ledger=OWN_LEDGER.format(only="s.channel_id = $1"), verified_at=_LAST_POLL)


@dataclass(frozen=True, slots=True)
class ChannelCoverage:
    """One followed channel, and how complete it is."""

    channel_id: ChannelId
    title: str
    username: str | None
    floor_at: datetime | None
    """The time since which the channel is to be complete for the tenant; None: all history is wanted."""
    newest_posted_at: datetime | None
    last_polled_at: datetime | None
    missing_ids: int
    status: CoverageStatus
    has_account: bool = True
    by_preview: bool = False
    parked_until: datetime | None = None

    @property
    def may_be_read(self) -> bool:
        """Whether an account can open it, or its preview is read."""
        return self.has_account or self.by_preview


# Row-level security and the function each restrict the channels to the tenant's; the join returns the
# channels that pass both.
OVERVIEW = f"""
SELECT c.channel_id, c.title, c.username, nullif(s.visible_from, '-infinity') AS floor_at,
       c.newest_posted_at, r.last_polled_at, r.has_account, v.channel_id IS NOT NULL AS was_read,
       v.is_in_reach IS NOT FALSE AS is_in_reach,
       c.parked_reason, c.parked_until, r.lost_reason, r.lost_at, r.is_filling,
       r.fill_error, r.fill_again_at, r.blocked_until, r.by_preview, r.previews_blocked_until,
       w.channel_id IS NOT NULL AS was_previewed,
       coalesce((SELECT sum(upper(gap) - lower(gap)) FROM {GAPS}), 0)::bigint AS missing_ids
FROM reading_of_channels($1) r
JOIN channels c ON c.channel_id = r.channel_id
JOIN subscriptions s ON s.channel_id = r.channel_id
LEFT JOIN {OWN_LEDGER.format(only="($1::bigint[] IS NULL OR s.channel_id = ANY($1))")} v
    ON v.channel_id = r.channel_id
LEFT JOIN preview_coverage w ON w.channel_id = r.channel_id
{NEWEST}
"""


class CoverageOverview:
    """A tenant store: how complete its channels are, and why a channel is not."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def channels(self, only: Sequence[ChannelId] | None = None) -> tuple[ChannelCoverage, ...]:
        """All channels that the tenant follows, or only these of them, in no particular order."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(OVERVIEW, None if only is None else list(only))
        return tuple(_channel_coverage(row) for row in rows)

    async def load_coverage(
        self, channel_id: ChannelId, *, max_ranges: int = 1000
    ) -> tuple[ChannelCoverage | None, Coverage | None]:
        """How complete a channel is, and its ledger within the tenant's own window."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(OVERVIEW, [channel_id])
            ledger = await connection.fetchrow(OWN_COVERAGE, channel_id, max_ranges)
        return None if row is None else _channel_coverage(row), _ledger(ledger)

    async def last_checked_at(self) -> datetime | None:
        """When a channel that the tenant follows was read last."""
        async with self._transactions.begin() as connection:
            checked_at: datetime | None = await connection.fetchval(
                "SELECT max(last_polled_at) FROM reading_of_channels(NULL)"
            )
        return checked_at


_FACTS = tuple(field.name for field in fields(CoverageFacts))
_CHANNEL_FIELDS = tuple(field.name for field in fields(ChannelCoverage) if field.name != "status")
_facts_of, _shown_of = itemgetter(*_FACTS), itemgetter(*_CHANNEL_FIELDS)
MAX_KEPT_STATUSES = 1000


def _channel_coverage(row: asyncpg.Record) -> ChannelCoverage:
    return ChannelCoverage(
        **dict(zip(_CHANNEL_FIELDS, _shown_of(row), strict=True)), status=_status(_facts_of(row))
    )


@lru_cache(MAX_KEPT_STATUSES)
def _status(facts: tuple[Any, ...]) -> CoverageStatus:
    """Most channels of a list have equal facts: nothing is wrong with them."""
    facts_by_name = dict(zip(_FACTS, facts, strict=True))
    facts_by_name |= {
        name: load_reason(facts_by_name[name]) for name in ("lost_reason", "parked_reason", "fill_error")
    }
    return status_of(CoverageFacts(**facts_by_name))


class CoverageLedger:
    """Reads the ledger; landing writes it. A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load_coverage(self, channel_id: ChannelId, *, max_ranges: int = 1000) -> Coverage | None:
        """The channel's coverage, the newest gaps and proven ranges first;
        None before the first page has landed.
        """
        async with self._transactions.begin() as connection:
            return _ledger(await connection.fetchrow(COVERAGE, channel_id, max_ranges))


def _ledger(row: asyncpg.Record | None) -> Coverage | None:
    if row is None:
        return None
    floor_id, newest_id = MessageId(row["floor_id"]), MessageId(row["newest_id"])
    return Coverage(
        floor_id, newest_id, row["verified_at"], id_ranges(row["gaps"]), id_ranges(row["verified"])
    )


def id_ranges(gaps: Iterable[Any]) -> tuple[IdRange, ...]:
    """Converts PostgreSQL's ranges, which exclude their upper bound, into inclusive ones."""
    return tuple(IdRange(MessageId(gap.lower), MessageId(gap.upper - 1)) for gap in gaps)
