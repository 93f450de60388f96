"""The alerts of a tenant and those of the person who asks, each with its post as the tenant sees it now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.timestamps import MomentCursor
from telegram_assistant.domain.watches.watch import AlertKind, AlertSeverity, WatchKind
from telegram_assistant.stores.postgres.database import TenantTransactions

SHOWN_LETTERS = 1000
MAX_COUNTED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert. Title and text are empty if the tenant does not see the channel or the post any more."""

    alert_id: UUID
    watch_id: UUID | None
    """None for a story that the person follows."""
    watch: str
    kind: AlertKind
    severity: AlertSeverity
    channel_id: ChannelId
    message_id: MessageId | None
    """None for a silence, which is about no post."""
    happened_at: datetime
    created_at: datetime
    seen_at: datetime | None
    seen_by: str | None
    channel: str
    username: str | None
    text: str
    posted_at: datetime | None
    watch_kind: WatchKind | None
    watch_query: str

    @property
    def post_id(self) -> PostId | None:
        return None if self.message_id is None else PostId(self.channel_id, self.message_id)


class Alerts:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def newest(
        self,
        *,
        limit: int = 50,
        watch_id: UUID | None = None,
        unread_only: bool = False,
        after: MomentCursor | None = None,
    ) -> tuple[Alert, ...]:
        place = (after.at, after.item_id) if after else (None, None)
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(NEWEST, limit, watch_id, unread_only, *place)
        return tuple(map(alert_in, rows))

    async def unread(self, *, limit: int) -> tuple[tuple[Alert, ...], int]:
        """The newest alerts that nobody has seen, and how many there are, as far as it is worth counting."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(UNREAD, limit)
        return tuple(map(alert_in, rows)), rows[0]["unread"] if rows else 0

    async def by_event(
        self,
        *,
        limit: int = 50,
        watch_id: UUID | None = None,
        unread_only: bool = False,
        after: MomentCursor | None = None,
    ) -> tuple[Alert, ...]:
        """Like `newest`, by the time of what has happened."""
        place = (after.at, after.item_id) if after else (None, None)
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(BY_EVENT, limit, watch_id, unread_only, *place)
        return tuple(map(alert_in, rows))

    async def some(self, alert_ids: Sequence[UUID]) -> dict[UUID, Alert]:
        """Those of these alerts that exist."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(f"{ALERTS} WHERE a.alert_id = ANY ($1::uuid[])", list(alert_ids))
        return {row["alert_id"]: alert_in(row) for row in rows}

    async def mark_seen(self, alert_ids: Sequence[UUID] | None, *, by: str, until: datetime) -> int:
        """Marks these alerts, or all of them, as far as they were raised until then.

        Returns how many were unread.
        """
        async with self._transactions.begin() as connection:
            done = await connection.execute(SEE, None if alert_ids is None else list(alert_ids), by, until)
        return int(done.rpartition(" ")[2])

    async def count_unread(self) -> int:
        """As far as it is worth counting."""
        async with self._transactions.begin() as connection:
            count: int = await connection.fetchval(COUNT_UNREAD)
        return count


def alert_in(row: asyncpg.Record) -> Alert:
    """Reads a row selected with ALERTS."""
    return Alert(
        alert_id=row["alert_id"],
        watch_id=row["watch_id"],
        watch=row["watch"] or "",
        kind=AlertKind(row["kind"]),
        severity=AlertSeverity(row["severity"]),
        channel_id=ChannelId(row["channel_id"]),
        message_id=None if row["message"] is None else MessageId(row["message"]),
        happened_at=row["happened_at"],
        created_at=row["created_at"],
        seen_at=row["seen_at"],
        seen_by=row["seen_by"],
        channel=row["title"] or "",
        username=row["username"],
        text=row["text"] or "",
        posted_at=row["posted_at"],
        watch_kind=WatchKind(row["watch_kind"]) if row["watch_kind"] else None,
        watch_query=row["watch_query"] or "",
    )


ALERTS = f"""
SELECT a.*, w.name AS watch, w.kind AS watch_kind, w.query AS watch_query, c.title, c.username, p.text,
    p.posted_at
FROM alerts a
LEFT JOIN watches w USING (tenant_id, watch_id)
LEFT JOIN LATERAL (SELECT title, username FROM channels WHERE channel_id = a.channel_id) c ON true
LEFT JOIN LATERAL (
    SELECT left(text, {SHOWN_LETTERS}) AS text, posted_at FROM posts
    WHERE channel_id = a.channel_id AND message_id = a.message) p ON true
"""

NEWEST = f"""
{ALERTS}
WHERE ($2::uuid IS NULL OR a.watch_id = $2) AND (NOT $3 OR a.seen_at IS NULL)
  AND ($4::timestamptz IS NULL OR (a.created_at, a.alert_id) < ($4, $5::uuid))
ORDER BY a.created_at DESC, a.alert_id DESC LIMIT $1
"""

COUNT_UNREAD = f"SELECT count(*) FROM (SELECT FROM alerts WHERE seen_at IS NULL LIMIT {MAX_COUNTED}) unread"

UNREAD = f"""
SELECT newest.*, ({COUNT_UNREAD}) AS unread
FROM ({ALERTS} WHERE a.seen_at IS NULL ORDER BY a.created_at DESC, a.alert_id DESC LIMIT $1) newest
ORDER BY newest.created_at DESC, newest.alert_id DESC
"""

BY_EVENT = NEWEST.replace("a.created_at", "a.happened_at")

SEE = """
UPDATE alerts SET seen_at = now(), seen_by = $2
WHERE seen_at IS NULL AND created_at <= $3 AND ($1::uuid[] IS NULL OR alert_id = ANY ($1))
"""
