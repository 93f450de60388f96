"""Views, forwards, comments and reactions over time."""

from collections.abc import Sequence
from datetime import datetime

from pydantic_core import to_json

from telegram_assistant.domain.posts.post import Post
from telegram_assistant.stores.postgres.database import SystemTransactions

# Writes counts of stored posts only, and only if they have changed since the last row.
KEEP = """
-- $1 channels, $2 messages, $3 seen at, $4 views, $5 forwards, $6 replies, $7 reactions
INSERT INTO post_counts (channel_id, message_id, seen_at, views, forwards, replies, reactions)
SELECT n.channel_id, n.message_id, $3, n.views, n.forwards, n.replies, n.reactions
FROM unnest($1::bigint[], $2::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::jsonb[])
    AS n(channel_id, message_id, views, forwards, replies, reactions)
LEFT JOIN LATERAL (
    SELECT views, forwards, replies, reactions FROM post_counts
    WHERE channel_id = n.channel_id AND message_id = n.message_id ORDER BY seen_at DESC LIMIT 1) last ON true
WHERE (n.views, n.forwards, n.replies, n.reactions) IS DISTINCT
    FROM (last.views, last.forwards, last.replies, last.reactions)
  AND EXISTS (SELECT 1 FROM posts p WHERE p.channel_id = n.channel_id
      AND p.message_id = n.message_id OFFSET 0)
ON CONFLICT DO NOTHING
"""


class Counts:
    """A system store. A lost write is repeated by the next reading."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def keep(self, posts: Sequence[Post], *, seen_at: datetime) -> None:
        """Stores the counts of these posts as they were read at `seen_at`."""
        counted_posts = {
            post.id: (post, counts) for post in posts if isinstance(counts := post.facts.get("counts"), dict)
        }
        if not counted_posts:
            return
        rows = list(counted_posts.values())
        columns = [[counts.get(name) for _, counts in rows] for name in ("views", "forwards", "replies")]
        reactions = [
            to_json(counts["reactions"]).decode() if counts.get("reactions") else None for _, counts in rows
        ]
        channel_ids, message_ids = (
            [post.channel_id for post, _ in rows],
            [post.message_id for post, _ in rows],
        )
        async with self._transactions.begin() as connection:
            await connection.execute(KEEP, channel_ids, message_ids, seen_at, *columns, reactions)
