"""Changes made at the command line, recorded in the audit log like changes over HTTP."""

from telegram_assistant.assembly import ApiApp, App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.features.tenants.audit import record_action
from telegram_assistant.features.tenants.keys import find_operator
from telegram_assistant.stores.postgres.tenants.audit import AuditedAction

ACTOR = "command line"


async def record_change(
    app: App | ApiApp, tenant_id: TenantId, action: str, subject: str, **facts: Json
) -> None:
    """Records a change in the audit log of its tenant.

    `action` is the API's name of the operation where it has one.
    """
    await record_action(AuditedAction(ACTOR, action, subject, facts=facts), audit=app.tenant(tenant_id).audit)


async def record_operation(app: App, action: str, subject: str, **facts: Json) -> None:
    """Records a change to the installation, in the operator's audit log."""
    operator = await find_operator(directory=app.api.key_directory)
    await record_change(app, operator.tenant_id, action, subject, **facts)
