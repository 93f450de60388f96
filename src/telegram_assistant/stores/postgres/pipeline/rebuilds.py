"""Rebuilds of projections from PostgreSQL: requested by a person, run by one process under a lease,
taken over if it dies.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.stores.postgres.database import SystemTransactions


class Projection(StrEnum):
    """A projection that can be rebuilt."""

    VECTORS = "vectors"
    GRAPH = "graph"
    TEXT = "text"
    STORIES = "stories"


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The progress of a rebuild."""

    target: str
    last: PostId | None
    done: int
    total: int
    finished_at: datetime | None
    completed_at: datetime | None
    """When the searched projection was last known to hold every post; None: it may lack some."""
    owner: str | None
    error: str


class Rebuilds:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def want(self, projection: Projection) -> None:
        """Requests a rebuild. A running one continues; a finished one starts again."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO rebuilds AS r (projection) VALUES ($1)
                ON CONFLICT (projection) DO UPDATE
                    SET wanted_at = now(), owner = NULL, leased_until = '-infinity', target = '',
                        channel_id = 0,
                    message_id = 0, done = 0, total = 0, finished_at = NULL, error = ''
                        WHERE r.finished_at IS NOT NULL
                """,
                projection.value,
            )

    async def claim(self, projection: Projection, *, owner: str, lease: timedelta) -> Rebuild | None:
        """Claims the requested rebuild. Returns None if none is requested or another process runs it."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                f"""
                UPDATE rebuilds SET owner = $2, leased_until = now() + $3::interval
                WHERE projection = $1 AND finished_at IS NULL AND (leased_until < now() OR owner = $2)
                    RETURNING {COLUMNS}
                """,
                projection.value,
                owner,
                lease,
            )
        return _rebuild(row) if row else None

    async def begin(self, projection: Projection, *, owner: str, target: str, total: int) -> None:
        """Starts from the first post."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE rebuilds SET target = $3, total = $4, done = 0, channel_id = 0, message_id = 0 "
                "WHERE projection = $1 AND owner = $2",
                projection.value,
                owner,
                target,
                total,
            )

    async def note(
        self, projection: Projection, *, owner: str, last_post_id: PostId, post_count: int, lease: timedelta
    ) -> bool:
        """Records progress: the last post, and `post_count` more posts.

        Returns False if another process has taken over.
        """
        async with self._transactions.begin() as connection:
            noted_text = await connection.execute(
                """
                -- $1 projection, $2 owner, $3 channel and $4 message of the last post, $5 posts done, $6
                -- lease
                UPDATE rebuilds SET channel_id = $3, message_id = $4, done = done + $5, leased_until = now()
                    + $6::interval, error = ''
                WHERE projection = $1 AND owner = $2 AND finished_at IS NULL
                """,
                projection.value,
                owner,
                last_post_id.channel_id,
                last_post_id.message_id,
                post_count,
                lease,
            )
        return bool(noted_text == "UPDATE 1")

    async def finish(self, projection: Projection, *, owner: str) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE rebuilds SET finished_at = now(), completed_at = now() WHERE projection = $1 "
                "AND owner = $2",
                projection.value,
                owner,
            )

    async def release(self, projection: Projection, *, owner: str, error: str = "") -> None:
        """Ends the lease, so that another process may continue from here."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE rebuilds SET leased_until = '-infinity', error = $3 WHERE projection = $1 "
                "AND owner = $2",
                projection.value,
                owner,
                error,
            )

    async def forget(self, projection: Projection) -> None:
        """Deletes the record of the rebuild."""
        async with self._transactions.begin() as connection:
            await connection.execute("DELETE FROM rebuilds WHERE projection = $1", projection.value)

    async def look(self, projection: Projection) -> Rebuild | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                f"SELECT {COLUMNS} FROM rebuilds WHERE projection = $1", projection.value
            )
        return _rebuild(row) if row else None


COLUMNS = (
    "target, channel_id, message_id, done, total, finished_at, completed_at, "
    "CASE WHEN leased_until > now() AND finished_at IS NULL THEN owner END AS owner, error"
)


def _rebuild(row: asyncpg.Record) -> Rebuild:
    last_post_id = (
        PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])) if row["channel_id"] else None
    )
    return Rebuild(
        row["target"],
        last_post_id,
        row["done"],
        row["total"],
        row["finished_at"],
        row["completed_at"],
        row["owner"],
        row["error"],
    )
