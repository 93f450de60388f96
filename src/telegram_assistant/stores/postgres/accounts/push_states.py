"""The last update that each account has processed."""

from telegram_assistant.domain.accounts.updates import SeenUpdates
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.stores.postgres.database import SystemTransactions

ACCOUNT_ITSELF = 0
"""The channel of an account's only row in use: posts missed in a channel are read from its history."""


class PushStates:
    """A system store. Only the lease holder of an account writes for it."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load_seen_updates(self, account_id: AccountId) -> SeenUpdates | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                "SELECT pts, qts, seq, moment FROM push_state WHERE account_id = $1 AND channel_id = $2 "
                "AND moment IS NOT NULL",
                account_id,
                ACCOUNT_ITSELF,
            )
        return SeenUpdates(**dict(row)) if row else None

    async def save(self, account_id: AccountId, lease_epoch: int, seen_updates: SeenUpdates) -> None:
        """Saves the state.

        Does nothing if another instance holds the account now: a frozen process must not reset it.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                -- $1 account, $2 lease epoch, $3 channel, $4 pts, $5 qts, $6 seq, $7 moment
                INSERT INTO push_state (account_id, channel_id, pts, qts, seq, moment)
                SELECT account_id, $3, $4, $5, $6, $7 FROM telegram_accounts
                WHERE account_id = $1 AND lease_epoch = $2
                ON CONFLICT (account_id, channel_id) DO UPDATE
                SET pts = excluded.pts, qts = excluded.qts, seq = excluded.seq, moment = excluded.moment,
                    seen_at = now()
                """,
                account_id,
                lease_epoch,
                ACCOUNT_ITSELF,
                seen_updates.pts,
                seen_updates.qts,
                seen_updates.seq,
                seen_updates.moment,
            )
