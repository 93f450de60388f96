"""The audit log: recording changes, and listing them."""

from dataclasses import dataclass

from telegram_assistant.domain.timestamps import MomentCursor
from telegram_assistant.stores.postgres.tenants.audit import AuditedAction, AuditEntry, AuditLog


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of the log, newest first; `next` is None on the last page."""

    entries: tuple[AuditEntry, ...]
    next: MomentCursor | None


async def record_action(action: AuditedAction, *, audit: AuditLog) -> None:
    await audit.note(action)


async def newest_changes(*, audit: AuditLog, limit: int, before: MomentCursor | None = None) -> AuditPage:
    entries = await audit.newest(limit=limit + 1, before=before)
    page = entries[:limit]
    return AuditPage(page, MomentCursor(page[-1].at, page[-1].entry_id) if len(entries) > limit else None)
