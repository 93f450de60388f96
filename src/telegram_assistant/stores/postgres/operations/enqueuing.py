"""Enqueues due work: one row for each tenant or person that a kind of work is for, and one at a time.

Work that still waits is not enqueued again, so nothing piles up. Much work that is enqueued at once becomes
due over some time, by the jitter of its tenant.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from telegram_assistant.domain.operations.due_work import MAX_ROWS, MOST_AHEAD, WorkUrgency
from telegram_assistant.stores.postgres.database import SystemTransactions

SPREAD_FROM = 20
"""So much work of a kind is due at once without any spread: one person's installation has none."""
EACH = timedelta(seconds=0.1)
"""How long a piece takes: many are spread over as much time as they need."""


class Audience(StrEnum):
    """The tenants, none of them suspended, that a kind of work is for."""

    FOLLOWING = "following"
    """They follow channels."""
    WITHOUT_TRENDS = "without_trends"
    """They follow channels, and the trends of a day of the last week are not kept."""
    OLD_RECORDS = "old_records"
    """They have channels whose records were counted a day ago or never; those that follow a channel since
    yesterday, every hour.
    """
    INTERESTED = "interested"
    """Their people have saved posts from which nothing was learnt yet, or learnt interests, which fade."""
    SILENCE_WATCHES = "silence_watches"
    STORY_WATCHES = "story_watches"
    MEANING_WATCHES = "meaning_watches"
    FOLLOWED_STORIES = "followed_stories"


class WorkEnqueuer:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def enqueue(self, kind: str, urgency: WorkUrgency) -> int:
        """Enqueues work of the whole installation. Returns how much is new."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(ENQUEUE, kind, urgency)
        return int(status.rpartition(" ")[2])

    async def enqueue_for_tenants(
        self, kind: str, urgency: WorkUrgency, audience: Audience, *, now: datetime, spread: timedelta
    ) -> int:
        """Enqueues work of each of these tenants; it becomes due within `spread`. Returns how much is new."""
        count, after, size = 0, 0, MAX_ROWS
        while size == MAX_ROWS:
            async with self._transactions.begin() as connection:
                row = await connection.fetchrow(
                    FOR_TENANTS[audience],
                    kind,
                    urgency,
                    after,
                    MAX_ROWS,
                    now,
                    spread,
                    SPREAD_FROM,
                    EACH,
                )
            assert row is not None
            count, after, size = count + row["enqueued"], row["last"] or 0, row["size"]
        return count

    async def enqueue_digests(self, kind: str, urgency: WorkUrgency) -> int:
        """Enqueues people with a new plan for digests, and those who changed theirs. Returns how many."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(DIGESTS, kind, urgency, MAX_ROWS)
        return int(status.rpartition(" ")[2])

    async def spread_digests(self, kind: str) -> int:
        """Lets digests be prepared before their hour, where many have the same one: each tenant's at its own
        time, and as early as all of them take. Returns how many.
        """
        async with self._transactions.begin() as connection:
            status = await connection.execute(SPREAD, kind, MOST_AHEAD, MAX_ROWS, SPREAD_FROM, EACH)
        return int(status.rpartition(" ")[2])


JITTER = "(hashint8({tenant_id}) & 1023) / 1024.0"

ENQUEUE = """
INSERT INTO due_work (kind, urgency) VALUES ($1, $2) ON CONFLICT ON CONSTRAINT due_work_once DO NOTHING
"""

_OF_TENANT = "SELECT 1 FROM {table} x WHERE x.tenant_id = t.tenant_id AND"
_FOLLOWS = f"EXISTS ({_OF_TENANT.format(table='subscriptions')} x.active)"
_WATCHES = f"EXISTS ({_OF_TENANT.format(table='watches')} x.kind = '{{kind}}' AND x.paused_at IS NULL)"

_CONDITIONS = {
    Audience.FOLLOWING: _FOLLOWS,
    Audience.WITHOUT_TRENDS: f"""
        {_FOLLOWS} AND EXISTS (
            SELECT 1 FROM generate_series(1, 7) AS ago WHERE NOT EXISTS (
                {_OF_TENANT.format(table="trend_days")}
                    x.day = ($5::timestamptz AT TIME ZONE 'UTC')::date - ago::int))
    """,
    Audience.OLD_RECORDS: """
        EXISTS (
            SELECT 1 FROM subscriptions s LEFT JOIN channel_records r USING (tenant_id, channel_id)
            WHERE s.tenant_id = t.tenant_id AND s.active AND (r.counted_at IS NULL
                OR r.counted_at < s.created_at OR r.counted_at <= $5::timestamptz - CASE
                    WHEN s.created_at > $5::timestamptz - interval '1 day' THEN interval '1 hour'
                    ELSE interval '1 day' END))
    """,
    Audience.INTERESTED: f"""
        (EXISTS ({_OF_TENANT.format(table="saved_posts")} x.learnt_at IS NULL)
            OR EXISTS ({_OF_TENANT.format(table="interests")} x.source = 'learnt'))
    """,
    Audience.SILENCE_WATCHES: _WATCHES.format(kind="silence"),
    Audience.STORY_WATCHES: _WATCHES.format(kind="story"),
    Audience.MEANING_WATCHES: _WATCHES.format(kind="meaning"),
    Audience.FOLLOWED_STORIES: f"EXISTS ({_OF_TENANT.format(table='story_marks')} x.mark = 'followed')",
}

_FOR_TENANTS = """
-- $1 kind, $2 urgency, $3 tenant after which, $4 most tenants, $5 now, $6 spread, $7 how many are not spread,
-- $8 how long each takes
WITH chosen AS MATERIALIZED (
    SELECT t.tenant_id FROM tenants t
    WHERE t.suspended_at IS NULL AND t.tenant_id > $3 AND {condition} AND $5::timestamptz IS NOT NULL
    ORDER BY t.tenant_id LIMIT $4
),
enqueued AS (
    INSERT INTO due_work (kind, urgency, tenant_id, jitter, due_at)
    SELECT $1, $2, c.tenant_id, {jitter},
        now() + CASE WHEN n.size > $7 THEN {jitter} * least($6::interval, n.size * $8::interval)
            ELSE interval '0' END
    FROM chosen c CROSS JOIN (SELECT count(*) AS size FROM chosen) n
    ON CONFLICT ON CONSTRAINT due_work_once DO NOTHING RETURNING 1
)
SELECT (SELECT count(*) FROM chosen) AS size, (SELECT max(tenant_id) FROM chosen) AS last,
    (SELECT count(*) FROM enqueued) AS enqueued
"""

FOR_TENANTS = {
    audience: _FOR_TENANTS.format(condition=condition, jitter=JITTER.format(tenant_id="c.tenant_id"))
    for audience, condition in _CONDITIONS.items()
}

# A plan may have been written before the work was claimed, and seen only after: look again for a minute.
DIGESTS = f"""
INSERT INTO due_work AS d (kind, urgency, tenant_id, user_id, jitter)
SELECT $1, $2, p.tenant_id, p.user_id, {JITTER.format(tenant_id="p.tenant_id")}
FROM digest_plans p
JOIN memberships m ON m.tenant_id = p.tenant_id AND m.user_id = p.user_id
JOIN tenants t ON t.tenant_id = p.tenant_id AND t.suspended_at IS NULL
LEFT JOIN due_work w ON w.kind = $1 AND w.tenant_id = p.tenant_id AND w.user_id = p.user_id
WHERE p.times <> '{{}}' AND (w.work_id IS NULL
    OR (w.leased_by IS NULL AND NOT w.is_ready AND w.scheduled_at < p.changed_at + interval '1 minute'))
LIMIT $3
ON CONFLICT ON CONSTRAINT due_work_once DO UPDATE SET due_at = now(), moment = NULL, scheduled_at = now()
WHERE d.leased_by IS NULL AND NOT d.is_ready
"""

# Only work whose time is its hour is moved, so each is moved once.
SPREAD = """
-- $1 kind, $2 how long ahead at most, $3 how many, $4 how many are not spread, $5 how long each takes
WITH soon AS (
    SELECT work_id, moment, jitter, count(*) OVER (PARTITION BY moment) AS size FROM due_work
    WHERE kind = $1 AND NOT is_ready AND leased_by IS NULL AND moment = due_at
        AND due_at BETWEEN now() AND now() + $2::interval
    LIMIT $3
)
UPDATE due_work w
SET due_at = greatest(now(), s.moment - (1 - s.jitter) * least($2::interval, s.size * $5::interval))
FROM soon s
WHERE w.work_id = s.work_id AND s.size > $4 AND NOT w.is_ready AND w.leased_by IS NULL
"""
