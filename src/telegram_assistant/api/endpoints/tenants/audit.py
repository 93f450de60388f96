"""The audit log."""

from datetime import datetime
from uuid import UUID

from pydantic import JsonValue

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    CursorText,
    Limit,
    PageResponse,
    ResponseModel,
    read_moment_cursor,
    write_moment_cursor,
)
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.tenants.audit import newest_changes
from telegram_assistant.stores.postgres.tenants.audit import AuditEntry

area = Area(
    "Audit log",
    "Changes made through the API, on pages and on the command line, logins, and who they are of.",
)

EXAMPLE = {
    "at": "2026-11-15T08:00:00Z",
    "actor": "anna",
    "actor_id": "5c1d6f0e-2d5b-4b5e-8a53-6f1d2f8f9f11",
    "key_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f10",
    "action": "follow_channels",
    "subject": "/channels",
    "facts": {"references": ["@citynews"]},
}


class AuditEntryResponse(ResponseModel):
    """One change.

    `action` is the operationId, `subject` the path. `actor_id` is the `public_id` of the person in
    `/members`.
    """

    at: datetime
    actor: str
    actor_id: UUID | None
    key_id: UUID | None
    action: str
    subject: str
    facts: dict[str, JsonValue]


class AuditLogResponse(PageResponse):
    """A page of the audit log, newest first."""

    items: list[AuditEntryResponse]


@area.get("/audit-log", scope=KeyScope.ADMIN, example={"items": [EXAMPLE], "next": None})
async def get_audit_log(context: Context, limit: Limit = 50, cursor: CursorText = None) -> AuditLogResponse:
    """List changes, newest first."""
    page = await newest_changes(audit=context.stores.audit, limit=limit, before=read_moment_cursor(cursor))
    return AuditLogResponse(
        items=[_response(entry) for entry in page.entries],
        next=write_moment_cursor(page.next),
    )


def _response(entry: AuditEntry) -> AuditEntryResponse:
    change = entry.change
    return AuditEntryResponse.model_validate(
        {
            "at": entry.at,
            "actor": change.actor,
            "actor_id": change.actor_id,
            "key_id": change.key_id,
            "action": change.action,
            "subject": change.subject,
            "facts": change.facts,
        }
    )
