"""Secret addresses of feeds, which feed readers open without a login."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.tenants.access import hash_of
from telegram_assistant.stores.postgres.database import ApiTransactions, TenantTransactions

MAX_ADDRESSES = 200
"""Per tenant."""


class FeedKind(StrEnum):
    """The kind of entries that a feed lists."""

    WATCH = "watch"
    FOLDER = "folder"
    SEARCH = "search"
    STORY = "story"
    DIGEST = "digest"
    """The digests of one person."""


@dataclass(frozen=True, slots=True)
class FeedAddress:
    """An address, without its secret."""

    address_id: UUID
    kind: FeedKind
    subject: str
    """The id of a watch, saved search or story, or the name of a folder."""
    name: str
    created_by: str
    created_at: datetime
    user_id: UserId | None
    """Whose digests it lists."""


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """The feed that an address leads to."""

    address_id: UUID
    hash: bytes = field(repr=False)
    """Of the token."""
    tenant_id: TenantId
    tenant: UUID
    kind: FeedKind
    subject: str
    name: str
    user_id: UserId | None
    language: str


class FeedAddresses:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[FeedAddress, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT address_id, kind, subject, name, created_by, created_at, user_id "
                "FROM feed_addresses ORDER BY created_at DESC, address_id"
            )
        return tuple(FeedAddress(**{**dict(row), "kind": FeedKind(row["kind"])}) for row in rows)

    async def create(
        self,
        token: str,
        kind: FeedKind,
        subject: str,
        name: str,
        *,
        created_by: str,
        user_id: UserId | None = None,
        language: str = "en",
    ) -> UUID | None:
        """Stores the hash of the token. Returns None if the tenant already has as many as it may have."""
        async with self._transactions.begin() as connection:
            created_id: UUID | None = await connection.fetchval(
                f"""
                INSERT INTO feed_addresses (hash, kind, subject, name, created_by, user_id, language)
                SELECT $1, $2, $3, $4, $5, $6, $7
                WHERE (SELECT count(*) FROM feed_addresses) < {MAX_ADDRESSES} RETURNING address_id
                """,
                hash_of(token),
                kind.value,
                subject,
                name,
                created_by,
                user_id,
                language,
            )
        return created_id

    async def revoke(self, address_id: UUID) -> bool:
        async with self._transactions.begin() as connection:
            return (
                await connection.execute("DELETE FROM feed_addresses WHERE address_id = $1", address_id)
                == "DELETE 1"
            )


class FeedDirectory:
    """Finds what an address leads to, before the tenant is known."""

    def __init__(self, transactions: ApiTransactions) -> None:
        self._transactions = transactions

    async def find(self, token: str) -> FoundFeed | None:
        """Returns None for a revoked address, and for one of a suspended tenant."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM find_feed($1, NULL)", hash_of(token))
        return _feed_of(row)

    async def find_by_id(self, address_id: UUID) -> FoundFeed | None:
        """For what belongs to a feed and is opened without its token. Otherwise like `find`."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM find_feed(NULL, $1)", address_id)
        return _feed_of(row)


def _feed_of(row: asyncpg.Record | None) -> FoundFeed | None:
    return None if row is None else FoundFeed(**{**dict(row), "kind": FeedKind(row["kind"])})
