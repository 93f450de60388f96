"""Posts of followed channels by hour, and how soon they were stored;
and which of the tenant's own accounts can open a channel.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import asyncpg

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.channels.activity import (
    DAYS_OF_WEEK,
    HOURS_OF_DAY,
    MAX_COUNTED,
    ChannelActivity,
    Freshness,
    PostRhythm,
)
from telegram_assistant.domain.channels.networks import SisterChannel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.reasons import Reason, load_reason
from telegram_assistant.stores.postgres.database import TenantTransactions

RHYTHM_DAYS = 28
"""Whole weeks."""
FRESHNESS_DAYS = 7
CHANGES_DAYS = 30


@dataclass(frozen=True, slots=True)
class OpeningAccount:
    """An account of the tenant that can open a channel, or could."""

    public_id: UUID
    phone_masked: str | None
    state: AccountState
    joined: bool
    lost_at: datetime | None
    lost_reason: Reason | None


@dataclass(frozen=True, slots=True)
class SurroundedActivity:
    """The activity of a channel, the accounts that know it, and its sister channels."""

    activity: ChannelActivity | None
    """None if the tenant does not follow the channel."""
    accounts: tuple[OpeningAccount, ...]
    """The tenant's own accounts that know it, those that can open it first: others' are their own affair."""
    sisters: tuple[SisterChannel, ...]
    """Other channels of its owner that the tenant follows."""


# Row-level security keeps all of it within the tenant's window. An album is one post.
_POSTED = """
WITH followed AS MATERIALIZED (
    SELECT channel_id, created_at, greatest(visible_from, $2) AS since FROM subscriptions
    WHERE channel_id = $1 AND active
),
posted AS MATERIALIZED (
    SELECT min(p.posted_at) AS posted_at, min(p.stored_at) AS stored_at
    FROM followed f JOIN posts p ON p.channel_id = f.channel_id AND p.posted_at >= f.since
    WHERE p.kind <> 'service'
    GROUP BY p.grouped_id, CASE WHEN p.grouped_id IS NULL THEN p.message_id END
)
"""

HOURS = f"""
{_POSTED}
SELECT ((extract(isodow FROM local.at) - 1) * {HOURS_OF_DAY} + extract(hour FROM local.at))::int AS hour,
    count(*)::int AS posts
FROM posted CROSS JOIN LATERAL (SELECT posted_at AT TIME ZONE $3 AS at) local GROUP BY 1
"""

SUMMARY = f"""
-- $1 channel, $2 since, $3 freshness since, $4 promised, $5 changes since
{_POSTED},
pauses AS (SELECT extract(epoch FROM posted_at - lag(posted_at) OVER (ORDER BY posted_at)) AS seconds
    FROM posted),
delays AS (
    SELECT greatest(0, extract(epoch FROM p.stored_at - p.posted_at)) AS seconds
    FROM posted p JOIN followed f ON p.posted_at >= greatest(f.created_at, $3)
)
SELECT f.created_at AS followed_at, f.since, (SELECT count(*) FROM posted)::int AS posts, pause.median,
    pause.long,
       greatest(f.created_at, $3) AS fresh_since, delay.posts AS fresh_posts, delay.kept,
       delay.median AS delay_median, delay.slowest,
       greatest(f.created_at, $5) AS changed_since,
       (SELECT count(*) FROM post_versions v WHERE v.channel_id = f.channel_id
           AND v.replaced_at >= $5)::int AS edited,
       (SELECT count(*) FROM posts p WHERE p.channel_id = f.channel_id
           AND p.deleted_at >= $5)::int AS deleted,
       (SELECT count(*) FROM (SELECT 1 FROM posts p
           WHERE p.channel_id = f.channel_id LIMIT {MAX_COUNTED}) counted)::int AS stored_posts
FROM followed f
CROSS JOIN (
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::float8 AS median,
           percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds)::float8 AS long
    FROM pauses WHERE seconds > 0) pause
CROSS JOIN (
    SELECT count(*)::int AS posts, count(*) FILTER (WHERE seconds <= extract(epoch
        FROM $4::interval))::int AS kept,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::float8 AS median,
           max(seconds)::float8 AS slowest
    FROM delays) delay
"""

ACCOUNTS = "SELECT * FROM own_accounts_of_channel($1) ORDER BY lost_at NULLS FIRST, joined DESC, public_id"

SISTERS = """
SELECT o.channel_id, c.title FROM subscriptions s
JOIN subscriptions o ON o.tenant_id = s.tenant_id AND o.network = s.network AND o.channel_id <> s.channel_id
JOIN channels c ON c.channel_id = o.channel_id
WHERE s.channel_id = $1 AND s.active AND o.active ORDER BY o.channel_id
"""

RECENT = """
SELECT f.channel_id, r.posts FROM unnest($1::bigint[]) AS f(channel_id) CROSS JOIN LATERAL (
    SELECT count(*)::int AS posts FROM posts p WHERE p.channel_id = f.channel_id AND p.posted_at >= $2
) r
"""


class ChannelActivities:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def load_activity(
        self, channel_id: ChannelId, *, zone: ZoneInfo, promised: timedelta, now: datetime
    ) -> SurroundedActivity:
        """The last four weeks of a channel, as far as the tenant sees them."""
        since, fresh_since, changed_since = (
            now - timedelta(days=days) for days in (RHYTHM_DAYS, FRESHNESS_DAYS, CHANGES_DAYS)
        )
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(SUMMARY, channel_id, since, fresh_since, promised, changed_since)
            hours = await connection.fetch(HOURS, channel_id, since, zone.key)
            accounts = await connection.fetch(ACCOUNTS, channel_id)
            sisters = await connection.fetch(SISTERS, channel_id)
        return SurroundedActivity(
            None if row is None else _activity(row, hours, promised),
            tuple(map(_opening_account, accounts)),
            tuple(SisterChannel(ChannelId(sister["channel_id"]), sister["title"]) for sister in sisters),
        )

    async def recent(self, channel_ids: Collection[ChannelId], *, since: datetime) -> dict[ChannelId, int]:
        """How many messages each of these channels posted;
        none for a channel that the tenant does not follow.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(RECENT, list(channel_ids), since)
        return {ChannelId(row["channel_id"]): row["posts"] for row in rows}


def _activity(row: asyncpg.Record, hours: Sequence[asyncpg.Record], promised: timedelta) -> ChannelActivity:
    counts = {hour["hour"]: hour["posts"] for hour in hours}
    return ChannelActivity(
        followed_at=row["followed_at"],
        since=row["since"],
        posts=row["posts"],
        hours=tuple(
            tuple(counts.get(day * HOURS_OF_DAY + hour, 0) for hour in range(HOURS_OF_DAY))
            for day in range(DAYS_OF_WEEK)
        ),
        rhythm=None if row["median"] is None else PostRhythm(row["median"], row["long"]),
        freshness=Freshness(
            since=row["fresh_since"],
            promised=promised,
            posts=row["fresh_posts"],
            on_time=row["kept"],
            median_seconds=row["delay_median"],
            slowest_seconds=row["slowest"],
        ),
        changed_since=row["changed_since"],
        edited=row["edited"],
        deleted=row["deleted"],
        stored_posts=row["stored_posts"],
    )


def _opening_account(row: asyncpg.Record) -> OpeningAccount:
    return OpeningAccount(
        **{
            **dict(row),
            "state": AccountState(row["state"]),
            "lost_reason": load_reason(row["lost_reason"]),
        }
    )
