"""The last known state of the channels that an account or the previews read:
a process shows it before its first runs.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class KnownChannel:
    """A channel that somebody follows."""

    channel_id: ChannelId
    last_polled_at: datetime | None
    last_parsed_at: datetime | None
    newest_posted_at: datetime | None


KNOWN = """
SELECT channel_id, s.last_polled_at, c.last_parsed_at, c.newest_posted_at FROM poll_schedule s
JOIN channels c USING (channel_id)
WHERE s.next_poll_at < 'infinity' AND
"""


class KnownChannels:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def list_for_account(self, account_id: AccountId) -> tuple[KnownChannel, ...]:
        return await self._fetch(f"{KNOWN} s.account_id = $1", account_id)

    async def list_for_previews(self) -> tuple[KnownChannel, ...]:
        return await self._fetch(
            f"{KNOWN} s.account_id IS NULL AND channel_id IN (SELECT channel_id FROM preview_coverage)"
        )

    async def find_dropped(
        self, account_id: AccountId, channel_ids: Collection[ChannelId]
    ) -> frozenset[ChannelId]:
        """Those of these channels that this account no longer reads: unfollowed, unreadable,
        or assigned to another account.
        """
        still = await self._fetch(
            f"{KNOWN} s.account_id = $1 AND channel_id = ANY($2)", account_id, list(channel_ids)
        )
        return frozenset(channel_ids) - {channel.channel_id for channel in still}

    async def _fetch(self, query: str, *values: object) -> tuple[KnownChannel, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(query, *values)
        return tuple(KnownChannel(**dict(row)) for row in rows)
