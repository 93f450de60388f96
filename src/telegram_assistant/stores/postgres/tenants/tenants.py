"""Tenants: the customers of the installation."""

from dataclasses import dataclass
from uuid import UUID

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class Tenant:
    """One customer of the installation. The operator's own tenant may read any public channel."""

    tenant_id: TenantId
    public_id: UUID
    name: str
    is_operator: bool


class Tenants:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def ensure(self, name: str, *, is_operator: bool = False) -> Tenant:
        """The tenant of that name; creates it if there is none."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "INSERT INTO tenants (name, is_operator) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
                name,
                is_operator,
            )
            row = await connection.fetchrow(
                "SELECT tenant_id, public_id, name, is_operator FROM tenants WHERE name = $1", name
            )
        assert row is not None  # inserted just above
        return Tenant(**dict(row))

    async def by_name(self, name: str) -> Tenant | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                "SELECT tenant_id, public_id, name, is_operator FROM tenants WHERE name = $1", name
            )
        return Tenant(**dict(row)) if row else None

    async def all(self) -> tuple[Tenant, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT tenant_id, public_id, name, is_operator FROM tenants ORDER BY name"
            )
        return tuple(Tenant(**dict(row)) for row in rows)

    async def answers(self) -> None:
        """Raises Busy if PostgreSQL does not answer with the rights of a system store."""
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT 1")
