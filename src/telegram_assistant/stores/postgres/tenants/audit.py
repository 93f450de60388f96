"""The audit log: every change made by a person or one of their programs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.posts.post import Json
from telegram_assistant.domain.timestamps import MomentCursor
from telegram_assistant.stores.postgres.database import TenantTransactions


@dataclass(frozen=True, slots=True)
class AuditedAction:
    """A change and its actor."""

    actor: str
    action: str
    subject: str
    key_id: UUID | None = None
    facts: Mapping[str, Json] = field(default_factory=dict)
    actor_id: UUID | None = None
    """The public id of the person: two names can look the same."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An action with its time."""

    at: datetime
    entry_id: UUID
    change: AuditedAction


class AuditLog:
    """A tenant store. Entries are never changed or deleted."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def note(self, change: AuditedAction) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "INSERT INTO audit_log (actor, key_id, action, subject, facts, actor_id) "
                "VALUES ($1, $2, $3, $4, $5, $6)",
                change.actor,
                change.key_id,
                change.action,
                change.subject,
                json.dumps(change.facts),
                change.actor_id,
            )

    async def newest(self, *, limit: int = 50, before: MomentCursor | None = None) -> tuple[AuditEntry, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT at, entry_id, actor, action, subject, key_id, facts, actor_id FROM audit_log
                WHERE $2::timestamptz IS NULL OR (at, entry_id) < ($2, $3)
                    ORDER BY at DESC, entry_id DESC LIMIT $1
                """,
                limit,
                before.at if before else None,
                before.item_id if before else None,
            )
        return tuple(
            AuditEntry(
                row["at"],
                row["entry_id"],
                AuditedAction(
                    row["actor"],
                    row["action"],
                    row["subject"],
                    row["key_id"],
                    json.loads(row["facts"]),
                    row["actor_id"],
                ),
            )
            for row in rows
        )
