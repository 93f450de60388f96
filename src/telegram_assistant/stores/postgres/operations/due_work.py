"""The queue of due work: tenants take turns, any worker claims, and nothing waits for what another one does.

Work whose time has come is made ready. A claim goes to the next tenant in the round that has ready work, and
takes some work of one kind of it, together. Like the due-queue of polls, a claim sets the due time to the end
of its lease, so work of a dead process becomes due again by itself.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

import asyncpg

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.operations.due_work import DueWork, WaitingWork, WorkUrgency
from telegram_assistant.stores.postgres.database import SystemTransactions

READY_AT_ONCE = 1000
MAX_ERROR_LETTERS = 500


class DueWorkQueue:
    """A system store. It uses the database's clock."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def make_ready(self) -> frozenset[WorkUrgency]:
        """Lets work whose time has come take part in turns, also work of processes that died.

        Returns the urgencies that have ready work.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(MAKE_READY, READY_AT_ONCE)
            rows = await connection.fetch(READY, list(WorkUrgency))
        return frozenset(WorkUrgency(row["urgency"]) for row in rows)

    async def claim(
        self,
        urgency: WorkUrgency,
        *,
        owner: str,
        lease: timedelta,
        together: Mapping[str, int],
        after: int = -1,
        except_for: Collection[int] = (),
    ) -> tuple[DueWork, ...]:
        """Claims ready work of the tenant that comes after this turn in the round, all of one kind.

        `together` says how much of each kind is claimed at once; other kinds are left to other workers. Work
        that has failed is claimed alone. Tenants of `except_for` get no turn. Empty: nothing is ready.
        """
        arguments = (
            urgency,
            list(except_for),
            list(together),
            list(together.values()),
            owner,
            lease,
        )
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(CLAIM, after, *arguments)
            if not rows and after >= 0:
                rows = await connection.fetch(CLAIM, -1, *arguments)
        return tuple(map(_due_work, rows))

    async def renew(self, works: Collection[DueWork], *, owner: str, lease: timedelta) -> None:
        """Work in hand stays claimed."""
        async with self._transactions.begin() as connection:
            await connection.execute(RENEW, owner, [work.work_id for work in works], lease)

    async def complete(self, work: DueWork, *, owner: str, next_at: datetime | None) -> bool:
        """The work is due again at that moment; None: not before it is enqueued again.

        Returns False if it has been claimed by another process meanwhile.
        """
        statement, *moments = (DELETE,) if next_at is None else (COMPLETE, next_at)
        async with self._transactions.begin() as connection:
            status = await connection.execute(statement, owner, work.work_id, work.attempt, *moments)
        return status.endswith(" 1")

    async def fail(self, work: DueWork, *, owner: str, error: str) -> None:
        """The work is due again after a pause, which grows with each attempt."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                FAIL, owner, work.work_id, work.attempt, work.pause, error[:MAX_ERROR_LETTERS]
            )

    async def put_back(self, works: Sequence[DueWork], *, owner: str, pause: timedelta) -> None:
        """Returns claimed work that was not done: a server was away, or the process stops. No failure."""
        async with self._transactions.begin() as connection:
            await connection.execute(PUT_BACK, owner, [work.work_id for work in works], pause)

    async def hurry(self, kinds: Collection[str]) -> None:
        """Makes work of these kinds due now, except work that has its hour."""
        async with self._transactions.begin() as connection:
            await connection.execute(HURRY, list(kinds))

    async def count(self) -> tuple[WaitingWork, ...]:
        """How much of each kind waits."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(COUNT)
        return tuple(
            WaitingWork(
                row["kind"], row["due"], float(row["late_seconds"]), row["failed"], row["last_error"] or ""
            )
            for row in rows
        )


def _due_work(row: asyncpg.Record) -> DueWork:
    return DueWork(
        work_id=row["work_id"],
        kind=row["kind"],
        urgency=WorkUrgency(row["urgency"]),
        tenant_id=None if row["tenant_id"] is None else TenantId(row["tenant_id"]),
        user_id=None if row["user_id"] is None else UserId(row["user_id"]),
        moment=row["moment"],
        attempt=row["attempts"],
    )


MAKE_READY = """
WITH due AS (
    SELECT work_id FROM due_work WHERE NOT is_ready AND due_at <= now()
    ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE due_work w SET is_ready = true, leased_by = NULL FROM due WHERE w.work_id = due.work_id
"""

READY = """
SELECT u.urgency FROM unnest($1::smallint[]) AS u(urgency)
WHERE EXISTS (SELECT 1 FROM due_work w WHERE w.is_ready AND w.urgency = u.urgency)
"""

# The round goes by tenant, so a claim finds the next one with one descent of the index, however much waits
# for another. Work of a tenant is claimed together because what its people share is then read once.
CLAIM = """
-- $1 turn after which, $2 urgency, $3 turns that are left out, $4 kinds, $5 how many of each together,
-- $6 owner, $7 lease
WITH turn AS (
    SELECT work_id, kind, coalesce(tenant_id, 0) AS place, attempts FROM due_work
    WHERE is_ready AND urgency = $2 AND coalesce(tenant_id, 0) > $1
        AND coalesce(tenant_id, 0) <> ALL ($3::bigint[]) AND kind = ANY ($4::text[])
    ORDER BY coalesce(tenant_id, 0), due_at LIMIT 1 FOR UPDATE SKIP LOCKED
),
chosen AS (
    SELECT work_id FROM due_work
    WHERE is_ready AND urgency = $2 AND coalesce(tenant_id, 0) = (SELECT place FROM turn)
        AND kind = (SELECT kind FROM turn) AND (work_id = (SELECT work_id FROM turn)
            OR (attempts = 0 AND (SELECT attempts FROM turn) = 0))
    ORDER BY due_at
    LIMIT (SELECT k.together FROM turn JOIN unnest($4::text[], $5::int[]) AS k(kind, together) USING (kind))
    FOR UPDATE SKIP LOCKED
)
UPDATE due_work w SET is_ready = false, leased_by = $6, due_at = now() + $7, attempts = w.attempts + 1,
    scheduled_at = now()
FROM chosen c WHERE w.work_id = c.work_id
RETURNING w.work_id, w.kind, w.urgency, w.tenant_id, w.user_id, w.moment, w.attempts
"""

RENEW = """
UPDATE due_work SET due_at = now() + $3
WHERE work_id = ANY ($2::bigint[]) AND leased_by = $1 AND NOT is_ready
"""

OWN = "work_id = $2 AND leased_by = $1 AND attempts = $3 AND NOT is_ready"
"""$1 owner, $2 work, $3 attempt"""

DELETE = f"DELETE FROM due_work WHERE {OWN}"

COMPLETE = f"""
UPDATE due_work SET leased_by = NULL, attempts = 0, failed_at = NULL, error = NULL, due_at = $4, moment = $4
WHERE {OWN}
"""

FAIL = f"""
UPDATE due_work SET leased_by = NULL, failed_at = now(), error = $5, due_at = now() + $4 WHERE {OWN}
"""

PUT_BACK = """
UPDATE due_work SET leased_by = NULL, attempts = attempts - 1, due_at = now() + $3
WHERE work_id = ANY ($2::bigint[]) AND leased_by = $1 AND NOT is_ready
"""

HURRY = """
UPDATE due_work SET due_at = now()
WHERE kind = ANY ($1::text[]) AND leased_by IS NULL AND moment IS NULL AND NOT is_ready
"""

COUNT = """
SELECT kind, count(*) FILTER (WHERE due_at <= now()) AS due, count(error) AS failed,
    extract(epoch FROM greatest(now() - min(due_at), interval '0')) AS late_seconds,
    (max(ARRAY[extract(epoch FROM failed_at)::text, error]) FILTER (WHERE error IS NOT NULL))[2] AS last_error
FROM due_work GROUP BY kind ORDER BY kind
"""
