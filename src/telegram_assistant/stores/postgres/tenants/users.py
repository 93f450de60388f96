"""People and their roles in tenants."""

from dataclasses import dataclass
from datetime import timedelta

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.tenants.access import MemberRole, hash_of
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class Member:
    """A person in a tenant."""

    user_id: UserId
    name: str
    role: MemberRole


class Users:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def join(self, tenant_id: TenantId, name: str, *, role: MemberRole | None = None) -> Member:
        """Adds the person of that name to the tenant.

        Without `role`, a member keeps their role, the first member is owner, others are viewers.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                "INSERT INTO users (name) VALUES ($1) ON CONFLICT (name) DO NOTHING", name
            )
            user_id = await connection.fetchval("SELECT user_id FROM users WHERE name = $1", name)
            row = await connection.fetchrow(
                """
                INSERT INTO memberships (tenant_id, user_id, role)
                SELECT $1, $2, coalesce($3, CASE WHEN EXISTS (SELECT 1 FROM memberships WHERE tenant_id = $1)
                    THEN 'viewer' ELSE 'owner' END)
                ON CONFLICT (tenant_id, user_id) DO UPDATE SET role = coalesce($3, memberships.role)
                RETURNING role
                """,
                tenant_id,
                user_id,
                role.value if role else None,
            )
        assert row is not None  # inserted or updated just above
        return Member(UserId(user_id), name, MemberRole(row["role"]))

    async def find(self, tenant_id: TenantId, name: str) -> Member | None:
        """The member of that name; of any name if it is empty and the tenant has one member only."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT user_id, name, role FROM memberships JOIN users USING (user_id) "
                "WHERE tenant_id = $1 AND (name = $2 OR $2 = '') LIMIT 2",
                tenant_id,
                name,
            )
        return (
            Member(UserId(rows[0]["user_id"]), rows[0]["name"], MemberRole(rows[0]["role"]))
            if len(rows) == 1
            else None
        )

    async def remove(self, tenant_id: TenantId, user_id: UserId) -> bool:
        """Removes a member, and what they have made to let somebody in.

        Returns False if the tenant would have no owner left.
        """
        async with self._transactions.begin() as connection:
            owners = await connection.fetch(
                "SELECT user_id FROM memberships WHERE tenant_id = $1 AND role = 'owner' "
                "ORDER BY user_id FOR UPDATE",
                tenant_id,
            )
            if not {row["user_id"] for row in owners} - {user_id}:
                return False
            await connection.execute(
                "DELETE FROM memberships WHERE tenant_id = $1 AND user_id = $2", tenant_id, user_id
            )
        return True

    async def make_login_link(
        self, user_id: UserId, token: str, *, created_by: str, lifetime: timedelta
    ) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "INSERT INTO one_time_links (hash, kind, user_id, created_by, expires_at) "
                "VALUES ($1, 'login', $2, $3, now() + $4::interval)",
                hash_of(token),
                user_id,
                created_by,
                lifetime,
            )
