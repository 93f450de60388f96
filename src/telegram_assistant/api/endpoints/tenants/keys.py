"""API keys."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import AwareDatetime, ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    CursorText,
    Limit,
    PageResponse,
    RequestModel,
    ResponseModel,
    Storable,
    read_moment_cursor,
    write_moment_cursor,
)
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.tenants.keys import CreatedKey, KeyMaker, list_keys, make_key, revoke_key
from telegram_assistant.stores.postgres.tenants.keys import ApiKey
from telegram_assistant.stores.redis.rate_limits import RateLimits

area = Area(
    "Keys",
    "API keys of the tenant. Only their hashes are stored: a lost key cannot be recovered, only replaced.",
)

KEY_EXAMPLE = {
    "key_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f10",
    "name": "dashboard",
    "prefix": "tga_hK3f9a",
    "scopes": ["read"],
    "created_by": "anna",
    "created_at": "2026-11-15T08:00:00Z",
    "expires_at": None,
    "last_used_at": "2026-11-15T09:30:00Z",
    "revoked_at": None,
    "parent_key_id": None,
}
KeyId = Annotated[
    UUID, Path(description="`key_id` of the key.", examples=["0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f10"])
]


class KeyResponse(ResponseModel):
    """A key, without its secret."""

    key_id: UUID
    name: str
    prefix: str
    scopes: list[KeyScope]
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    parent_key_id: UUID | None = Field(
        description="The key that created this one. When that key expires or is revoked, "
        "this one stops working."
    )


class KeysResponse(PageResponse):
    """A page of the tenant's keys, newest first."""

    items: list[KeyResponse]


class KeyRequest(RequestModel):
    """A key to create.

    Its scopes and lifetime cannot exceed those of the key that creates it; without `expires_at` it expires
    with that key.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "dashboard", "scopes": ["read"], "expires_at": "2027-11-15T00:00:00Z"}]
        }
    )

    name: Annotated[Storable, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[KeyScope], Field(min_length=1, max_length=len(KeyScope))]
    expires_at: AwareDatetime | None = None


class CreatedKeyResponse(ResponseModel):
    """A new key. `secret` is shown only once."""

    key: KeyResponse
    secret: str


@area.get("/keys", scope=KeyScope.ADMIN, example={"items": [KEY_EXAMPLE], "next": None})
async def list_api_keys(context: Context, limit: Limit = 50, cursor: CursorText = None) -> KeysResponse:
    """List the tenant's keys, revoked ones included."""
    page = await list_keys(keys=context.stores.keys, limit=limit, before=read_moment_cursor(cursor))
    return KeysResponse(items=[_response(key) for key in page.keys], next=write_moment_cursor(page.next))


@area.post(
    "/keys",
    scope=KeyScope.ADMIN,
    example={"key": KEY_EXAMPLE, "secret": "tga_hK3f9aYw0Xr8m1cJ2vQ6sT4nB7pL5dZxGuEiOaRk3Fh"},
    status=201,
    is_secret=True,
)
async def create_api_key(context: Context, body: KeyRequest) -> CreatedKeyResponse:
    """Create a key.

    Only this response contains its secret: store it. The key stops working when the key that created it
    expires or is revoked. A repeated request with the same Idempotency-Key creates no second key and does not
    return the secret again.
    """
    context.note(name=body.name, scopes=list(body.scopes))
    caller = context.caller
    maker = KeyMaker(actor=caller.actor, scopes=caller.scopes, user_id=caller.user_id, key_id=caller.key_id)
    created_key = await make_key(
        body.name,
        body.scopes,
        maker=maker,
        keys=context.stores.keys,
        now=context.now,
        expires_at=body.expires_at,
    )
    return created_key_response(created_key)


@area.delete("/keys/{key_id}", scope=KeyScope.ADMIN)
async def revoke_api_key(context: Context, key_id: KeyId) -> None:
    """Revoke a key, and every key that was created with it.

    They are refused from the next request on; while Redis is unavailable, within a minute.
    """
    await revoke_key(
        key_id, keys=context.stores.keys, drop_cached_keys=RateLimits(context.app.redis).drop_cached_keys
    )


def created_key_response(created: CreatedKey) -> CreatedKeyResponse:
    return CreatedKeyResponse(key=_response(created.key), secret=created.secret)


def _response(key: ApiKey) -> KeyResponse:
    return KeyResponse.model_validate(key, from_attributes=True)
