"""The messages as Telegram sent them, for 30 days: a mistake in our reading is repaired without asking again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message, serialised by Telegram's schema of that layer and compressed."""

    channel_id: ChannelId
    message_id: MessageId
    read_at: datetime
    layer: int
    body: bytes


class RawMessages:
    """A system store, written in batches after the posts are safe; losing a batch loses no post."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def keep(self, messages: Sequence[RawMessage]) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO post_raw (channel_id, message_id, read_at, layer, body)
                SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::int[], $5::bytea[])
                ON CONFLICT DO NOTHING
                """,
                [message.channel_id for message in messages],
                [message.message_id for message in messages],
                [message.read_at for message in messages],
                [message.layer for message in messages],
                [message.body for message in messages],
            )
