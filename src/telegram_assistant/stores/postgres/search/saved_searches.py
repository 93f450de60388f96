"""Searches that a tenant keeps, by name."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.stores.postgres.database import TenantTransactions

MAX_SAVED = 200


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A query with a name."""

    search_id: UUID
    name: str
    query: str
    created_by: str
    created_at: datetime


class SavedSearches:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[SavedSearch, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT search_id, name, query, created_by, created_at FROM saved_searches "
                f"ORDER BY name, search_id LIMIT {MAX_SAVED}"
            )
        return tuple(SavedSearch(**dict(row)) for row in rows)

    async def save(self, name: str, query: str, *, created_by: str) -> UUID | None:
        """Returns None if the name is taken, or the tenant already has as many as it may keep."""
        async with self._transactions.begin() as connection:
            saved_id: UUID | None = await connection.fetchval(
                f"""
                INSERT INTO saved_searches (name, query, created_by)
                SELECT $1, $2, $3 WHERE (SELECT count(*) FROM saved_searches) < {MAX_SAVED}
                ON CONFLICT (tenant_id, name) DO NOTHING RETURNING search_id
                """,
                name,
                query,
                created_by,
            )
        return saved_id

    async def delete(self, search_id: UUID) -> bool:
        async with self._transactions.begin() as connection:
            return (
                await connection.execute("DELETE FROM saved_searches WHERE search_id = $1", search_id)
                == "DELETE 1"
            )
