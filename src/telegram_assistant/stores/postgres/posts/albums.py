"""Albums: collects their items as they are stored, and announces each album when no more items are expected.

A later message on a verified page closes an album, and so does a minute without a new item. A late item opens
it again, as a new revision.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lane import lane_of
from telegram_assistant.events import AlbumParsed
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.pipeline.notices import QueuedNotice, write_notices
from telegram_assistant.stores.postgres.posts.rows import StoredPost

SETTLED = timedelta(seconds=60)
MAX_AT_ONCE = 500
OVERDUE = timedelta(minutes=15)
"""How long a closed album waits for the analysis of all its items."""
GIVEN_UP = timedelta(days=1)

GATHER = """
INSERT INTO media_groups AS g (channel_id, grouped_id, message_ids, posted_at, newest_item_at)
SELECT channel_id, grouped_id, array_agg(message_id ORDER BY message_id), min(posted_at), max(stored_at)
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::timestamptz[])
    AS n(channel_id, grouped_id, message_id, posted_at, stored_at)
GROUP BY channel_id, grouped_id ORDER BY channel_id, grouped_id
ON CONFLICT (channel_id, grouped_id) DO UPDATE
SET message_ids = ARRAY(SELECT DISTINCT unnest(g.message_ids || excluded.message_ids) ORDER BY 1),
    posted_at = least(g.posted_at, excluded.posted_at),
    newest_item_at = greatest(g.newest_item_at, excluded.newest_item_at),
    revision = g.revision + (g.closed_at IS NOT NULL)::int, closed_at = NULL
WHERE NOT g.message_ids @> excluded.message_ids
"""

CLOSE = """
WITH due AS (
    SELECT g.channel_id, g.grouped_id FROM media_groups g LEFT JOIN coverage v ON v.channel_id = g.channel_id
    WHERE g.closed_at IS NULL
      AND (g.newest_item_at <= $1::timestamptz - $2::interval
           OR v.verified @> int8range(g.message_ids[1], g.message_ids[cardinality(g.message_ids)] + 1, '[]'))
    ORDER BY g.newest_item_at LIMIT $3 FOR UPDATE OF g SKIP LOCKED
)
UPDATE media_groups g SET closed_at = $1 FROM due
WHERE g.channel_id = due.channel_id AND g.grouped_id = due.grouped_id
RETURNING g.channel_id, g.grouped_id, g.message_ids, g.posted_at, g.revision
"""

WAITING = """
SELECT channel_id, grouped_id, message_ids, posted_at, revision, closed_at FROM media_groups
WHERE closed_at IS NOT NULL AND assembled_revision < revision AND closed_at BETWEEN $1 AND $2
    ORDER BY closed_at LIMIT $3
"""


class Albums:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def gather(self, posts: Sequence[StoredPost]) -> None:
        """Adds the album items among these posts to their albums. Idempotent."""
        items = [post for post in posts if post.post.grouped_id is not None and post.deleted_at is None]
        if not items:
            return
        columns = (
            [item.post.channel_id for item in items],
            [item.post.grouped_id for item in items],
            [item.post.message_id for item in items],
            [item.post.posted_at for item in items],
            [item.stored_at for item in items],
        )
        async with self._transactions.begin() as connection:
            await connection.execute(GATHER, *columns)

    async def close(self, now: datetime) -> int:
        """Announces the albums that are presumably complete; returns how many."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(CLOSE, now, SETTLED, MAX_AT_ONCE)
            await write_notices(connection, [_album_notice(row, now, occurred_at=now) for row in rows])
        return len(rows)

    async def announce_overdue(self, now: datetime) -> int:
        """Announces again the albums without a summary after OVERDUE:
        they are summarised from the items analysed so far. Returns how many.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(WAITING, now - GIVEN_UP, now - OVERDUE, MAX_AT_ONCE)
            notices = [
                _album_notice(
                    row, now, occurred_at=row["closed_at"].astimezone(UTC) + OVERDUE, is_overdue=True
                )
                for row in rows
            ]
            await write_notices(connection, notices)
        return len(rows)


def _album_notice(
    row: asyncpg.Record, now: datetime, *, occurred_at: datetime, is_overdue: bool = False
) -> QueuedNotice:
    first_post_id = PostId(ChannelId(row["channel_id"]), MessageId(row["message_ids"][0]))
    facts = {
        "grouped_id": row["grouped_id"],
        "message_ids": tuple(row["message_ids"]),
        "is_overdue": is_overdue,
    }
    return QueuedNotice(
        AlbumParsed.about(
            first_post_id,
            row["revision"],
            occurred_at=occurred_at,
            trace_id=trace_of(first_post_id, 1),
            **facts,
        ),
        lane_of(row["posted_at"], now),
    )
