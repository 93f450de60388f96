"""How far each account has seen live updates."""

from collections.abc import Iterable, Mapping

from telegram_assistant.domain.ids import AccountId
from telegram_assistant.domain.updates import SeenUpdates
from telegram_assistant.stores.postgres.database import SystemTransactions


class PushStates:
    """A system store. Only the holder of an account writes for it."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def of(self, account_id: AccountId) -> tuple[SeenUpdates, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT channel_id, pts, qts, seq, moment FROM push_state WHERE account_id = $1", account_id)
        return tuple(SeenUpdates(**dict(row)) for row in rows)

    async def save(self, account_id: AccountId, seen: Iterable[SeenUpdates]) -> None:
        states = [(account_id, one.channel_id, one.pts, one.qts, one.seq, one.moment) for one in seen]
        if not states:
            return
        async with self._transactions.begin() as connection:
            await connection.executemany(
                """
                INSERT INTO push_state (account_id, channel_id, pts, qts, seq, moment) VALUES ($1, $2, $3, $4, $5, $6)
                ON CONFLICT (account_id, channel_id) DO UPDATE
                SET pts = excluded.pts, qts = excluded.qts, seq = excluded.seq, moment = excluded.moment, seen_at = now()
                """,
                states,
            )

    async def access_hashes(self, account_id: AccountId) -> Mapping[int, int]:
        """Of the channels that updates were seen of."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT channel_id, access_hash FROM account_channels JOIN push_state USING (account_id, channel_id) WHERE account_id = $1",
                account_id,
            )
        return {row["channel_id"]: row["access_hash"] for row in rows}
