"""The coverage ledger: which message ids of a channel are proven, and which are missing."""

from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.stores.postgres.database import Transactions


@dataclass(frozen=True, slots=True)
class Coverage:
    """What is known of a channel above its floor. Complete when there is no gap."""

    floor_id: MessageId
    newest_id: MessageId
    verified_at: datetime
    gaps: tuple[IdRange, ...]

    @property
    def complete(self) -> bool:
        return not self.gaps


COVERAGE = """
SELECT v.floor_id, v.verified_at, n.newest_id, ARRAY(
    SELECT gap FROM unnest(int8multirange(int8range(least(v.floor_id, n.newest_id + 1), n.newest_id + 1)) - v.verified) AS gap
    ORDER BY gap DESC LIMIT $2) AS gaps
FROM coverage v
JOIN channels c ON c.channel_id = v.channel_id
CROSS JOIN LATERAL (SELECT greatest(c.newest_message_id, upper(v.verified) - 1) AS newest_id) n
WHERE v.channel_id = $1
"""


class CoverageLedger:
    """Reads the ledger; landing writes it. Works for the system and, through its subscriptions, for a tenant."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def of(self, channel_id: ChannelId, *, most_gaps: int = 1000) -> Coverage | None:
        """The channel's coverage with its newest gaps first; None before the first page has landed."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(COVERAGE, channel_id, most_gaps)
        if row is None:
            return None
        gaps = tuple(IdRange(MessageId(gap.lower), MessageId(gap.upper - 1)) for gap in row["gaps"])
        return Coverage(MessageId(row["floor_id"]), MessageId(row["newest_id"]), row["verified_at"], gaps)
