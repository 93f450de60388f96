"""Notices: events that are written in the transaction of the change they report, and announced afterwards.

The outbox is for post revisions, which it keeps until they have passed the pipeline. Notices are for every
other event that originates in PostgreSQL: they are kept for a day, and announced again if Redis has lost
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.events import EVENTS, Event
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions
from telegram_assistant.streams.notices import Notice, PublishNotices

_EVENTS = {event.NAME: event for event in EVENTS}

# The same event is written once. If its payload has changed, it is announced again.
WRITE = """
INSERT INTO notices AS n (event_id, event, lane, channel_id, payload)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[])
ON CONFLICT (event_id) DO UPDATE SET payload = excluded.payload, created_at = now(), announced_at = NULL
WHERE n.payload <> excluded.payload
"""

ANNOUNCE = """
UPDATE notices SET announced_at = clock_timestamp()
WHERE event_id = ANY (ARRAY(
    SELECT event_id FROM notices WHERE announced_at IS NULL AND lane = $1
    ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING event, lane, channel_id, payload
"""

AGAIN_ALL = "UPDATE notices SET announced_at = NULL WHERE announced_at IS NOT NULL"
AGAIN_RECENT = (
    "UPDATE notices SET announced_at = NULL WHERE announced_at > (SELECT max(announced_at) "
    "FROM notices) - interval '10 minutes'"
)


@dataclass(frozen=True, slots=True)
class QueuedNotice:
    """An event and its lane."""

    event: Event
    lane: Lane


async def write_notices(connection: Connection, notices: Sequence[QueuedNotice]) -> None:
    """Writes notices inside the transaction of the change they report. For stores only."""
    unique = {notice.event.event_id: notice for notice in notices}.values()
    await connection.execute(
        WRITE,
        [notice.event.event_id for notice in unique],
        [notice.event.NAME for notice in unique],
        [notice.lane.value for notice in unique],
        [notice.event.channel_id for notice in unique],
        [notice.event.model_dump_json() for notice in unique],
    )


class Notices:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def announce(self, lane: Lane, publish: PublishNotices, *, limit: int) -> int:
        """Like the outbox: marks some rows, publishes them, then commits;
        a crash in between announces them again.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(ANNOUNCE, lane.value, limit)
            if rows:
                await publish(
                    [Notice(_EVENTS[row["event"]], lane, row["channel_id"], row["payload"]) for row in rows]
                )
        return len(rows)

    async def forget_old(self, *, limit: int = MAX_ROWS) -> int:
        """Deletes notices announced more than a day ago, so many at most; returns how many."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "DELETE FROM notices WHERE event_id IN (SELECT event_id FROM notices "
                "WHERE announced_at < now() - interval '1 day' LIMIT $1)",
                limit,
            )
        return int(status.rpartition(" ")[2])
