"""API keys: stored as hashes, looked up by the system, managed by their tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.tenants.access import (
    SHOWN_LETTERS,
    Caller,
    KeyScope,
    MemberRole,
    effective_scopes,
    hash_of,
)
from telegram_assistant.domain.timestamps import MomentCursor
from telegram_assistant.errors import Forbidden
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.database import ApiTransactions, TenantTransactions


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as its tenant sees it; the secret itself is not stored."""

    key_id: UUID
    name: str
    prefix: str
    scopes: tuple[KeyScope, ...]
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    ancestors: tuple[UUID, ...]
    """The keys that created it, its parent last."""

    @property
    def parent_key_id(self) -> UUID | None:
        return self.ancestors[-1] if self.ancestors else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key to create."""

    secret: str
    name: str
    scopes: Sequence[KeyScope]
    created_by: str
    user_id: UserId | None = None
    expires_at: datetime | None = None
    ancestors: Sequence[UUID] = ()


MAX_KEYS_OF_TENANT = 200
MAX_KEYS_OF_PERSON = 50
"""Valid ones."""
COLUMNS = (
    "key_id, name, prefix, scopes, created_by, created_at, expires_at, last_used_at, revoked_at, ancestors"
)


class KeyDirectory:
    """Finds the owner of a key. For requests whose tenant is not known yet."""

    def __init__(self, transactions: ApiTransactions) -> None:
        self._transactions = transactions

    async def answers(self) -> None:
        """Raises Busy if PostgreSQL does not answer with the rights that requests need."""
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT 1")

    async def caller(self, hashed_bytes: bytes) -> Caller | None:
        """The owner of a valid key, or None; records the use.

        Raises Forbidden while the tenant is suspended.
        """
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM find_caller($1)", hashed_bytes)
        if row is None:
            return None
        if row["is_suspended"]:
            raise Forbidden(
                Reason(
                    "tenant_suspended",
                    "the operator suspended the tenant {tenant}: {why}",
                    tenant=row["tenant_name"],
                    why=row["suspended_reason"],
                )
            )
        role = MemberRole(row["role"]) if row["role"] else None
        return Caller(
            tenant_id=TenantId(row["tenant_id"]),
            tenant=row["public_id"],
            tenant_name=row["tenant_name"],
            is_operator=row["is_operator"],
            scopes=effective_scopes(
                frozenset(map(KeyScope, row["scopes"])), role=role, is_operator=row["is_operator"]
            ),
            actor=row["user_name"] or f"key {row['key_name']}",
            key_id=row["key_id"],
            user_id=row["user_id"],
            actor_id=row["user_public_id"],
            expires_at=row["expires_at"],
        )

    async def operator(self) -> Caller:
        """The caller with the operator's own key: the operator's tenant, with all scopes."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT tenant_id, public_id, name FROM find_operator()")
        assert row is not None  # `tga migrate` creates it
        return Caller(
            TenantId(row["tenant_id"]),
            row["public_id"],
            row["name"],
            is_operator=True,
            scopes=frozenset(KeyScope),
            actor="operator",
        )


class Keys:
    """A tenant's own keys. A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def newest(self, *, limit: int = 1000, before: MomentCursor | None = None) -> tuple[ApiKey, ...]:
        """The newest keys, revoked ones included."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"""
                SELECT {COLUMNS} FROM api_keys WHERE $2::timestamptz IS NULL
                    OR (created_at, key_id) < ($2, $3)
                ORDER BY created_at DESC, key_id DESC LIMIT $1
                """,
                limit,
                before.at if before else None,
                before.item_id if before else None,
            )
        return tuple(_key(row) for row in rows)

    async def find(self, key_id: UUID) -> ApiKey | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(f"SELECT {COLUMNS} FROM api_keys WHERE key_id = $1", key_id)
        return _key(row) if row else None

    async def make(self, key: NewKey) -> ApiKey | None:
        """Returns None if the tenant or the person already has as many valid keys as they may have."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                f"""
                -- $1 hash, $2 user, $3 name, $4 prefix, $5 scopes, $6 created by, $7 expires at, $8 ancestors
                INSERT INTO api_keys (hash, user_id, name, prefix, scopes, created_by, expires_at, ancestors)
                SELECT $1, $2::bigint, $3, $4, $5, $6, $7, $8 FROM (
                    SELECT count(*) AS of_tenant, count(*) FILTER (WHERE user_id = $2) AS of_person
                    FROM api_keys
                    WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())) valid
                WHERE of_tenant < {MAX_KEYS_OF_TENANT} AND of_person < {MAX_KEYS_OF_PERSON}
                RETURNING {COLUMNS}
                """,
                hash_of(key.secret),
                key.user_id,
                key.name,
                key.secret[:SHOWN_LETTERS],
                [scope.value for scope in key.scopes],
                key.created_by,
                key.expires_at,
                key.ancestors,
            )
        return _key(row) if row else None

    async def revoke(self, key_id: UUID) -> bool:
        """Revokes the key and all keys created with it. Returns False if there is no such valid key."""
        async with self._transactions.begin() as connection:
            revoked_rows = await connection.fetch(
                "UPDATE api_keys SET revoked_at = now() WHERE (key_id = $1 OR $1 = ANY(ancestors)) "
                "AND revoked_at IS NULL RETURNING key_id",
                key_id,
            )
        return any(row["key_id"] == key_id for row in revoked_rows)


def _key(row: asyncpg.Record) -> ApiKey:
    return ApiKey(
        **{**dict(row), "scopes": tuple(map(KeyScope, row["scopes"])), "ancestors": tuple(row["ancestors"])}
    )
