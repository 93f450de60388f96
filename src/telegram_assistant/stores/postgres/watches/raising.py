"""Writes alerts and their deliveries: each watch tells of a story once, whichever of its posts came first.

The rule is a tenant's own, so a writer locks groups of tenants and nobody else. Under the lock it reads which
posts are one story now, and of which of them the watches have told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from typing import NamedTuple
from uuid import UUID

from telegram_assistant.stores.postgres.database import Connection, SystemTransactions

ALERTING = 42_001
"""The class of the locks. The lock of the same number was the only one in earlier versions: writers share it,
so that a worker of such a version waits for them, and they for it."""
NEIGHBOURS, GROUPS = 64, 16_384
"""Tenants with neighbouring numbers share a lock, so that a writer of many alerts takes few locks. There are
many more locks than one writer takes: its alerts may be of tenants that are far from each other."""
AT_ONCE = 250
"""Alerts that one transaction writes, and at most as many locks. Others who write for the same tenants wait
for its end."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened, with the watches that ask for it."""

    channel_id: int
    message_id: int | None
    kind: str
    subject: str | None
    """None: a new post, whose story decides."""
    at: datetime
    tenants: Sequence[int]
    watches: Sequence[UUID]


class _Row(NamedTuple):
    """An alert to write; sorted as they are written."""

    tenant_id: int
    watch_id: UUID
    at: datetime
    place: int


async def fetch_occurrences(connection: Connection, query: str, *arguments: object) -> list[Occurrence]:
    """Runs a query that ends with OCCURRENCES."""
    return [Occurrence(**row) for row in await connection.fetch(query, *arguments)]


async def raise_occurrences(transactions: SystemTransactions, occurrences: Sequence[Occurrence]) -> int:
    """Writes the alerts of watches that have not told of the same story. Returns how many are new.

    Each transaction writes for some tenants. One that is lost is repeated with the whole batch.
    """
    rows = sorted(
        _Row(tenant_id, watch_id, occurrence.at, place)
        for place, occurrence in enumerate(occurrences, 1)
        for tenant_id, watch_id in zip(occurrence.tenants, occurrence.watches, strict=True)
    )
    alert_count = 0
    for some in batched(rows, AT_ONCE):
        tenants = [row.tenant_id for row in some]
        async with transactions.begin() as connection:
            await connection.execute(LOCK, tenants)
            alert_count += await connection.fetchval(
                RAISE,
                [occurrence.channel_id for occurrence in occurrences],
                [occurrence.message_id for occurrence in occurrences],
                [occurrence.kind for occurrence in occurrences],
                [occurrence.subject for occurrence in occurrences],
                [occurrence.at for occurrence in occurrences],
                [row.place for row in some],
                tenants,
                [row.watch_id for row in some],
            )
    return alert_count


OCCURRENCES = """
SELECT channel_id, message_id, kind, subject, at, array_agg(tenant_id) AS tenants,
    array_agg(watch_id) AS watches
FROM matches GROUP BY channel_id, message_id, kind, subject, at
"""

# Sorted: two writers never wait for each other in a circle.
LOCK_TENANTS = f"""
SELECT pg_advisory_xact_lock_shared({ALERTING}), pg_advisory_xact_lock({ALERTING}, l.number)
FROM (SELECT DISTINCT (t / {NEIGHBOURS} % {GROUPS})::int AS number FROM unnest({{tenants}}) t ORDER BY 1) l
"""
LOCK = LOCK_TENANTS.format(tenants="$1::bigint[]")

# Writes what the relations `occurred` (with a place for each) and `wanted` (alerts of these places) hold,
# except about posts and stories of which the watch has told: the post may have been matched before it was
# grouped, the first post of the story may have come late, and its id may be another one now. Everything that
# depends on the post alone is looked up once for each post. EXCEPT compares sets in one pass; a join might
# compare each with each.
WRITE = """
sizes AS (
    SELECT place, count(*) AS watches, min(tenant_id) AS first_tenant, max(tenant_id) AS last_tenant,
        array_agg(DISTINCT tenant_id) AS tenants
    FROM wanted GROUP BY place
),
about AS MATERIALIZED (
    SELECT o.place, o.channel_id, o.message_id, o.kind, o.at, z.watches, z.first_tenant, z.last_tenant,
        z.tenants, coalesce(o.subject, (
            SELECT subject_of(to_tsvector('russian', p.text), p.channel_id, p.message_id, p.grouped_id)
            FROM posts p WHERE p.channel_id = o.channel_id AND p.message_id = o.message_id)) AS subject,
        (SELECT s.story_id FROM story_posts s
            WHERE s.channel_id = o.channel_id AND s.message_id = o.message_id AND s.link IS NOT NULL
                AND o.kind IN ('posted', 'grown')) AS story_id
    FROM occurred o JOIN sizes z ON z.place = o.place
),
untold AS (
    SELECT place, tenant_id, watch_id FROM wanted
    EXCEPT
    SELECT a.place, t.tenant_id, t.watch_id
    FROM about a CROSS JOIN LATERAL (
        SELECT a.channel_id, a.message_id WHERE a.kind IN ('posted', 'grown')
        UNION
        SELECT m.channel_id, m.message_id FROM story_posts m WHERE m.story_id = a.story_id OFFSET 0) m
    CROSS JOIN LATERAL (
        SELECT t.tenant_id, t.watch_id FROM alerts t
        WHERE a.watches > 50 AND t.channel_id = m.channel_id AND t.message = m.message_id
            AND t.tenant_id BETWEEN a.first_tenant AND a.last_tenant AND t.kind = a.kind
        UNION ALL
        SELECT t.tenant_id, t.watch_id FROM alerts t
        WHERE a.watches <= 50 AND t.channel_id = m.channel_id AND t.message = m.message_id
            AND t.tenant_id = ANY (a.tenants) AND t.kind = a.kind OFFSET 0) t
),
in_force AS (
    SELECT u.tenant_id, u.watch_id, a.kind, a.subject, a.channel_id, a.message_id, w.severity, a.at,
        coalesce(a.story_id::text, a.subject) AS story
    FROM untold u JOIN about a ON a.place = u.place AND a.subject IS NOT NULL
    CROSS JOIN LATERAL (
        SELECT w.severity FROM watches w
        WHERE w.tenant_id = u.tenant_id AND w.watch_id = u.watch_id AND w.paused_at IS NULL
            AND w.begins_at <= a.at OFFSET 0) w
    CROSS JOIN LATERAL (
        SELECT 1 FROM subscriptions s
        WHERE s.tenant_id = u.tenant_id AND s.channel_id = a.channel_id AND s.active OFFSET 0) s
),
of_stories AS (
    SELECT DISTINCT ON (tenant_id, watch_id, kind, story) * FROM in_force
    ORDER BY tenant_id, watch_id, kind, story, at, channel_id, message_id
),
raised AS (
    INSERT INTO alerts (tenant_id, watch_id, kind, subject, channel_id, message, severity, happened_at)
    SELECT DISTINCT ON (tenant_id, watch_id, kind, subject) tenant_id, watch_id, kind, subject, channel_id,
        message_id, severity, at
    FROM of_stories ORDER BY tenant_id, watch_id, kind, subject, at, channel_id, message_id
    ON CONFLICT (tenant_id, watch_id, kind, subject) DO NOTHING
    RETURNING tenant_id, watch_id, alert_id, severity
),
queued AS (
    INSERT INTO deliveries (tenant_id, receiver_id, alert_id, due_at)
    SELECT a.tenant_id, r.receiver_id, a.alert_id,
           CASE WHEN a.severity = 'critical' THEN now()
               ELSE quiet_until(now(), w.quiet_from, w.quiet_until, w.zone) END
    FROM raised a CROSS JOIN LATERAL (
        SELECT * FROM watches w WHERE w.tenant_id = a.tenant_id AND w.watch_id = a.watch_id
            AND w.receivers <> '{}' OFFSET 0) w
    JOIN receivers r ON r.tenant_id = a.tenant_id AND r.receiver_id = ANY (w.receivers)
        AND r.confirmed_at IS NOT NULL
    ORDER BY a.tenant_id, r.receiver_id, a.alert_id
)
SELECT count(*) FROM raised
"""
RAISE = f"""
-- arrays, one element per occurrence: $1 channel, $2 message, $3 kind, $4 subject, $5 time;
-- one per alert: $6 place of its occurrence, $7 tenant, $8 watch
WITH occurred AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::timestamptz[])
        WITH ORDINALITY AS o(channel_id, message_id, kind, subject, at, place)
),
wanted AS MATERIALIZED (
    SELECT * FROM unnest($6::bigint[], $7::bigint[], $8::uuid[]) AS n(place, tenant_id, watch_id)
),
{WRITE}
"""

CLAIM = """
SELECT fanout_id FROM alert_fanouts WHERE due_at <= now() ORDER BY due_at, fanout_id LIMIT 1
FOR UPDATE SKIP LOCKED
"""
POSTPONE = """
UPDATE alert_fanouts
SET attempts = attempts + 1, due_at = now() + least(2 ^ attempts, 600) * interval '1 second'
WHERE fanout_id = $1
"""
LOCK_FANOUT = LOCK_TENANTS.format(tenants="(SELECT tenants FROM alert_fanouts WHERE fanout_id = $1)")
RAISE_FANOUT = f"""
-- $1 fan-out
WITH fanout AS (DELETE FROM alert_fanouts WHERE fanout_id = $1 RETURNING *),
occurred AS (
    SELECT channel_id, message_id, kind, subject, happened_at AS at, 1::bigint AS place FROM fanout
),
wanted AS MATERIALIZED (
    SELECT 1::bigint AS place, n.tenant_id, n.watch_id FROM fanout CROSS JOIN LATERAL
        unnest(tenants, watches) AS n(tenant_id, watch_id)
),
{WRITE}
"""
