"""The audit log of a tenant: who changed what, when and how."""

from telegram_assistant.features.tenants.audit import newest_changes
from telegram_assistant.stores.postgres.tenants.audit import AuditCursor
from telegram_assistant.web.cursors import read_moment_and_id
from telegram_assistant.web.views import Content, TenantView

SHOWN_CHANGES = 100


async def show(view: TenantView) -> Content:
    page = await newest_changes(
        audit=view.stores.audit, limit=SHOWN_CHANGES, before=_before(view.query("before"))
    )
    return {"page": page, "is_first": not view.query("before")}


def _before(text: str) -> AuditCursor | None:
    cursor = read_moment_and_id(text)
    return None if cursor is None else AuditCursor(*cursor)
