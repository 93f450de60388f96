"""Digests of people, and their plans."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
from pydantic import TypeAdapter

from telegram_assistant.domain.digests.digest import Digest, StoredDigest, delivery_id_of
from telegram_assistant.domain.digests.plan import DigestLength, DigestPlan
from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.stores.postgres.database import PersonTransactions, SystemTransactions

CONTENT = TypeAdapter(Digest)
DIGEST_COLUMNS = "digest_id, made_at, seen_at, content::text"
PLAN_COLUMNS = "p.times, p.weekdays, p.length, p.receivers, p.zone"


class PersonDigests:
    """A store of one person in one tenant."""

    def __init__(self, transactions: PersonTransactions) -> None:
        self._transactions = transactions

    async def plan(self) -> DigestPlan:
        """An empty plan if the person has not chosen."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(f"SELECT {PLAN_COLUMNS} FROM digest_plans p")
        return _plan(row) if row else DigestPlan()

    async def set_plan(self, plan: DigestPlan) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO digest_plans (times, weekdays, length, zone, receivers)
                    VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (tenant_id, user_id) DO UPDATE
                SET times = excluded.times, weekdays = excluded.weekdays, length = excluded.length,
                    zone = excluded.zone,
                    receivers = excluded.receivers, changed_at = now()
                """,
                list(plan.times),
                sorted(plan.weekdays),
                plan.length.value,
                plan.zone,
                list(plan.receivers),
            )

    async def save(
        self,
        digest_id: UUID,
        digest: Digest,
        *,
        receivers: Sequence[UUID] = (),
        ready_at: datetime | None = None,
    ) -> bool:
        """Keeps the digest, and in the same transaction a delivery for each of these receivers that exists.
        Until it is ready, it is neither sent nor listed; None: it is ready now.

        Returns False if it is there already.
        """
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "INSERT INTO digests (digest_id, since, until, content, made_at) "
                "VALUES ($1, $2, $3, $4::text::jsonb, greatest(now(), $5)) ON CONFLICT DO NOTHING",
                digest_id,
                digest.since,
                digest.until,
                CONTENT.dump_json(digest).decode(),
                ready_at,
            )
            is_new = bool(status == "INSERT 0 1")
            if is_new:
                await connection.execute(
                    DELIVER,
                    digest_id,
                    list(receivers),
                    [delivery_id_of(digest_id, receiver_id) for receiver_id in receivers],
                    ready_at,
                )
        return is_new

    async def find(self, digest_id: UUID) -> StoredDigest | None:
        """The digest, without marking it as seen."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                f"SELECT {DIGEST_COLUMNS} FROM digests WHERE digest_id = $1", digest_id
            )
        return _digest_of(row) if row else None

    async def newest(
        self, *, limit: int, since: datetime | None = None, with_prepared: bool = False
    ) -> tuple[StoredDigest, ...]:
        """Without those that are prepared for a later moment, unless they are wanted."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"""
                SELECT {DIGEST_COLUMNS} FROM digests
                WHERE ($2::timestamptz IS NULL OR until > $2) AND ($3 OR made_at <= now())
                ORDER BY until DESC LIMIT $1
                """,
                limit,
                since,
                with_prepared,
            )
        return tuple(_digest_of(row) for row in rows)

    async def open(self, digest_id: UUID) -> StoredDigest | None:
        """The digest, which is seen from now on."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                "UPDATE digests SET seen_at = coalesce(seen_at, now()) WHERE digest_id = $1 "
                f"RETURNING {DIGEST_COLUMNS}",
                digest_id,
            )
        return _digest_of(row) if row else None


DELIVER = """
INSERT INTO deliveries (delivery_id, receiver_id, digest_id, user_id, due_at)
SELECT w.delivery_id, r.receiver_id, $1, current_person(), greatest(now(), $4)
FROM unnest($2::uuid[], $3::uuid[]) AS w (receiver_id, delivery_id) JOIN receivers r USING (receiver_id)
WHERE r.confirmed_at IS NOT NULL ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class PlannedPerson:
    """A person who wants digests. `since` is the end of the last one, or when they chose the plan."""

    tenant_id: TenantId
    user_id: UserId
    plan: DigestPlan
    since: datetime
    language: str | None
    """None: as the browser asks."""


class DigestPlans:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def everybody(self) -> tuple[PlannedPerson, ...]:
        """Everybody with a plan in a tenant that is not suspended."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(f"{PLANNED} ORDER BY p.tenant_id, p.user_id")
        return tuple(map(_planned_person, rows))

    async def find(self, tenant_id: TenantId, user_id: UserId) -> PlannedPerson | None:
        """This person, if they have a plan in the tenant and it is not suspended."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                f"{PLANNED} AND p.tenant_id = $1 AND p.user_id = $2", tenant_id, user_id
            )
        return _planned_person(row) if row else None


PLANNED = f"""
SELECT p.tenant_id, p.user_id, {PLAN_COLUMNS}, greatest(p.changed_at, d.until) AS since, u.language
FROM digest_plans p
JOIN users u ON u.user_id = p.user_id
JOIN memberships m ON m.tenant_id = p.tenant_id AND m.user_id = p.user_id
JOIN tenants t ON t.tenant_id = p.tenant_id AND t.suspended_at IS NULL
LEFT JOIN LATERAL (
    SELECT until FROM digests d WHERE d.tenant_id = p.tenant_id AND d.user_id = p.user_id
    ORDER BY until DESC LIMIT 1
) d ON true
WHERE p.times <> '{{}}'
"""


def _planned_person(row: asyncpg.Record) -> PlannedPerson:
    return PlannedPerson(
        TenantId(row["tenant_id"]), UserId(row["user_id"]), _plan(row), row["since"], row["language"]
    )


def _plan(row: asyncpg.Record) -> DigestPlan:
    return DigestPlan(
        tuple(sorted(row["times"])),
        frozenset(row["weekdays"]),
        DigestLength(row["length"]),
        tuple(row["receivers"]),
        row["zone"],
    )


def _digest_of(row: asyncpg.Record) -> StoredDigest:
    return StoredDigest(
        row["digest_id"], row["made_at"], row["seen_at"], CONTENT.validate_json(row["content"])
    )
