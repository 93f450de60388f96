"""Performs audited changes: each once per form, and recorded in the audit log."""

import hashlib
from typing import Any

from starlette.responses import RedirectResponse, Response

from telegram_assistant.stores.postgres.tenants.audit import AuditedAction
from telegram_assistant.stores.postgres.tenants.idempotency import StoredResponse
from telegram_assistant.web.access.forgery import FIELD
from telegram_assistant.web.page import Action, PageInTenant
from telegram_assistant.web.views import Content, TenantView

IDEMPOTENCY = "once"
"""The hidden field of forms whose change is audited."""


async def perform_once(
    route: Action[Any], audited: str, view: TenantView
) -> Content | Response | PageInTenant:
    """Performs an audited change once per form, however often its button was pressed."""
    key, idempotency = view.text(IDEMPOTENCY), view.stores.idempotency
    fields = sorted((name, str(value)) for name, value in view.form.multi_items() if name != FIELD)
    request = hashlib.sha256(repr((view.person.user_id, view.request.url.path, fields)).encode()).digest()
    earlier = (
        await idempotency.take(f"form:{key}", request, seconds=view.app.settings.api.timeout_seconds + 5)
        if key
        else None
    )
    if earlier is not None:
        return RedirectResponse((earlier.body or view.url("/feed").encode()).decode(), status_code=303)
    try:
        answer = await route.perform(view)
    except BaseException:
        if key:
            await idempotency.give_back(f"form:{key}")
        raise
    subject = view.request.url.path.removeprefix(view.url(""))
    await view.stores.audit.note(
        AuditedAction(view.person.name, audited, subject, None, view.facts, view.person.public_id)
    )
    if key:
        location = answer.headers.get("location", "") if isinstance(answer, Response) else view.url("/feed")
        await idempotency.keep(f"form:{key}", StoredResponse(303, location.encode()))
    return answer
