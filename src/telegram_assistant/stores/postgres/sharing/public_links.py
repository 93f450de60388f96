"""Public links of people, and how a token finds one."""

from datetime import timedelta
from uuid import UUID

from telegram_assistant.domain.sharing.links import FoundLink, PublicLink, PublicLinkKind
from telegram_assistant.domain.tenants.access import hash_of
from telegram_assistant.stores.postgres.database import ApiTransactions, PersonTransactions

MAX_LINKS = 100
"""Per person in a tenant."""
COLUMNS = "link_id, kind, subject, created_at, expires_at"


class PublicLinks:
    """A store of one person in one tenant."""

    def __init__(self, transactions: PersonTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[PublicLink, ...]:
        """Those that still work, newest first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"SELECT {COLUMNS} FROM public_links WHERE expires_at > now() "
                "ORDER BY created_at DESC, link_id"
            )
        return tuple(PublicLink(**{**dict(row), "kind": PublicLinkKind(row["kind"])}) for row in rows)

    async def create(
        self, token: str, kind: PublicLinkKind, subject: str, *, lifetime: timedelta
    ) -> PublicLink | None:
        """Stores the hash of the token, and forgets links that have ended. Returns None if the person may
        change nothing in the tenant, or has as many links as they may have.
        """
        async with self._transactions.begin() as connection:
            await connection.execute("DELETE FROM public_links WHERE expires_at <= now()")
            row = await connection.fetchrow(
                f"""
                INSERT INTO public_links (hash, kind, subject, expires_at)
                SELECT $1, $2, $3, now() + $4::interval
                WHERE (SELECT count(*) FROM public_links) < {MAX_LINKS} AND EXISTS (
                    SELECT 1 FROM memberships WHERE tenant_id = current_tenant()
                        AND user_id = current_person() AND role IN ('owner', 'editor'))
                RETURNING {COLUMNS}
                """,
                hash_of(token),
                kind.value,
                subject,
                lifetime,
            )
        return None if row is None else PublicLink(**{**dict(row), "kind": PublicLinkKind(row["kind"])})

    async def revoke(self, link_id: UUID) -> bool:
        async with self._transactions.begin() as connection:
            return (
                await connection.execute("DELETE FROM public_links WHERE link_id = $1", link_id) == "DELETE 1"
            )


class PublicLinkDirectory:
    """Finds what a token leads to, before the tenant is known."""

    def __init__(self, transactions: ApiTransactions) -> None:
        self._transactions = transactions

    async def find(self, token: str) -> FoundLink | None:
        """Returns None for a link that was revoked or has expired, of a suspended tenant, and of somebody who
        left or whose role may change nothing.
        """
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM find_public_link($1)", hash_of(token))
        return None if row is None else FoundLink(**{**dict(row), "kind": PublicLinkKind(row["kind"])})
