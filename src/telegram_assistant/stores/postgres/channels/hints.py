"""Hints from pushed updates, beside the schedule: which channels an account reads,
and which of them are due now.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.channels.rhythm import SHORTEST_SECONDS
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class ReadChannel:
    """A channel that an account reads, and has read before."""

    channel_id: ChannelId
    tier: Priority
    newest_posted_at: datetime | None


# A failed channel keeps its pause. A channel that is being read is read again afterwards. No channel is read
# twice in 15 s.
HINT = """
UPDATE poll_schedule s
SET asked_at = now(),
    next_poll_at = CASE WHEN s.claimed THEN s.next_poll_at
        ELSE least(s.next_poll_at, greatest(now(), s.last_polled_at + make_interval(secs => $4))) END
FROM telegram_accounts a
WHERE s.account_id = $1 AND a.account_id = $1 AND a.lease_epoch = $2 AND s.next_poll_at < 'infinity'
    AND s.fail_count = 0
  AND CASE WHEN $3::bigint[] IS NULL
      THEN EXISTS (SELECT 1 FROM account_channels r
          WHERE r.account_id = $1 AND r.channel_id = s.channel_id AND r.joined)
      ELSE s.channel_id = ANY($3) END
"""


class Hints:
    """A system store. A former lease holder of the account changes nothing and gets no channels."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def make_due(
        self, account_id: AccountId, lease_epoch: int, channel_ids: Collection[ChannelId] | None
    ) -> None:
        """Makes these channels due now because an update may have been missed;
        None means all channels that the account has joined.
        """
        chosen_channel_ids = None if channel_ids is None else list(channel_ids)
        async with self._transactions.begin() as connection:
            await connection.execute(HINT, account_id, lease_epoch, chosen_channel_ids, SHORTEST_SECONDS)

    async def load_read_channels(
        self, account_id: AccountId, lease_epoch: int, channel_ids: Collection[ChannelId]
    ) -> Mapping[ChannelId, ReadChannel]:
        """Those of these channels that somebody follows and this account reads;
        its owner may have joined others privately.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT s.channel_id, s.tier, c.newest_posted_at
                FROM poll_schedule s JOIN channels c USING (channel_id)
                JOIN telegram_accounts a ON a.account_id = s.account_id
                WHERE s.account_id = $1 AND a.lease_epoch = $2 AND s.channel_id = ANY($3)
                  AND s.next_poll_at < 'infinity' AND s.last_polled_at IS NOT NULL
                """,
                account_id,
                lease_epoch,
                list(channel_ids),
            )
        return {
            row["channel_id"]: ReadChannel(row["channel_id"], Priority(row["tier"]), row["newest_posted_at"])
            for row in rows
        }
