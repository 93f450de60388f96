"""Messages as Telegram sent them, kept for 30 days:
a parsing mistake can be repaired without new requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class RawMessages:
    """Messages that landed together, serialised with Telegram's schema of that layer and compressed."""

    channel_id: ChannelId
    first_id: MessageId
    last_id: MessageId
    read_at: datetime
    layer: int
    body: bytes


class RawArchive:
    """A system store, written in batches after the posts are committed; losing a batch loses no post."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def keep(self, messages: Sequence[RawMessages]) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                -- arrays, one element per batch: $1 channel, $2 first and $3 last message, $4 read at, $5
                -- layer, $6 body
                INSERT INTO post_raw (channel_id, first_id, last_id, read_at, layer, body)
                SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::int[],
                    $6::bytea[])
                ON CONFLICT DO NOTHING
                """,
                [message.channel_id for message in messages],
                [message.first_id for message in messages],
                [message.last_id for message in messages],
                [message.read_at for message in messages],
                [message.layer for message in messages],
                [message.body for message in messages],
            )

    async def around(self, post_id: PostId) -> tuple[RawMessages, ...]:
        """The batches that may hold a post, the newest reading first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT channel_id, first_id, last_id, read_at, layer, body FROM post_raw
                WHERE channel_id = $1 AND first_id <= $2 AND last_id >= $2 ORDER BY read_at DESC
                """,
                post_id.channel_id,
                post_id.message_id,
            )
        return tuple(RawMessages(**dict(row)) for row in rows)
