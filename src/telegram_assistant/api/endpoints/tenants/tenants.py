"""Tenants. For the operator."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from pydantic import ConfigDict, Field, TypeAdapter

from telegram_assistant.ai.prices import read_prices
from telegram_assistant.api.endpoints import accounts
from telegram_assistant.api.endpoints.accounts import AccountResponse, account_response
from telegram_assistant.api.endpoints.understanding.spending import BudgetRequest, BudgetResponse
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    MAX_ID,
    CursorText,
    Limit,
    PageResponse,
    RequestModel,
    ResponseModel,
    Storable,
    read_cursor,
    write_cursor,
)
from telegram_assistant.domain.accounts.account_risk import Risk
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.tenants import tenants
from telegram_assistant.features.tenants.tenants import MAX_NAME_LETTERS, TenantAccount, TenantPage
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.tenants.tenant_operations import TenantSummary
from telegram_assistant.stores.redis.rate_limits import RateLimits

area = Area(
    "Tenants",
    "All tenants of the installation: their quotas, their budgets, and accounts at risk. "
    "For the operator only.",
)

CURSOR = TypeAdapter(tuple[str])
TenantPublicId = Annotated[
    UUID, Path(description="`tenant_id` of the tenant.", examples=["5f0c9c1e-7f6e-4a38-9d4e-0f0f7f8b6a11"])
]
EXAMPLE = {
    "tenant_id": "5f0c9c1e-7f6e-4a38-9d4e-0f0f7f8b6a11",
    "name": "acme",
    "is_operator": False,
    "created_at": "2026-11-01T00:00:00Z",
    "suspended_at": None,
    "suspended_reason": None,
    "channels": 120,
    "accounts": 1,
    "keys": 2,
    "media_bytes": 734_003_200,
    "media_quota_bytes": 20_000_000_000,
    "has_own_quota": True,
    "budget": {
        "month": "2026-11-01",
        "micro": 500_000_000,
        "used_micro": 12_345_000,
        "tokens": None,
        "used_tokens": 90_000,
    },
    "unit": "RUB",
}


class TenantResponse(ResponseModel):
    """A tenant.

    `media_quota_bytes` is the quota in force (null: no limit); a tenant without its own quota has
    MEDIA_QUOTA_BYTES.
    """

    tenant_id: UUID
    name: str
    is_operator: bool
    created_at: datetime
    suspended_at: datetime | None
    suspended_reason: str | None
    channels: int
    accounts: int
    keys: int
    media_bytes: int
    media_quota_bytes: int | None
    has_own_quota: bool
    budget: BudgetResponse | None = Field(description="Null: no budget was set; then no paid calls are made.")
    unit: str


class TenantsResponse(PageResponse):
    """A page of tenants, ordered by name."""

    items: list[TenantResponse]


class TenantAccountResponse(AccountResponse):
    """An account and its tenant."""

    tenant_id: UUID
    tenant_name: str


class TenantAccountsResponse(ResponseModel):
    """Accounts of all tenants, those at the greatest risk first."""

    items: list[TenantAccountResponse]


class CreateTenantRequest(RequestModel):
    """A tenant to create."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "acme"}]})

    name: Annotated[Storable, Field(min_length=1, max_length=MAX_NAME_LETTERS)]


class SuspendTenantRequest(RequestModel):
    """Why the tenant is suspended. Its API requests receive this text in the error."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "the bill was not paid"}]})

    reason: Annotated[Storable, Field(min_length=1, max_length=500)]


class MediaQuotaRequest(RequestModel):
    """The number of bytes of media that the tenant may store; null: MEDIA_QUOTA_BYTES applies."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"max_bytes": 20_000_000_000}]})

    max_bytes: Annotated[int, Field(ge=0, le=MAX_ID)] | None


@area.get("/tenants", scope=KeyScope.OPERATE, example={"items": [EXAMPLE], "next": None})
async def list_tenants(context: Context, limit: Limit = 50, cursor: CursorText = None) -> TenantsResponse:
    """List tenants, ordered by name."""
    position = read_cursor(cursor, CURSOR)
    page = await tenants.list_tenants(
        tenants=context.app.api.tenant_operations, limit=limit, after=position[0] if position else None
    )
    return tenants_response(page, settings=context.app.settings)


@area.post(
    "/tenants",
    scope=KeyScope.OPERATE,
    example={**EXAMPLE, "channels": 0, "accounts": 0, "keys": 0, "budget": None},
    status=201,
)
async def create_tenant(context: Context, body: CreateTenantRequest) -> TenantResponse:
    """Create a tenant.

    A new tenant has no keys: create one with `tga keys create`.
    """
    context.note(name=body.name)
    return tenant_response(
        await tenants.create_tenant(body.name, tenants=context.app.api.tenant_operations),
        settings=context.app.settings,
    )


@area.get(
    "/tenants/accounts",
    scope=KeyScope.OPERATE,
    example={"items": [{**accounts.EXAMPLE, "tenant_id": EXAMPLE["tenant_id"], "tenant_name": "acme"}]},
)
async def list_all_accounts(
    context: Context,
    min_risk: Annotated[Risk, Query(description="Only accounts at this risk or a higher one.")] = Risk.SAFE,
) -> TenantAccountsResponse:
    """List accounts of all tenants, those at the greatest risk first."""
    operations = context.app.api.tenant_operations
    tenant_accounts = await tenants.all_accounts(
        tenants=operations, stores_of=context.app.tenant, now=context.now, min_risk=min_risk
    )
    return tenant_accounts_response(tenant_accounts, context)


@area.get("/tenants/{tenant_id}", scope=KeyScope.OPERATE, example=EXAMPLE)
async def get_tenant(context: Context, tenant_id: TenantPublicId) -> TenantResponse:
    """Get a tenant."""
    return tenant_response(
        await tenants.one_tenant(tenant_id, tenants=context.app.api.tenant_operations),
        settings=context.app.settings,
    )


@area.post(
    "/tenants/{tenant_id}/suspend",
    scope=KeyScope.OPERATE,
    example={**EXAMPLE, "suspended_at": "2026-11-15T08:00:00Z", "suspended_reason": "the bill was not paid"},
)
async def suspend_tenant(
    context: Context, tenant_id: TenantPublicId, body: SuspendTenantRequest
) -> TenantResponse:
    """Suspend a tenant.

    Its keys are refused, its accounts are not used, and channels that only it follows are not read. Nothing
    is deleted; `resume` restores everything.
    """
    context.note(reason=body.reason)
    drop_cached_keys = RateLimits(context.app.redis).drop_cached_keys
    suspended_summary = await tenants.suspend_tenant(
        tenant_id,
        why=body.reason,
        tenants=context.app.api.tenant_operations,
        drop_cached_keys=drop_cached_keys,
    )
    return tenant_response(suspended_summary, settings=context.app.settings)


@area.post("/tenants/{tenant_id}/resume", scope=KeyScope.OPERATE, example=EXAMPLE)
async def resume_tenant(context: Context, tenant_id: TenantPublicId) -> TenantResponse:
    """Resume a suspended tenant."""
    drop_cached_keys = RateLimits(context.app.redis).drop_cached_keys
    resumed_summary = await tenants.resume_tenant(
        tenant_id, tenants=context.app.api.tenant_operations, drop_cached_keys=drop_cached_keys
    )
    return tenant_response(resumed_summary, settings=context.app.settings)


@area.put("/tenants/{tenant_id}/media-quota", scope=KeyScope.OPERATE, example=EXAMPLE)
async def set_media_quota(
    context: Context, tenant_id: TenantPublicId, body: MediaQuotaRequest
) -> TenantResponse:
    """Set the media quota of a tenant.

    Media that are already stored are kept.
    """
    context.note(max_bytes=body.max_bytes)
    changed_tenant = await tenants.set_media_quota(
        tenant_id, body.max_bytes, tenants=context.app.api.tenant_operations
    )
    return tenant_response(changed_tenant, settings=context.app.settings)


@area.put("/tenants/{tenant_id}/budget", scope=KeyScope.OPERATE, example=EXAMPLE)
async def set_tenant_budget(
    context: Context, tenant_id: TenantPublicId, body: BudgetRequest
) -> TenantResponse:
    """Set a tenant's monthly budget for AI providers.

    The operator pays the providers, so only the operator sets it.
    """
    context.note(micro=body.micro, tokens=body.tokens)
    changed_tenant = await tenants.set_budget(
        tenant_id, micro=body.micro, tokens=body.tokens, tenants=context.app.api.tenant_operations
    )
    return tenant_response(changed_tenant, settings=context.app.settings)


def tenants_response(page: TenantPage, *, settings: Settings) -> TenantsResponse:
    items = [tenant_response(tenant, settings=settings) for tenant in page.tenants]
    return TenantsResponse(items=items, next=write_cursor(page.next) if page.next else None)


def tenant_response(tenant: TenantSummary, *, settings: Settings) -> TenantResponse:
    return TenantResponse(
        tenant_id=tenant.public_id,
        name=tenant.name,
        is_operator=tenant.is_operator,
        created_at=tenant.created_at,
        suspended_at=tenant.suspended_at,
        suspended_reason=tenant.suspended_reason,
        channels=tenant.channels,
        accounts=tenant.accounts,
        keys=tenant.keys,
        media_bytes=tenant.media_bytes,
        media_quota_bytes=tenant.media_bytes_limit
        if tenant.media_bytes_limit is not None
        else settings.files.quota_bytes or None,
        has_own_quota=tenant.media_bytes_limit is not None,
        budget=BudgetResponse.model_validate(tenant.budget, from_attributes=True) if tenant.budget else None,
        unit=read_prices(settings.ai.prices).unit,
    )


def tenant_accounts_response(
    tenant_accounts: tuple[TenantAccount, ...], context: Context
) -> TenantAccountsResponse:
    return TenantAccountsResponse(
        items=[
            TenantAccountResponse(
                **account_response(tenant_account.health, context).model_dump(),
                tenant_id=tenant_account.tenant.public_id,
                tenant_name=tenant_account.tenant.name,
            )
            for tenant_account in tenant_accounts
        ]
    )
