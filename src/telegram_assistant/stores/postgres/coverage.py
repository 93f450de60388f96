"""The coverage ledger: which message ids of a channel are proven, and which are missing."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from telegram_assistant.domain.coverage import CoverageFacts, CoverageStatus, IdRange, status_of
from telegram_assistant.domain.ids import ChannelId, MessageId, TenantId
from telegram_assistant.stores.postgres.database import SystemTransactions, Transactions


@dataclass(frozen=True, slots=True)
class Coverage:
    """What is known of a channel above its floor. Complete when there is no gap."""

    floor_id: MessageId
    newest_id: MessageId
    verified_at: datetime
    gaps: tuple[IdRange, ...]

    @property
    def complete(self) -> bool:
        return not self.gaps


NEWEST = "CROSS JOIN LATERAL (SELECT greatest(c.newest_message_id, upper(v.verified) - 1) AS newest_id) n"
"""The highest id that is known, for a query that has the channel as `c` and its coverage as `v`."""
GAPS = "unnest(int8multirange(int8range(least(v.floor_id, n.newest_id + 1), n.newest_id + 1)) - v.verified) AS gap"
"""The ranges of ids between the floor and the newest that nothing proves."""

COVERAGE = f"""
SELECT v.floor_id, v.verified_at, n.newest_id, ARRAY(
    SELECT gap FROM {GAPS}
    ORDER BY gap DESC LIMIT $2) AS gaps
FROM coverage v
JOIN channels c ON c.channel_id = v.channel_id
{NEWEST}
WHERE v.channel_id = $1
"""


@dataclass(frozen=True, slots=True)
class ChannelCoverage:
    """One followed channel, and how complete it is."""

    channel_id: ChannelId
    title: str
    username: str | None
    floor_at: datetime | None
    newest_posted_at: datetime | None
    last_polled_at: datetime | None
    status: CoverageStatus


OVERVIEW = f"""
SELECT c.channel_id, c.title, c.username, coalesce(v.floor_at, w.floor_at) AS floor_at, c.newest_posted_at, s.last_polled_at,
       s.account_id IS NOT NULL AS has_account, v.channel_id IS NOT NULL AS was_read, c.parked_reason, c.parked_until,
       lost.lost_reason, lost.lost_at, coalesce(b.state = 'open', false) AS is_filling, b.error AS fill_error, b.next_try_at AS fill_again_at,
       CASE WHEN l.blocked_until > now() THEN l.blocked_until END AS blocked_until,
       coalesce((SELECT sum(upper(gap) - lower(gap)) FROM {GAPS}), 0)::bigint AS missing_ids,
       r.lease_until > now() AND NOT c.is_private AND c.username IS NOT NULL AS by_preview, w.channel_id IS NOT NULL AS was_previewed,
       CASE WHEN r.next_request_at > now() + interval '1 minute' THEN r.next_request_at END AS previews_blocked_until
FROM channels c
JOIN poll_schedule s USING (channel_id)
CROSS JOIN preview_reader r
LEFT JOIN coverage v USING (channel_id)
LEFT JOIN preview_coverage w USING (channel_id)
LEFT JOIN account_limits l ON l.account_id = s.account_id AND l.method = 'messages.getHistory'
LEFT JOIN LATERAL (
    SELECT state, error, next_try_at FROM backfills WHERE channel_id = c.channel_id AND state <> 'done' ORDER BY backfill_id DESC LIMIT 1) b ON true
LEFT JOIN LATERAL (
    SELECT lost_reason, lost_at FROM account_channels r
    WHERE r.channel_id = c.channel_id AND lost_at IS NOT NULL ORDER BY lost_at DESC LIMIT 1) lost ON true
{NEWEST}
WHERE EXISTS (SELECT 1 FROM subscriptions p WHERE p.channel_id = c.channel_id AND p.tenant_id = $1 AND p.active)
ORDER BY c.title, c.channel_id
"""


class CoverageOverview:
    """A system store: how complete the channels of a tenant are, and what stands in the way."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def of(self, tenant_id: TenantId) -> tuple[ChannelCoverage, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(OVERVIEW, tenant_id)
        return tuple(_channel_coverage(dict(row)) for row in rows)


def _channel_coverage(row: dict[str, Any]) -> ChannelCoverage:
    facts = CoverageFacts(**{field.name: row.pop(field.name) for field in fields(CoverageFacts)})
    return ChannelCoverage(**row, status=status_of(facts))


class CoverageLedger:
    """Reads the ledger; landing writes it. Works for the system and, through its subscriptions, for a tenant."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def of(self, channel_id: ChannelId, *, most_gaps: int = 1000) -> Coverage | None:
        """The channel's coverage with its newest gaps first; None before the first page has landed."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(COVERAGE, channel_id, most_gaps)
        if row is None:
            return None
        return Coverage(MessageId(row["floor_id"]), MessageId(row["newest_id"]), row["verified_at"], id_ranges(row["gaps"]))


def id_ranges(gaps: Iterable[Any]) -> tuple[IdRange, ...]:
    """PostgreSQL's ranges end before their upper bound."""
    return tuple(IdRange(MessageId(gap.lower), MessageId(gap.upper - 1)) for gap in gaps)
