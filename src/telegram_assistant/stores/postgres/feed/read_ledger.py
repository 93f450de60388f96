"""Posts that a person has read, as ranges of message ids per channel, with the last changes to undo."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.stores.postgres.database import Connection, PersonTransactions
from telegram_assistant.stores.postgres.feed.person_feed import SCOPE, ReadingScope

MAX_UNDONE = 20

_CHANNEL_RANGES = (
    "SELECT w.channel_id, w.ids::int8multirange AS ids "
    "FROM unnest($1::bigint[], $2::text[]) AS w(channel_id, ids)"
)
# $3 the moment of the page: what came later was not on it, and posts that are found late stay unread.
_EVERYTHING = """
SELECT p.channel_id, range_agg(int8range(p.message_id, p.message_id + 1)) AS ids
FROM scope s JOIN posts p ON p.channel_id = s.channel_id
WHERE s.created_at <= $3 AND p.stored_at <= $3 AND NOT p.message_id <@ s.read GROUP BY 1
"""
_MARK_READ = """
changes AS MATERIALIZED (
    SELECT w.channel_id, w.ids - coalesce(l.read, '{}') AS changed FROM wanted w LEFT
    JOIN read_ledger l ON l.channel_id = w.channel_id
),
written AS (
    INSERT INTO read_ledger (channel_id, read) SELECT channel_id, changed FROM changes
    WHERE NOT isempty(changed)
    ON CONFLICT (tenant_id, user_id, channel_id) DO UPDATE SET read = read_ledger.read + excluded.read
)
"""
_MARK_UNREAD = """
changes AS MATERIALIZED (SELECT w.channel_id, w.ids * l.read AS changed FROM wanted w
    JOIN read_ledger l ON l.channel_id = w.channel_id),
written AS (UPDATE read_ledger l SET read = l.read - c.changed FROM changes c
    WHERE c.channel_id = l.channel_id)
"""
_NOTE = """
INSERT INTO read_actions (is_read, channel_ids, changed)
SELECT {is_read}, array_agg(channel_id), array_agg(changed) FROM changes WHERE NOT isempty(changed)
HAVING count(*) > 0
RETURNING (SELECT sum(upper(r) - lower(r)) FROM changes c CROSS JOIN LATERAL unnest(c.changed) r)::int
"""

READ = f"WITH wanted AS MATERIALIZED ({_CHANNEL_RANGES}), {_MARK_READ} {_NOTE.format(is_read='true')}"
UNREAD = f"WITH wanted AS MATERIALIZED ({_CHANNEL_RANGES}), {_MARK_UNREAD} {_NOTE.format(is_read='false')}"
READ_ALL = (
    f"WITH {SCOPE}, wanted AS MATERIALIZED ({_EVERYTHING}), {_MARK_READ} {_NOTE.format(is_read='true')}"
)
FORGET = (
    "DELETE FROM read_actions WHERE action_id <= (SELECT action_id FROM read_actions "
    f"ORDER BY action_id DESC OFFSET {MAX_UNDONE} LIMIT 1)"
)
UNDO = """
WITH last AS (DELETE FROM read_actions WHERE action_id = (SELECT max(action_id) FROM read_actions)
    RETURNING is_read, channel_ids, changed),
parts AS MATERIALIZED (SELECT is_read, p.channel_id, p.changed
    FROM last, unnest(last.channel_ids, last.changed) AS p(channel_id, changed)),
written AS (
    UPDATE read_ledger l SET read = CASE WHEN p.is_read THEN l.read - p.changed ELSE l.read + p.changed END
    FROM parts p WHERE p.channel_id = l.channel_id
)
SELECT sum(upper(r) - lower(r))::int FROM parts p CROSS JOIN LATERAL unnest(p.changed) r
"""


class ReadLedger:
    """A store of one person in one tenant. Every method returns how many messages have changed."""

    def __init__(self, transactions: PersonTransactions) -> None:
        self._transactions = transactions

    async def mark_read(self, messages: Mapping[ChannelId, Sequence[MessageId]]) -> int:
        return await self._mark(READ, messages)

    async def mark_unread(self, messages: Mapping[ChannelId, Sequence[MessageId]]) -> int:
        return await self._mark(UNREAD, messages)

    async def mark_all_read(self, scope: ReadingScope, *, until: datetime) -> int:
        """Marks everything that was stored by then. Later posts stay unread."""
        async with self._transactions.begin() as connection:
            return await _record_change(connection, READ_ALL, scope.folder, scope.channel_id, until)

    async def undo(self) -> int:
        """Undoes the last of these changes that is not undone yet."""
        async with self._transactions.begin() as connection:
            return await connection.fetchval(UNDO) or 0

    async def _mark(self, query: str, messages: Mapping[ChannelId, Sequence[MessageId]]) -> int:
        ranges = [
            "{" + ",".join(f"[{message_id},{message_id + 1})" for message_id in ids) + "}"
            for ids in messages.values()
        ]
        async with self._transactions.begin() as connection:
            return await _record_change(connection, query, list(messages), ranges)


async def _record_change(connection: Connection, query: str, *arguments: object) -> int:
    changed_count = await connection.fetchval(query, *arguments) or 0
    await connection.execute(FORGET)
    return changed_count
