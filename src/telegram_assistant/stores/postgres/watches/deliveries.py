"""The outbox of alerts and digests: which receiver is due, what waits for it in order, and how an attempt ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.watches.delivery import PAUSED_AFTER, ReceiverKind, retry_after
from telegram_assistant.reasons import Reason, dump_reason
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True, kw_only=True)
class DueReceiver:
    """A receiver that this process may send to, until its lease ends."""

    tenant_id: TenantId
    tenant: UUID
    receiver_id: UUID
    kind: ReceiverKind
    address: str
    language: str
    secret: str

    def __repr__(self) -> str:
        return f"DueReceiver({self.receiver_id})"


@dataclass(frozen=True, slots=True)
class Delivery:
    """An alert or a digest to deliver. The id is the same in every attempt."""

    delivery_id: UUID
    attempt: int
    alert_id: UUID | None
    digest: "DeliveredDigest | None" = None


@dataclass(frozen=True, slots=True)
class DeliveredDigest:
    """Which digest of whom."""

    user_id: UserId
    digest_id: UUID


class Deliveries:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def claim(self, *, owner: str, lease: timedelta, now: datetime) -> DueReceiver | None:
        """Claims a receiver that has something to get and is neither paused nor waiting after a failure. None: there is none."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(CLAIM, owner, now + lease, now)
        return None if row is None else DueReceiver(**{**dict(row), "kind": ReceiverKind(row["kind"])})

    async def waiting(self, receiver: DueReceiver, *, owner: str, lease: timedelta, now: datetime, limit: int) -> tuple[Delivery, ...]:
        """What is due for the receiver, in order, and counts an attempt of each. Empty if there is nothing, or the lease was lost."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(WAITING, receiver.tenant_id, receiver.receiver_id, owner, now + lease, now, limit)
        return tuple(map(_delivery, sorted(rows, key=lambda row: (row["due_at"], row["number"]))))

    async def delivered(self, receiver: DueReceiver, deliveries: Sequence[Delivery], *, now: datetime) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(DELIVERED, receiver.tenant_id, [one.delivery_id for one in deliveries], now)
            await connection.execute(WORKS, receiver.tenant_id, receiver.receiver_id, now)

    async def failed(self, receiver: DueReceiver, reason: Reason, *, now: datetime) -> bool:
        """Leaves the receiver alone for a while, longer each time; pauses it when it has failed for a day. Returns whether it is paused now."""
        async with self._transactions.begin() as connection:
            failures: int = await connection.fetchval(FAILURES, receiver.tenant_id, receiver.receiver_id) or 0
            row = await connection.fetchrow(
                FAILED, receiver.tenant_id, receiver.receiver_id, now, now + retry_after(failures + 1), dump_reason(reason), PAUSED_AFTER
            )
        return row is not None and row["paused_at"] is not None

    async def release(self, receiver: DueReceiver, *, owner: str) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(RELEASE, receiver.tenant_id, receiver.receiver_id, owner)


def _delivery(row: asyncpg.Record) -> Delivery:
    digest = DeliveredDigest(UserId(row["user_id"]), row["digest_id"]) if row["digest_id"] else None
    return Delivery(row["delivery_id"], row["attempts"], row["alert_id"], digest)


CLAIM = """
UPDATE receivers r SET leased_by = $1, leased_until = $2 FROM (
    SELECT c.tenant_id, c.receiver_id FROM receivers c
    WHERE c.paused_at IS NULL AND (c.retry_at IS NULL OR c.retry_at <= $3) AND (c.leased_until IS NULL OR c.leased_until < $3)
      AND EXISTS (SELECT 1 FROM deliveries d
                  WHERE d.tenant_id = c.tenant_id AND d.receiver_id = c.receiver_id AND d.delivered_at IS NULL AND d.due_at <= $3)
    ORDER BY c.leased_until NULLS FIRST LIMIT 1 FOR UPDATE SKIP LOCKED) due
JOIN tenants t ON t.tenant_id = due.tenant_id AND t.suspended_at IS NULL
WHERE r.tenant_id = due.tenant_id AND r.receiver_id = due.receiver_id
RETURNING r.tenant_id, t.public_id AS tenant, r.receiver_id, r.kind, r.address, r.language, r.secret
"""

WAITING = """
WITH held AS (
    UPDATE receivers SET leased_until = $4 WHERE tenant_id = $1 AND receiver_id = $2 AND leased_by = $3 AND paused_at IS NULL RETURNING receiver_id
),
due AS (
    SELECT d.delivery_id FROM deliveries d JOIN held USING (receiver_id)
    WHERE d.tenant_id = $1 AND d.delivered_at IS NULL AND d.due_at <= $5 ORDER BY d.due_at, d.number LIMIT $6
)
UPDATE deliveries d SET attempts = attempts + 1 FROM due WHERE d.tenant_id = $1 AND d.delivery_id = due.delivery_id
RETURNING d.delivery_id, d.attempts, d.alert_id, d.digest_id, d.user_id, d.due_at, d.number
"""

DELIVERED = "UPDATE deliveries SET delivered_at = $3 WHERE tenant_id = $1 AND delivery_id = ANY ($2::uuid[])"

# Somebody may have paused the receiver during the attempt: the pause and its reason stay.
WORKS = """
UPDATE receivers SET failures = 0, failing_since = NULL, retry_at = NULL, delivered_at = $3,
    trouble = CASE WHEN paused_at IS NOT NULL THEN trouble END
WHERE tenant_id = $1 AND receiver_id = $2
"""

FAILURES = "SELECT failures FROM receivers WHERE tenant_id = $1 AND receiver_id = $2"

FAILED = """
UPDATE receivers SET failures = failures + 1, failing_since = coalesce(failing_since, $3), retry_at = $4,
    trouble = CASE WHEN paused_at IS NULL THEN $5 ELSE trouble END,
    paused_at = coalesce(paused_at, CASE WHEN coalesce(failing_since, $3) <= $3 - $6::interval THEN $3 END)
WHERE tenant_id = $1 AND receiver_id = $2 RETURNING paused_at
"""

RELEASE = "UPDATE receivers SET leased_by = NULL, leased_until = NULL WHERE tenant_id = $1 AND receiver_id = $2 AND leased_by = $3"
