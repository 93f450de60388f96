"""Tenants, for the operator: list, create, suspend, resume; how much each may keep and spend; whose accounts are at risk."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.accounts.account_risk import WORST_LAST, Risk
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.errors import Busy, Conflicting, Missing, Rejected
from telegram_assistant.features.accounts import AccountHealth, account_health
from telegram_assistant.features.spending import MAX_MICRO
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.tenants.tenant_operations import TenantOperations, TenantSummary
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

MAX_NAME_LETTERS = 100
PAGE = 500


@dataclass(frozen=True, slots=True)
class TenantPage:
    """By name. Without `next`, there are no more."""

    tenants: tuple[TenantSummary, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class TenantAccount:
    """An account, and whose it is."""

    tenant: TenantSummary
    health: AccountHealth


async def list_tenants(*, tenants: TenantOperations, limit: int, after: str | None = None) -> TenantPage:
    found = await tenants.page(limit=limit + 1, after=after)
    return TenantPage(found[:limit], found[limit - 1].name if len(found) > limit else None)


async def one_tenant(public_id: UUID, *, tenants: TenantOperations) -> TenantSummary:
    found = await tenants.one(public_id)
    if found is None:
        raise Missing("there is no such tenant")
    return found


async def create_tenant(name: str, *, tenants: TenantOperations) -> TenantSummary:
    """Conflicting where the name is taken."""
    if not name.isprintable() or name != name.strip() or not 0 < len(name) <= MAX_NAME_LETTERS:
        raise Rejected(f"a tenant's name has 1 to {MAX_NAME_LETTERS} printable letters, and no space around them")
    created = await tenants.create(name)
    if created is None:
        raise Conflicting(f"there is a tenant {name!r} already")
    return await one_tenant(created, tenants=tenants)


async def suspend_tenant(public_id: UUID, *, why: str, tenants: TenantOperations, tell_change: Callable[[], Awaitable[None]]) -> TenantSummary:
    """Its keys are refused, its accounts rest, its subscriptions count no more; everything is kept. `tell_change`: keys are looked up anew."""
    if (await one_tenant(public_id, tenants=tenants)).is_operator:
        raise Conflicting("the operator's own tenant cannot be suspended")
    await tenants.suspend(public_id, why=why)
    await _tell(tell_change)
    return await one_tenant(public_id, tenants=tenants)


async def resume_tenant(public_id: UUID, *, tenants: TenantOperations, tell_change: Callable[[], Awaitable[None]]) -> TenantSummary:
    """All that rested because of it goes on."""
    await one_tenant(public_id, tenants=tenants)
    await tenants.resume(public_id)
    await _tell(tell_change)
    return await one_tenant(public_id, tenants=tenants)


async def set_media_quota(public_id: UUID, limit_bytes: int | None, *, tenants: TenantOperations) -> TenantSummary:
    """How much media a tenant may keep; None: as MEDIA_QUOTA_BYTES says. What is stored already stays."""
    if not await tenants.set_media_quota(public_id, limit_bytes):
        raise Missing("there is no such tenant")
    return await one_tenant(public_id, tenants=tenants)


async def set_budget(public_id: UUID, *, micro: int, tokens: int | None, tenants: TenantOperations) -> TenantSummary:
    """What a tenant may spend each month: the bill is the operator's. What this month has used stays used."""
    if not 0 <= micro <= MAX_MICRO:
        raise Rejected("a budget is at least 0 and at most a thousand million units")
    if not await tenants.set_budget(public_id, micro=micro, tokens=tokens):
        raise Missing("there is no such tenant")
    return await one_tenant(public_id, tenants=tenants)


async def all_accounts(
    *, tenants: TenantOperations, stores_of: Callable[[TenantId], TenantStores], now: datetime, min_risk: Risk = Risk.SAFE
) -> tuple[TenantAccount, ...]:
    """Of every tenant, those at the greatest risk first."""
    found: list[TenantAccount] = []
    after: str | None = None
    while True:
        page = await list_tenants(tenants=tenants, limit=PAGE, after=after)
        for tenant in page.tenants:
            if tenant.accounts:
                found += [TenantAccount(tenant, one) for one in await account_health(stores=stores_of(tenant.tenant_id), now=now)]
        after = page.next
        if after is None:
            break
    wanted = [one for one in found if WORST_LAST.index(one.health.verdict.risk) >= WORST_LAST.index(min_risk)]
    return tuple(sorted(wanted, key=lambda one: -WORST_LAST.index(one.health.verdict.risk)))


async def _tell(tell_change: Callable[[], Awaitable[None]]) -> None:
    try:
        await tell_change()
    except Busy as busy:
        log.warning("suspension_not_told", why=str(busy))  # other processes may remember its keys for a minute
