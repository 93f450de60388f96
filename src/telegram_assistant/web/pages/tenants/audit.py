"""The audit log of a tenant: who changed what, when and how."""

from telegram_assistant.features.tenants.audit import newest_changes
from telegram_assistant.web.cursors import read_moment_cursor, write_moment_cursor
from telegram_assistant.web.views import Content, TenantView

SHOWN_CHANGES = 100


async def show(view: TenantView) -> Content:
    page = await newest_changes(
        audit=view.stores.audit, limit=SHOWN_CHANGES, before=read_moment_cursor(view.query("before"))
    )
    return {"page": page, "next": write_moment_cursor(page.next), "is_first": not view.query("before")}
