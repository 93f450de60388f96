"""The audit log: who has changed what."""

from dataclasses import dataclass

from telegram_assistant.stores.postgres.tenants.audit import AuditCursor, AuditEntry, AuditLog


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Newest first. Without `next`, there is nothing older."""

    entries: tuple[AuditEntry, ...]
    next: AuditCursor | None


async def newest_changes(*, audit: AuditLog, limit: int, before: AuditCursor | None = None) -> AuditPage:
    found = await audit.newest(limit=limit + 1, before=before)
    shown = found[:limit]
    return AuditPage(shown, AuditCursor(shown[-1].at, shown[-1].entry_id) if len(found) > limit else None)
