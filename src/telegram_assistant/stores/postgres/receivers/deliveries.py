"""The outbox of alerts and digests: which receiver is due, what waits for it in order, and how an attempt
ended.

Tenants take turns: a claim goes to the tenant whose last turn is the longest ago.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.domain.receivers.delivery import (
    MAX_RETRY_AFTER,
    PAUSED_AFTER,
    AttemptResult,
    ReceiverKind,
    address_hash,
    retry_after,
)
from telegram_assistant.reasons import dump_reason
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True, kw_only=True)
class DueReceiver:
    """A receiver that this process may send to, until its lease ends."""

    tenant_id: TenantId
    tenant: UUID
    receiver_id: UUID
    kind: ReceiverKind
    name: str
    address: str
    language: str
    is_confirmed: bool
    sealed_secrets: tuple[str, ...]
    """Those that sign, the newest first."""

    def __repr__(self) -> str:
        return f"DueReceiver({self.receiver_id})"


@dataclass(frozen=True, slots=True)
class Delivery:
    """An alert, a digest or a code to deliver. The id is the same in every attempt."""

    delivery_id: UUID
    attempt: int
    created_at: datetime
    alert_id: UUID | None = None
    user_id: UserId | None = None
    """Whose alert it is. None: everybody's in the tenant."""
    digest: "DeliveredDigest | None" = None
    code_number: int | None = None


@dataclass(frozen=True, slots=True)
class DeliveredDigest:
    """Which digest of whom."""

    user_id: UserId
    digest_id: UUID


class Deliveries:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def claim(
        self,
        *,
        owner: str,
        lease: timedelta,
        now: datetime,
        per_hour: int,
        except_for: Collection[TenantId] = (),
    ) -> DueReceiver | None:
        """Claims a receiver that has something to get and is neither paused nor waiting after a failure.
        None: there is none.

        Tenants of `except_for`, suspended ones, and those that had `per_hour` attempts in this hour get no
        turn.
        """
        hour = hour_of(now)
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(CLAIM, owner, now + lease, now, list(except_for), hour, per_hour)
        return None if row is None else _due_receiver(row)

    async def waiting(
        self, receiver: DueReceiver, *, owner: str, lease: timedelta, now: datetime, per_hour: int, limit: int
    ) -> tuple[Delivery, ...]:
        """Returns the deliveries that are due for the receiver, in order, and counts an attempt of each.

        Empty if there is nothing, the lease was lost, or the tenant may not send any more in this hour.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                WAITING,
                receiver.tenant_id,
                receiver.receiver_id,
                owner,
                now + lease,
                now,
                limit,
                hour_of(now),
                per_hour,
            )
        return tuple(map(_delivery, sorted(rows, key=lambda row: (row["due_at"], row["number"]))))

    async def mark_delivered(
        self, receiver: DueReceiver, deliveries: Sequence[Delivery], *, now: datetime
    ) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                DELIVERED, receiver.tenant_id, [delivery.delivery_id for delivery in deliveries], now
            )
            await connection.execute(WORKS, receiver.tenant_id, receiver.receiver_id, now)

    async def mark_confirmed(self, receiver: DueReceiver, code_number: int, *, now: datetime) -> None:
        """The receiver itself has answered with its code."""
        async with self._transactions.begin() as connection:
            await connection.execute(CONFIRMED, receiver.tenant_id, receiver.receiver_id, code_number, now)

    async def record_failure(self, receiver: DueReceiver, result: AttemptResult, *, now: datetime) -> bool:
        """Leaves the receiver alone for a while, longer each time, or for as long as it asks.

        Pauses it when it is gone, or has failed for a day. Returns whether it is paused now.
        """
        async with self._transactions.begin() as connection:
            failure_count: int = (
                await connection.fetchval(FAILURES, receiver.tenant_id, receiver.receiver_id) or 0
            )
            wait = max(
                retry_after(failure_count + 1), min(result.retry_after or timedelta(), MAX_RETRY_AFTER)
            )
            row = await connection.fetchrow(
                FAILED,
                receiver.tenant_id,
                receiver.receiver_id,
                now,
                now + wait,
                dump_reason(result.trouble),
                PAUSED_AFTER,
                result.is_gone,
            )
        return row is not None and row["paused_at"] is not None

    async def take_letter(
        self, address: str, *, is_code: bool, now: datetime, most_letters: int, most_codes: int
    ) -> bool:
        """Counts a mail to this address.

        Returns False, and counts nothing, if it has got as many today as an address may get.
        """
        async with self._transactions.begin() as connection:
            is_counted: bool | None = await connection.fetchval(
                TAKE_LETTER, address_hash(address), now.date(), int(is_code), most_letters, most_codes
            )
        return bool(is_counted)

    async def give_back_letter(self, address: str, *, is_code: bool, now: datetime) -> None:
        """The mail server has not taken it."""
        async with self._transactions.begin() as connection:
            await connection.execute(GIVE_BACK_LETTER, address_hash(address), now.date(), int(is_code))

    async def release(self, receiver: DueReceiver, *, owner: str) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(RELEASE, receiver.tenant_id, receiver.receiver_id, owner)

    async def forget(self, before: datetime, *, limit: int = MAX_ROWS) -> int:
        """Deletes so many counts of mails from before that day, and secrets that have ended.

        Returns how many of both.
        """
        async with self._transactions.begin() as connection:
            counts = await connection.execute(
                "DELETE FROM letter_counts WHERE ctid = ANY (ARRAY(SELECT ctid FROM letter_counts "
                "WHERE day < $1 LIMIT $2))",
                before.date(),
                limit,
            )
            ended_text = await connection.execute("DELETE FROM receiver_secrets WHERE ends_at < now()")
        return sum(int(status.rpartition(" ")[2]) for status in (counts, ended_text))


def hour_of(now: datetime) -> datetime:
    """The hour in which a tenant's attempts are counted."""
    return now.replace(minute=0, second=0, microsecond=0)


def _due_receiver(row: asyncpg.Record) -> DueReceiver:
    return DueReceiver(
        **{
            **dict(row),
            "kind": ReceiverKind(row["kind"]),
            "sealed_secrets": tuple(row["sealed_secrets"] or ()),
        }
    )


def _delivery(row: asyncpg.Record) -> Delivery:
    user_id = None if row["user_id"] is None else UserId(row["user_id"])
    return Delivery(
        row["delivery_id"],
        row["attempts"],
        row["created_at"],
        alert_id=row["alert_id"],
        user_id=user_id,
        digest=DeliveredDigest(user_id, row["digest_id"]) if user_id and row["digest_id"] else None,
        code_number=row["code_number"],
    )


# Goes through the tenants in their turn and stops at the first one with a receiver that is due: it costs more
# the more tenants have nothing to send, and nothing more for what waits. A receiver that is not confirmed
# gets its code and nothing else.
CLAIM = """
-- $1 owner, $2 end of the lease, $3 now, $4 tenants without a turn, $5 this hour, $6 attempts of a tenant per
-- hour
WITH chosen AS (
    SELECT r.tenant_id, r.receiver_id
    FROM (
        SELECT s.tenant_id FROM delivery_shares s JOIN tenants t USING (tenant_id)
        WHERE t.suspended_at IS NULL AND s.tenant_id <> ALL ($4::bigint[])
            AND NOT (s.hour = $5 AND s.attempts >= $6)
          AND EXISTS (SELECT 1 FROM deliveries d WHERE d.tenant_id = s.tenant_id AND d.delivered_at IS NULL)
        ORDER BY s.served_at, s.tenant_id OFFSET 0
    ) turn
    CROSS JOIN LATERAL (
        SELECT c.tenant_id, c.receiver_id FROM receivers c
        WHERE c.tenant_id = turn.tenant_id AND c.paused_at IS NULL
          AND (c.retry_at IS NULL OR c.retry_at <= $3) AND (c.leased_until IS NULL OR c.leased_until < $3)
          AND EXISTS (
            SELECT 1 FROM deliveries d
            WHERE d.tenant_id = c.tenant_id AND d.receiver_id = c.receiver_id AND d.delivered_at IS NULL
                AND d.due_at <= $3
              AND (d.code_number IS NULL) = (c.confirmed_at IS NOT NULL))
        ORDER BY c.claimed_at NULLS FIRST, c.receiver_id LIMIT 1 FOR UPDATE OF c SKIP LOCKED
    ) r
    LIMIT 1
),
served AS (
    UPDATE delivery_shares s SET served_at = $3 FROM chosen c WHERE s.tenant_id = c.tenant_id
)
UPDATE receivers r SET leased_by = $1, leased_until = $2, claimed_at = $3 FROM chosen c
JOIN tenants t USING (tenant_id)
WHERE r.tenant_id = c.tenant_id AND r.receiver_id = c.receiver_id
RETURNING r.tenant_id, t.public_id AS tenant, r.receiver_id, r.kind, r.name, r.address, r.language,
    r.confirmed_at IS NOT NULL AS is_confirmed,
    ARRAY (SELECT k.sealed FROM receiver_secrets k
           WHERE k.tenant_id = r.tenant_id AND k.receiver_id = r.receiver_id
               AND (k.ends_at IS NULL OR k.ends_at > $3)
           ORDER BY k.made_at DESC) AS sealed_secrets
"""

WAITING = """
-- $1 tenant, $2 receiver, $3 owner, $4 end of the lease, $5 now, $6 how many, $7 this hour, $8 attempts of a
-- tenant per hour
WITH held AS (
    UPDATE receivers r SET leased_until = $4
    WHERE tenant_id = $1 AND receiver_id = $2 AND leased_by = $3 AND paused_at IS NULL
      AND EXISTS (SELECT 1 FROM tenants t WHERE t.tenant_id = $1 AND t.suspended_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM delivery_shares s
          WHERE s.tenant_id = $1 AND s.hour = $7 AND s.attempts >= $8)
    RETURNING receiver_id, confirmed_at IS NOT NULL AS is_confirmed
),
due AS (
    SELECT d.delivery_id FROM deliveries d JOIN held h USING (receiver_id)
    WHERE d.tenant_id = $1 AND d.delivered_at IS NULL AND d.due_at <= $5
        AND (d.code_number IS NULL) = h.is_confirmed
    ORDER BY d.due_at, d.number LIMIT $6
),
counted AS (
    UPDATE delivery_shares SET attempts = CASE WHEN hour = $7 THEN attempts ELSE 0 END + 1, hour = $7
    WHERE tenant_id = $1 AND EXISTS (SELECT 1 FROM due)
)
UPDATE deliveries d SET attempts = attempts + 1 FROM due
WHERE d.tenant_id = $1 AND d.delivery_id = due.delivery_id
RETURNING d.delivery_id, d.attempts, d.created_at, d.alert_id, d.digest_id, d.user_id, d.code_number,
    d.due_at, d.number
"""

DELIVERED = "UPDATE deliveries SET delivered_at = $3 WHERE tenant_id = $1 AND delivery_id = ANY ($2::uuid[])"

# Somebody may have paused the receiver during the attempt: the pause and its reason stay.
WORKS = """
UPDATE receivers SET failures = 0, failing_since = NULL, retry_at = NULL, delivered_at = $3,
    trouble = CASE WHEN paused_at IS NOT NULL THEN trouble END
WHERE tenant_id = $1 AND receiver_id = $2
"""

CONFIRMED = """
UPDATE receivers SET confirmed_at = $4 WHERE tenant_id = $1 AND receiver_id = $2 AND confirmed_at IS NULL
    AND code_number = $3
"""

FAILURES = "SELECT failures FROM receivers WHERE tenant_id = $1 AND receiver_id = $2"

FAILED = """
UPDATE receivers SET failures = failures + 1, failing_since = coalesce(failing_since, $3), retry_at = $4,
    trouble = CASE WHEN paused_at IS NULL THEN $5 ELSE trouble END,
    paused_at = coalesce(paused_at, CASE WHEN $7 OR coalesce(failing_since, $3) <= $3 - $6::interval
        THEN $3 END)
WHERE tenant_id = $1 AND receiver_id = $2 RETURNING paused_at
"""

RELEASE = (
    "UPDATE receivers SET leased_by = NULL, leased_until = NULL WHERE tenant_id = $1 AND receiver_id = $2 "
    "AND leased_by = $3"
)

TAKE_LETTER = """
-- $1 hash of the address, $2 day, $3 1 for a code, $4 letters a day, $5 codes a day
INSERT INTO letter_counts AS c (address_hash, day, letters, codes) VALUES ($1, $2, 1, $3)
ON CONFLICT (address_hash, day) DO UPDATE SET letters = c.letters + 1, codes = c.codes + $3
    WHERE c.letters < $4 AND c.codes + $3 <= $5
RETURNING true
"""

GIVE_BACK_LETTER = (
    "UPDATE letter_counts SET letters = letters - 1, codes = codes - $3 WHERE address_hash = $1 AND day = $2"
)
