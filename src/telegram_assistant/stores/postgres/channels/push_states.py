"""How far each account has seen live updates."""

from telegram_assistant.domain.accounts.updates import SeenUpdates
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.stores.postgres.database import SystemTransactions

ACCOUNT_ITSELF = 0
"""The only row of an account that is in use: what was missed in a channel is read from its history."""


class PushStates:
    """A system store. Only the holder of an account writes for it."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def of(self, account_id: AccountId) -> SeenUpdates | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                "SELECT pts, qts, seq, moment FROM push_state WHERE account_id = $1 AND channel_id = $2 AND moment IS NOT NULL",
                account_id,
                ACCOUNT_ITSELF,
            )
        return SeenUpdates(**dict(row)) if row else None

    async def save(self, account_id: AccountId, lease_epoch: int, seen: SeenUpdates) -> None:
        """Nothing where the account is another's by now: who was frozen must not turn it back."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO push_state (account_id, channel_id, pts, qts, seq, moment)
                SELECT account_id, $3, $4, $5, $6, $7 FROM telegram_accounts WHERE account_id = $1 AND lease_epoch = $2
                ON CONFLICT (account_id, channel_id) DO UPDATE
                SET pts = excluded.pts, qts = excluded.qts, seq = excluded.seq, moment = excluded.moment, seen_at = now()
                """,
                account_id,
                lease_epoch,
                ACCOUNT_ITSELF,
                seen.pts,
                seen.qts,
                seen.seq,
                seen.moment,
            )
