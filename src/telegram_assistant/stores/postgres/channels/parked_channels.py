"""Channels of a tenant that are parked after too many failed runs."""

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.channels.schedule import Parked, parked_channel
from telegram_assistant.stores.postgres.database import TenantTransactions

PARKED = """
WITH resting AS MATERIALIZED (
    SELECT c.channel_id, c.title, c.parked_reason, c.parked_until
    FROM subscriptions s JOIN channels c ON c.channel_id = s.channel_id
    WHERE s.active AND c.parked_until IS NOT NULL
)
SELECT c.channel_id, c.title, c.parked_reason AS reason, c.parked_until AS until, r.failures
FROM resting c JOIN reading_of_channels(ARRAY(SELECT channel_id FROM resting)) r USING (channel_id)
ORDER BY c.parked_until, c.channel_id
"""


class ParkedChannels:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[Parked, ...]:
        """Parked channels, the next to be retried first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(PARKED)
        return tuple(parked_channel(row) for row in rows)

    async def release(self, channel_id: ChannelId) -> bool:
        """Makes the channel due at its next turn.

        Returns False if the tenant does not follow it or it is not parked.
        """
        async with self._transactions.begin() as connection:
            return bool(await connection.fetchval("SELECT release_channel($1)", channel_id))
