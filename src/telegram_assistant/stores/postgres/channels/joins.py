"""Which channels an account has joined, and which it could join."""

from datetime import datetime

from telegram_assistant.domain.channels.joining import Candidate
from telegram_assistant.domain.channels.rhythm import rate
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.stores.postgres.channels.schedule import rhythm_of
from telegram_assistant.stores.postgres.database import SystemTransactions

CANDIDATES = """
SELECT s.channel_id, r.access_hash, s.weight, s.observed_since, s.level, s.level_at, s.burst, s.burst_at
FROM poll_schedule s JOIN channels c USING (channel_id)
JOIN account_channels r ON r.account_id = s.account_id AND r.channel_id = s.channel_id
WHERE s.account_id = $1 AND c.is_active AND NOT c.is_private AND NOT r.joined AND r.lost_at IS NULL
    AND s.fail_count = 0
"""


class Joins:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def candidates(self, account_id: AccountId, now: datetime) -> tuple[Candidate, ...]:
        """Public channels that this account reads without having joined, and whose rhythm is known."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(CANDIDATES, account_id)
        rows_with_rhythm = [(row, rhythm) for row in rows if (rhythm := rhythm_of(row)) is not None]
        return tuple(
            Candidate(
                ChannelId(row["channel_id"]), row["access_hash"], row["weight"], rate(rhythm, now.timestamp())
            )
            for row, rhythm in rows_with_rhythm
        )

    async def count(self, account_id: AccountId) -> int:
        """The known number of joined channels.

        Channels that the owner joins in another client count after the next import.
        """
        async with self._transactions.begin() as connection:
            joined_count = await connection.fetchval(
                "SELECT count(*) FROM account_channels WHERE account_id = $1 AND joined", account_id
            )
        return int(joined_count)

    async def note(self, account_id: AccountId, channel_id: ChannelId) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE account_channels SET joined = true WHERE account_id = $1 AND channel_id = $2",
                account_id,
                channel_id,
            )
