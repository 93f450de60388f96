"""Whether a tenant's channels have got new posts, for open pages: one row per tenant, read every two seconds.

The relay counts what it announces, for the tenants whose pages wait for it.
"""

from collections.abc import Collection

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.database import Connection, TenantTransactions

READ = "SELECT arrivals, awaited_until > now() + interval '1 minute' AS is_awaited FROM tenant_news"
# Whatever arrived after the last page was closed was not counted: the counter moves once for all of it.
AWAIT = """
INSERT INTO tenant_news AS n (tenant_id, awaited_until)
VALUES (current_tenant(), now() + interval '2 minutes')
ON CONFLICT (tenant_id) DO UPDATE
SET awaited_until = excluded.awaited_until, arrivals = n.arrivals + (n.awaited_until <= now())::int
RETURNING arrivals
"""
# $1 channels. In the order of tenants, or two relays would wait for each other.
COUNT_ARRIVALS = """
WITH followers AS (
    SELECT n.tenant_id FROM tenant_news n
    WHERE n.awaited_until > now() AND EXISTS (SELECT 1 FROM subscriptions s
        WHERE s.channel_id = ANY($1::bigint[]) AND s.tenant_id = n.tenant_id AND s.active)
    ORDER BY n.tenant_id FOR UPDATE
)
UPDATE tenant_news n SET arrivals = n.arrivals + 1 FROM followers f WHERE f.tenant_id = n.tenant_id
"""


class News:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def state(self) -> int:
        """A number that changes when a followed channel gets a new post.

        It does so for whoever asks at least once a minute, and once more for whoever asks after a longer
        time.
        """
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(READ)
            if row is not None and row["is_awaited"]:
                return int(row["arrivals"])
            return int(await connection.fetchval(AWAIT))


async def count_arrivals(connection: Connection, channel_ids: Collection[ChannelId]) -> None:
    """Counts for each waiting tenant that channels which it follows have new posts."""
    await connection.execute(COUNT_ARRIVALS, sorted(channel_ids))
