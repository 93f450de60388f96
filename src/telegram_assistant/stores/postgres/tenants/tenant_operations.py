"""The operator's operations on tenants. Each method calls one database function that may do just that."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.understanding.spending import SpendingBudget
from telegram_assistant.stores.postgres.database import Transactions


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSummary:
    """A tenant as the operator sees it."""

    tenant_id: TenantId
    public_id: UUID
    name: str
    is_operator: bool
    created_at: datetime
    suspended_at: datetime | None
    suspended_reason: str | None
    channels: int
    accounts: int
    keys: int
    """Number of valid keys."""
    media_bytes: int
    media_bytes_limit: int | None
    """None: MEDIA_QUOTA_BYTES applies."""
    budget: SpendingBudget | None
    """None: no budget is set, so nothing is paid for."""


class TenantOperations:
    """For the operator only; needs no rights on tables."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def page(self, *, limit: int, after: str | None = None) -> tuple[TenantSummary, ...]:
        """Tenants by name; `after` is the last name of the previous page."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM operator_tenants(NULL, $1, $2)", after, limit)
        return tuple(_summary(row) for row in rows)

    async def one(self, public_id: UUID) -> TenantSummary | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM operator_tenants($1, NULL, 1)", public_id)
        return _summary(row) if row else None

    async def create(self, name: str) -> UUID | None:
        """Returns None if the name is taken."""
        async with self._transactions.begin() as connection:
            created_id: UUID | None = await connection.fetchval("SELECT operator_create_tenant($1)", name)
        return created_id

    async def suspend(self, public_id: UUID, *, why: str) -> bool:
        """Pauses the tenant's accounts and subscriptions until `resume`; deletes nothing.

        False for an unknown tenant and the operator's own.
        """
        return await self._run_update("SELECT operator_suspend_tenant($1, $2)", public_id, why)

    async def resume(self, public_id: UUID) -> bool:
        return await self._run_update("SELECT operator_resume_tenant($1)", public_id)

    async def set_media_quota(self, public_id: UUID, limit_bytes: int | None) -> bool:
        return await self._run_update("SELECT operator_set_media_quota($1, $2)", public_id, limit_bytes)

    async def set_budget(self, public_id: UUID, *, micro: int, tokens: int | None) -> bool:
        """Sets the budget from now on; this month's usage stays."""
        return await self._run_update("SELECT operator_set_budget($1, $2, $3)", public_id, micro, tokens)

    async def _run_update(self, query: str, *values: object) -> bool:
        async with self._transactions.begin() as connection:
            return bool(await connection.fetchval(query, *values))


def _summary(row: asyncpg.Record) -> TenantSummary:
    values = dict(row)
    micro, tokens, used_micro, used_tokens = (
        values.pop(name) for name in ("budget_micro", "budget_tokens", "used_micro", "used_tokens")
    )
    month = datetime.now(UTC).date().replace(day=1)
    budget = (
        None
        if micro is None
        else SpendingBudget(values["tenant_id"], micro, tokens, month, used_micro, used_tokens)
    )
    return TenantSummary(**values, budget=budget)
