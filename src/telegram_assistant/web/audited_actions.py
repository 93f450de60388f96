"""Performs audited changes: each once per form, and recorded in the audit log."""

import hashlib
from functools import partial
from typing import Any

from starlette.responses import RedirectResponse, Response

from telegram_assistant.features.tenants.audit import record_action
from telegram_assistant.features.tenants.idempotency import perform_once
from telegram_assistant.stores.postgres.tenants.audit import AuditedAction
from telegram_assistant.stores.postgres.tenants.idempotency import StoredResponse
from telegram_assistant.web.access.forgery import FIELD
from telegram_assistant.web.page import Action, PageInTenant
from telegram_assistant.web.views import Content, TenantView

IDEMPOTENCY = "once"
"""The hidden field of forms whose change is audited."""


async def perform_form_once(
    route: Action[Any], audited: str, view: TenantView
) -> Content | Response | PageInTenant:
    """Performs an audited change once per form, however often its button was pressed."""
    key = view.text(IDEMPOTENCY)
    if not key:
        return await _perform(route, audited, view)
    fields = sorted((name, str(value)) for name, value in view.form.multi_items() if name != FIELD)
    request = hashlib.sha256(repr((view.person.user_id, view.request.url.path, fields)).encode()).digest()
    answer: Content | Response | PageInTenant | StoredResponse = await perform_once(
        partial(_perform, route, audited, view),
        key=f"form:{key}",
        request=request,
        seconds=view.app.settings.api.timeout_seconds + 5,
        idempotency=view.stores.idempotency,
        response_of=partial(_stored_response, view),
    )
    if isinstance(answer, StoredResponse):
        return RedirectResponse((answer.body or view.url("/feed").encode()).decode(), status_code=303)
    return answer


async def _perform(
    route: Action[Any], audited_text: str, view: TenantView
) -> Content | Response | PageInTenant:
    answer = await route.perform(view)
    subject = view.request.url.path.removeprefix(view.url(""))
    action = AuditedAction(view.person.name, audited_text, subject, None, view.facts, view.person.public_id)
    await record_action(action, audit=view.stores.audit)
    return answer


def _stored_response(view: TenantView, answer: Content | Response | PageInTenant) -> StoredResponse:
    location = answer.headers.get("location", "") if isinstance(answer, Response) else view.url("/feed")
    return StoredResponse(303, location.encode())
