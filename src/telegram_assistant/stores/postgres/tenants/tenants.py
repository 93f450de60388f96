"""Tenants: the customers of the installation."""

from dataclasses import dataclass
from datetime import datetime
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

    async def following(self) -> tuple[TenantId, ...]:
        """Tenants that follow channels and are not suspended."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT tenant_id FROM tenants t WHERE suspended_at IS NULL AND EXISTS (SELECT 1 FROM "
                "subscriptions s WHERE s.tenant_id = t.tenant_id AND s.active) ORDER BY tenant_id"
            )
        return tuple(TenantId(row["tenant_id"]) for row in rows)

    async def with_old_records(self, now: datetime) -> tuple[TenantId, ...]:
        """Tenants with channels whose records were counted a day ago or never; those that follow a channel
        since yesterday, every hour.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT tenant_id FROM tenants t WHERE suspended_at IS NULL AND EXISTS (
                    SELECT 1 FROM subscriptions s LEFT JOIN channel_records r USING (tenant_id, channel_id)
                    WHERE s.tenant_id = t.tenant_id AND s.active AND (r.counted_at IS NULL
                        OR r.counted_at < s.created_at OR r.counted_at <= $1::timestamptz - CASE
                            WHEN s.created_at > $1::timestamptz - interval '1 day' THEN interval '1 hour'
                            ELSE interval '1 day' END)
                ) ORDER BY tenant_id
                """,
                now,
            )
        return tuple(TenantId(row["tenant_id"]) for row in rows)

    async def answers(self) -> None:
        """Raises Busy if PostgreSQL does not answer with the rights of a system store."""
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT 1")
