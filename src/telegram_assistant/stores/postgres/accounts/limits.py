"""Flood waits and budgets of accounts, stored across restarts. Times use the database's clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.accounts.budget import SavedMeter
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class MethodBlock:
    """A method that an account must not call until then."""

    account_id: AccountId
    method: str
    until: datetime


class AccountLimits:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load_meters(self, account_id: AccountId) -> Mapping[str, SavedMeter]:
        """The saved meters by method, in seconds from now."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT method, tokens, pace,
                       coalesce(greatest(extract(epoch FROM blocked_until - now()), 0),
                           0)::float8 AS blocked_seconds,
                       coalesce(extract(epoch FROM now() - tokens_at), 0)::float8 AS tokens_age_seconds,
                       extract(epoch FROM now() - paced_at)::float8 AS pace_age_seconds
                FROM account_limits WHERE account_id = $1
                """,
                account_id,
            )
        return {
            row["method"]: SavedMeter(
                blocked_seconds=row["blocked_seconds"],
                tokens=None if row["tokens"] is None else tuple(row["tokens"]),
                tokens_age_seconds=row["tokens_age_seconds"],
                pace=row["pace"],
                pace_age_seconds=row["pace_age_seconds"],
            )
            for row in rows
        }

    async def keep(self, account_id: AccountId, method: str, meter: SavedMeter) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO account_limits (account_id, method, blocked_until, tokens, tokens_at, pace,
                    paced_at)
                VALUES ($1, $2, CASE WHEN $3 > 0 THEN now() + make_interval(secs => $3) END, $4, now(), $5,
                    now())
                ON CONFLICT (account_id, method) DO UPDATE
                SET blocked_until = excluded.blocked_until, tokens = excluded.tokens,
                    tokens_at = excluded.tokens_at,
                    pace = excluded.pace, paced_at = excluded.paced_at
                """,
                account_id,
                method,
                meter.blocked_seconds,
                meter.tokens,
                meter.pace,
            )

    async def blocks(self) -> tuple[MethodBlock, ...]:
        """The methods that are blocked now."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT account_id, method, blocked_until AS until FROM account_limits "
                "WHERE blocked_until > now() ORDER BY account_id, until"
            )
        return tuple(MethodBlock(**dict(row)) for row in rows)
