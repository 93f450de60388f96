"""The caller: the tenant and the scopes of the key."""

from uuid import UUID

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.domain.tenants.access import KeyScope

area = Area("Me", "The key that you use: its tenant and its scopes.")

EXAMPLE = {
    "tenant": "5f0c9c1e-7f6e-4a38-9d4e-0f0f7f8b6a11",
    "tenant_name": "default",
    "is_operator": True,
    "actor": "anna",
    "key_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f10",
    "scopes": ["read", "write"],
}


class CurrentKeyResponse(ResponseModel):
    """The key that was sent. `key_id` is null for OPERATOR_KEY."""

    tenant: UUID
    tenant_name: str
    is_operator: bool
    actor: str
    key_id: UUID | None
    scopes: list[KeyScope]


@area.get("/me", scope=KeyScope.READ, example=EXAMPLE)
async def get_me(context: Context) -> CurrentKeyResponse:
    """Get the tenant and the scopes of your key."""
    caller = context.caller
    return CurrentKeyResponse(
        tenant=caller.tenant,
        tenant_name=caller.tenant_name,
        is_operator=caller.is_operator,
        actor=caller.actor,
        key_id=caller.key_id,
        scopes=[scope for scope in KeyScope if scope in caller.scopes],
    )
