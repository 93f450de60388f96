"""Statistics of the intervals between a channel's posts, computed from the posts on demand."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from telegram_assistant.domain.channels.parsing import Statistics, ewma_of
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.stores.postgres.database import SystemTransactions

EWMA_INTERVALS = 100
"""Older intervals weigh less than a millionth."""

INTERVALS = f"""
WITH gaps AS (
    SELECT posted_at, extract(epoch FROM posted_at - lag(posted_at) OVER (ORDER BY posted_at)) AS seconds
    FROM posts WHERE channel_id = $1 AND posted_at >= $2 AND kind <> 'service'
)
SELECT count(*) + 1 AS posts,
       coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds), 0)::float8 AS median,
       coalesce(percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds), 0)::float8 AS p95,
       ARRAY(SELECT seconds::float8 FROM gaps WHERE seconds > 0
           ORDER BY posted_at DESC LIMIT {EWMA_INTERVALS}) AS latest
FROM gaps WHERE seconds > 0
"""


class PostStatistics:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load_statistics(self, channel_id: ChannelId, *, window_days: int, now: datetime) -> Statistics:
        """Counts only intervals above zero, so that an album is one post."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(INTERVALS, channel_id, now - timedelta(days=window_days))
        assert row is not None  # an aggregate always returns a row
        posts = row["posts"] if row["latest"] else 0
        return Statistics(row["median"], row["p95"], ewma_of(row["latest"][::-1]), posts, window_days, now)

    async def last_before(self, channel_id: ChannelId, moment: datetime) -> MessageId | None:
        """The newest stored post before `moment`."""
        async with self._transactions.begin() as connection:
            message_id = await connection.fetchval(
                "SELECT message_id FROM posts WHERE channel_id = $1 AND posted_at < $2 "
                "ORDER BY posted_at DESC, message_id DESC LIMIT 1",
                channel_id,
                moment,
            )
        return None if message_id is None else MessageId(message_id)

    async def select_stored(self, channel_id: ChannelId, message_ids: Sequence[MessageId]) -> set[MessageId]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT message_id FROM posts WHERE channel_id = $1 AND message_id = ANY($2)",
                channel_id,
                message_ids,
            )
        return {row["message_id"] for row in rows}
