"""A tenant's budget for providers, and its own share of every call."""

from datetime import datetime

from telegram_assistant.domain.understanding.spending import SpendingBudget, UsageLine
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.understanding.spending import BUDGETS, USAGE


class OwnSpending:
    """A tenant store. Row-level security limits each ledger to the tenant's rows."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def budget(self) -> SpendingBudget | None:
        """The tenant's budget. None: no budget is set, so nothing is paid for."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(BUDGETS)
        return SpendingBudget(**dict(row)) if row else None

    async def usage(self, since: datetime) -> tuple[UsageLine, ...]:
        """Usage by day and model, the newest day first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(USAGE, since, None)
        return tuple(UsageLine(**dict(row)) for row in rows)
