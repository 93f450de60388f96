"""Idempotency keys: responses to changes, kept for a day.

A repeated request gets the same response and changes nothing.
"""

from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.errors import Conflicting
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.database import SystemTransactions, TenantTransactions

TAKE = """
INSERT INTO idempotency_keys (key, request, taken_until) VALUES ($1, $2, now() + make_interval(secs => $3))
ON CONFLICT (tenant_id, key) DO UPDATE
SET request = excluded.request, taken_until = excluded.taken_until, status = NULL, answer = NULL,
    created_at = now()
WHERE (idempotency_keys.status IS NULL AND idempotency_keys.taken_until < now())
    OR idempotency_keys.created_at < now() - interval '1 day'
RETURNING true
"""


class RequestInProgress(Conflicting):
    """The same request is still in progress."""

    retry_after_seconds = 1.0


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A stored response. `body` is None if it held a secret, which is not kept."""

    status: int
    body: bytes | None


class Idempotency:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def take(self, key: str, request: bytes, *, seconds: float) -> StoredResponse | None:
        """The earlier response, or None if there is none and the caller may process the request now.

        Raises Conflicting if the key was used for another request.
        """
        async with self._transactions.begin() as connection:
            if await connection.fetchval(TAKE, key, request, seconds):
                return None
            row = await connection.fetchrow(
                "SELECT request, status, answer FROM idempotency_keys WHERE key = $1", key
            )
        if row is None:  # released a moment ago
            raise RequestInProgress(
                Reason("request_in_progress", "the same request is still in progress; try again in a moment")
            )
        if row["request"] != request:
            raise Conflicting(
                Reason(
                    "idempotency_key_used",
                    "this Idempotency-Key was already used for another request; use a new one for each "
                    "change",
                )
            )
        if row["status"] is None:
            raise RequestInProgress(
                Reason("request_in_progress", "the same request is still in progress; try again in a moment")
            )
        return StoredResponse(row["status"], row["answer"])

    async def keep(self, key: str, answer: StoredResponse) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE idempotency_keys SET status = $2, answer = $3 WHERE key = $1",
                key,
                answer.status,
                answer.body,
            )

    async def give_back(self, key: str) -> None:
        """Releases a key whose request changed nothing; it may be used again."""
        async with self._transactions.begin() as connection:
            await connection.execute("DELETE FROM idempotency_keys WHERE key = $1 AND status IS NULL", key)


class IdempotencyUpkeep:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def forget(self, before: datetime, *, limit: int = MAX_ROWS) -> int:
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(SELECT ctid FROM idempotency_keys "
                "WHERE created_at < $1 LIMIT $2))",
                before,
                limit,
            )
        return int(status.split()[1])
