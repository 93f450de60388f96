"""The receivers of a tenant's alerts and digests, and what waits for them."""

from datetime import datetime
from uuid import UUID

import asyncpg

from telegram_assistant.domain.watches.delivery import AlertReceiver, ReceiverKind
from telegram_assistant.reasons import load_reason
from telegram_assistant.stores.postgres.database import TenantTransactions

MAX_RECEIVERS = 50
"""Per tenant."""


class Receivers:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[AlertReceiver, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(LIST)
        return tuple(map(_receiver, rows))

    async def create(self, kind: ReceiverKind, name: str, address: str, *, secret: str, language: str, created_by: str) -> UUID | None:
        """Returns None if the name is taken, or the tenant already has as many as it may have. The secret can never be read back."""
        async with self._transactions.begin() as connection:
            created: UUID | None = await connection.fetchval(CREATE, kind.value, name, address, secret, language, created_by)
        return created

    async def resume(self, receiver_id: UUID) -> bool:
        """Ends a pause and a wait; everything that waits is delivered in order. Returns False if there is no such receiver."""
        async with self._transactions.begin() as connection:
            return await connection.execute(RESUME, receiver_id) == "UPDATE 1"

    async def pause(self, receiver_id: UUID) -> bool:
        async with self._transactions.begin() as connection:
            return await connection.execute("UPDATE receivers SET paused_at = now() WHERE receiver_id = $1", receiver_id) == "UPDATE 1"

    async def replay(self, receiver_id: UUID, *, since: datetime) -> int | None:
        """Delivers again, in order and with the same ids, what was delivered since then. Returns how many; None if there is no such receiver."""
        async with self._transactions.begin() as connection:
            if not await connection.fetchval("SELECT EXISTS (SELECT 1 FROM receivers WHERE receiver_id = $1)", receiver_id):
                return None
            done = await connection.execute(
                "UPDATE deliveries SET delivered_at = NULL WHERE receiver_id = $1 AND delivered_at >= $2", receiver_id, since
            )
        return int(done.rpartition(" ")[2])

    async def delete(self, receiver_id: UUID) -> bool:
        """Deletes the receiver, what waits for it, and its place in watches."""
        async with self._transactions.begin() as connection:
            await connection.execute("DELETE FROM deliveries WHERE receiver_id = $1", receiver_id)
            await connection.execute("UPDATE watches SET receivers = array_remove(receivers, $1) WHERE $1 = ANY (receivers)", receiver_id)
            return await connection.execute("DELETE FROM receivers WHERE receiver_id = $1", receiver_id) == "DELETE 1"


def _receiver(row: asyncpg.Record) -> AlertReceiver:
    return AlertReceiver(**{**dict(row), "kind": ReceiverKind(row["kind"]), "trouble": load_reason(row["trouble"])})


LIST = """
SELECT r.receiver_id, r.kind, r.name, r.address, r.created_by, r.created_at, r.failures, r.retry_at, r.trouble, r.paused_at, r.delivered_at,
       (SELECT count(*) FROM deliveries d WHERE d.receiver_id = r.receiver_id AND d.delivered_at IS NULL) AS waiting
FROM receivers r ORDER BY lower(r.name), r.receiver_id
"""

CREATE = f"""
INSERT INTO receivers (kind, name, address, secret, language, created_by)
SELECT $1, $2, $3, $4, $5, $6 WHERE (SELECT count(*) FROM receivers) < {MAX_RECEIVERS} ON CONFLICT (tenant_id, name) DO NOTHING RETURNING receiver_id
"""

RESUME = """
UPDATE receivers SET paused_at = NULL, retry_at = NULL, failures = 0, failing_since = NULL, trouble = NULL WHERE receiver_id = $1
"""
