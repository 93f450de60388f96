"""The watches of a tenant, each with the terms by which the watches of a post are found."""

from datetime import datetime
from uuid import UUID

import asyncpg

from telegram_assistant.domain.search.query import bits_of
from telegram_assistant.domain.watches.watch import (
    RECENT_DAYS,
    TOO_WIDE,
    AlertSeverity,
    QuietHours,
    Watch,
    WatchConditions,
    WatchKind,
    WatchOptions,
    WatchTarget,
)
from telegram_assistant.errors import Rejected
from telegram_assistant.stores.postgres.database import Connection, TenantTransactions

MAX_WATCHES = 1000
"""Per tenant."""
INDEXED = (WatchKind.WORDS, WatchKind.MENTION, WatchKind.CHANGES)
"""The kinds whose watches are found by the words, channels and tags of a post."""


class Watches:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[Watch, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(LIST, None)
        return tuple(map(_watch, rows))

    async def one(self, watch_id: UUID) -> Watch | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(LIST, watch_id)
        return None if row is None else _watch(row)

    async def create(
        self,
        name: str,
        target: WatchTarget,
        options: WatchOptions,
        conditions: WatchConditions,
        *,
        created_by: str,
        begins_at: datetime | None = None,
    ) -> UUID | None:
        """Returns None if the name is taken, or the tenant already has as many as it may have.

        Raises Rejected if it would match everything.
        """
        async with self._transactions.begin() as connection:
            watch_id: UUID | None = await connection.fetchval(
                CREATE, *_values(name, target, options, conditions), created_by, begins_at
            )
            if watch_id is not None:
                await _index(connection, watch_id, target, conditions)
        return watch_id

    async def change(
        self,
        watch_id: UUID,
        name: str,
        target: WatchTarget,
        options: WatchOptions,
        conditions: WatchConditions,
    ) -> bool | None:
        """Returns False if there is no such watch, and None if the name is taken.

        The changed target applies from now on.
        """
        async with self._transactions.begin() as connection:
            if not await connection.fetchval(
                "SELECT EXISTS (SELECT 1 FROM watches WHERE watch_id = $1)", watch_id
            ):
                return False
            if await connection.fetchval(
                "SELECT EXISTS (SELECT 1 FROM watches WHERE name = $1 AND watch_id <> $2)", name, watch_id
            ):
                return None
            await connection.execute(CHANGE, *_values(name, target, options, conditions), watch_id)
            await _index(connection, watch_id, target, conditions)
        return True

    async def pause(self, watch_id: UUID, *, is_paused: bool) -> bool:
        """Returns False if there is no such watch. Events during the pause raise no alert later."""
        async with self._transactions.begin() as connection:
            return await connection.execute(PAUSE, watch_id, is_paused) == "UPDATE 1"

    async def delete(self, watch_id: UUID) -> bool:
        """Deletes the watch with its alerts, and what was still to be delivered."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "DELETE FROM deliveries d USING alerts a WHERE a.alert_id = d.alert_id AND a.watch_id = $1",
                watch_id,
            )
            await connection.execute("DELETE FROM alerts WHERE watch_id = $1", watch_id)
            await connection.fetchval("SELECT forget_watch_terms($1)", watch_id)
            return await connection.execute("DELETE FROM watches WHERE watch_id = $1", watch_id) == "DELETE 1"


async def _index(
    connection: Connection, watch_id: UUID, target: WatchTarget, conditions: WatchConditions
) -> None:
    if target.kind not in INDEXED:
        await connection.fetchval("SELECT forget_watch_terms($1)", watch_id)
        return
    words = conditions.alternatives, conditions.positives, conditions.other_terms(target.kind)
    if not await connection.fetchval("SELECT index_watch($1, $2, $3, $4)", watch_id, *words):
        raise Rejected(TOO_WIDE)


def _values(
    name: str, target: WatchTarget, options: WatchOptions, conditions: WatchConditions
) -> tuple[object, ...]:
    query = conditions.query
    return (
        name,
        target.kind.value,
        target.query,
        query.words,
        None if conditions.channel_ids is None else list(conditions.channel_ids),
        list(query.languages) or None,
        bits_of(query.has),
        list(conditions.tags) or None,
        [kind.value for kind in query.kinds] or None,
        query.with_ads,
        target.hours,
        target.posts,
        options.severity.value,
        options.quiet.begins if options.quiet else None,
        options.quiet.ends if options.quiet else None,
        options.zone,
        list(options.receivers),
    )


def _watch(row: asyncpg.Record) -> Watch:
    quiet = None if row["quiet_from"] is None else QuietHours(row["quiet_from"], row["quiet_until"])
    return Watch(
        watch_id=row["watch_id"],
        name=row["name"],
        target=WatchTarget(
            kind=WatchKind(row["kind"]), query=row["query"], hours=row["hours"], posts=row["posts"]
        ),
        options=WatchOptions(
            severity=AlertSeverity(row["severity"]),
            quiet=quiet,
            zone=row["zone"],
            receivers=tuple(row["receivers"]),
        ),
        created_by=row["created_by"],
        created_at=row["created_at"],
        paused_at=row["paused_at"],
        alerts=row["alerts"],
        recent_days=tuple(row["recent_days"]),
        unread=row["unread"],
    )


COLUMNS = (
    "name, kind, query, words, channel_ids, langs, needs, tags, kinds, with_ads, hours, posts, severity, "
    "quiet_from, quiet_until, zone, receivers"
)
WORDS = "CASE WHEN $4 <> '' THEN websearch_to_tsquery('russian', $4) END"
GIVEN = (
    f"$1, $2, $3, {WORDS}, $5::bigint[], $6::text[], $7, $8::text[], $9::text[], $10, $11, $12, $13, $14, "
    "$15, $16, $17::uuid[]"
)

ALERTS_OF_A_DAY = ", ".join(
    f"count(*) FILTER (WHERE happened_at > now() - interval '{days} days'"
    + (f" AND happened_at <= now() - interval '{days - 1} days')" if days > 1 else ")")
    for days in range(RECENT_DAYS, 0, -1)
)

LIST = f"""
SELECT w.*, coalesce(a.alerts, 0) AS alerts, coalesce(a.unread, 0) AS unread,
    coalesce(a.recent_days, array_fill(0::bigint, ARRAY[{RECENT_DAYS}])) AS recent_days
FROM watches w LEFT JOIN (
    SELECT watch_id, count(*) AS alerts, count(*) FILTER (WHERE seen_at IS NULL) AS unread,
        ARRAY[{ALERTS_OF_A_DAY}] AS recent_days FROM alerts
    GROUP BY watch_id) a USING (watch_id)
WHERE $1::uuid IS NULL OR w.watch_id = $1 ORDER BY lower(w.name), w.watch_id
"""

CREATE = f"""
INSERT INTO watches ({COLUMNS}, created_by, begins_at) SELECT {GIVEN}, $18, coalesce($19, now())
WHERE (SELECT count(*) FROM watches) < {MAX_WATCHES}
ON CONFLICT (tenant_id, name) DO NOTHING RETURNING watch_id
"""

CHANGE = f"UPDATE watches SET ({COLUMNS}) = ({GIVEN}), begins_at = now() WHERE watch_id = $18"

PAUSE = """
UPDATE watches SET paused_at = CASE WHEN $2 THEN coalesce(paused_at, now()) END,
    begins_at = CASE WHEN paused_at IS NOT NULL AND NOT $2 THEN now() ELSE begins_at END
WHERE watch_id = $1
"""
