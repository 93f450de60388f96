"""The audit log of a tenant: who changed what, when and how."""

from datetime import datetime

from telegram_assistant.errors import Missing
from telegram_assistant.features.audit import newest_changes
from telegram_assistant.stores.postgres.tenants.audit import AuditCursor
from telegram_assistant.web.views import NOTHING_HERE, Content, TenantView, uuid_of

SHOWN_CHANGES = 100


async def show(view: TenantView) -> Content:
    page = await newest_changes(audit=view.stores.audit, limit=SHOWN_CHANGES, before=_before(view.query("before")))
    return {"page": page, "is_first": not view.query("before")}


def _before(text: str) -> AuditCursor | None:
    if not text:
        return None
    moment, _, entry = text.partition("_")
    try:
        at = datetime.fromisoformat(moment)
    except ValueError as error:
        raise Missing(NOTHING_HERE) from error
    if at.tzinfo is None:
        raise Missing(NOTHING_HERE)
    return AuditCursor(at, uuid_of(entry))
