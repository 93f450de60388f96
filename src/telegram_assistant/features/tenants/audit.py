"""The audit log."""

from dataclasses import dataclass

from telegram_assistant.stores.postgres.tenants.audit import AuditCursor, AuditEntry, AuditLog


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of the log, newest first; `next` is None on the last page."""

    entries: tuple[AuditEntry, ...]
    next: AuditCursor | None


async def newest_changes(*, audit: AuditLog, limit: int, before: AuditCursor | None = None) -> AuditPage:
    entries = await audit.newest(limit=limit + 1, before=before)
    page = entries[:limit]
    return AuditPage(page, AuditCursor(page[-1].at, page[-1].entry_id) if len(entries) > limit else None)
