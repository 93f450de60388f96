"""Tenants, for the operator: list, create, suspend, resume; quotas and budgets; accounts at risk."""

import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.accounts.account_risk import WORST_LAST, Risk
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.errors import Busy, Conflicting, Missing, Rejected
from telegram_assistant.features.accounts.accounts import AccountHealth, account_health
from telegram_assistant.features.understanding.spending import MAX_MICRO
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.tenants.tenant_operations import TenantOperations, TenantSummary
from telegram_assistant.stores.postgres.tenants.tenants import Tenant, Tenants
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

MAX_NAME_LETTERS = 100
PAGE_SIZE = 500


@dataclass(frozen=True, slots=True)
class TenantPage:
    """A page of tenants, ordered by name; `next` is None on the last page."""

    tenants: tuple[TenantSummary, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class TenantAccount:
    """An account and its tenant."""

    tenant: TenantSummary
    health: AccountHealth


async def list_tenants(*, tenants: TenantOperations, limit: int, after: str | None = None) -> TenantPage:
    summaries = await tenants.page(limit=limit + 1, after=after)
    return TenantPage(summaries[:limit], summaries[limit - 1].name if len(summaries) > limit else None)


async def all_tenants(*, tenants: Tenants) -> tuple[Tenant, ...]:
    return await tenants.all()


async def tenant_named(name: str, *, tenants: Tenants) -> Tenant:
    """For the command line. Raises Rejected if there is no such tenant."""
    tenant = await tenants.by_name(name)
    if tenant is None:
        raise Rejected(
            Reason(
                "tenant_to_create",
                "there is no tenant {tenant!r}; create it with: tga tenants create {quoted}",
                tenant=name,
                quoted=shlex.quote(name),
            )
        )
    return tenant


async def one_tenant(public_id: UUID, *, tenants: TenantOperations) -> TenantSummary:
    tenant = await tenants.one(public_id)
    if tenant is None:
        raise Missing(Reason("tenant_unknown_by_id", "there is no such tenant"))
    return tenant


async def create_tenant(name: str, *, tenants: TenantOperations) -> TenantSummary:
    """Raises Conflicting if the name is taken."""
    if not name.isprintable() or name != name.strip() or not 0 < len(name) <= MAX_NAME_LETTERS:
        raise Rejected(
            Reason(
                "tenant_name_invalid",
                "a tenant's name must have 1 to {max_letters} printable characters and no spaces at its ends",
                max_letters=MAX_NAME_LETTERS,
            )
        )
    created_id = await tenants.create(name)
    if created_id is None:
        raise Conflicting(Reason("tenant_exists", "a tenant {tenant!r} already exists", tenant=name))
    return await one_tenant(created_id, tenants=tenants)


async def suspend_tenant(
    public_id: UUID, *, why: str, tenants: TenantOperations, drop_cached_keys: Callable[[], Awaitable[None]]
) -> TenantSummary:
    """Refuses its keys, stops its accounts and ignores its subscriptions; deletes nothing.

    `drop_cached_keys` makes all processes look up keys again.
    """
    if (await one_tenant(public_id, tenants=tenants)).is_operator:
        raise Conflicting(
            Reason("operator_tenant_not_suspended", "the operator's own tenant cannot be suspended")
        )
    await tenants.suspend(public_id, why=why)
    await _drop_if_redis_answers(drop_cached_keys)
    return await one_tenant(public_id, tenants=tenants)


async def resume_tenant(
    public_id: UUID, *, tenants: TenantOperations, drop_cached_keys: Callable[[], Awaitable[None]]
) -> TenantSummary:
    """Ends the suspension."""
    await one_tenant(public_id, tenants=tenants)
    await tenants.resume(public_id)
    await _drop_if_redis_answers(drop_cached_keys)
    return await one_tenant(public_id, tenants=tenants)


async def set_media_quota(
    public_id: UUID, limit_bytes: int | None, *, tenants: TenantOperations
) -> TenantSummary:
    """Sets a tenant's media quota; None: MEDIA_QUOTA_BYTES applies. Stored media stay."""
    if not await tenants.set_media_quota(public_id, limit_bytes):
        raise Missing(Reason("tenant_unknown_by_id", "there is no such tenant"))
    return await one_tenant(public_id, tenants=tenants)


async def set_budget(
    public_id: UUID, *, micro: int, tokens: int | None, tenants: TenantOperations
) -> TenantSummary:
    """Sets a tenant's monthly budget; the operator pays the providers.

    The amount that was already used this month still counts.
    """
    if not 0 <= micro <= MAX_MICRO:
        raise Rejected(Reason("budget_out_of_range", "a budget must be between 0 and a billion units"))
    if not await tenants.set_budget(public_id, micro=micro, tokens=tokens):
        raise Missing(Reason("tenant_unknown_by_id", "there is no such tenant"))
    return await one_tenant(public_id, tenants=tenants)


async def all_accounts(
    *,
    tenants: TenantOperations,
    stores_of: Callable[[TenantId], TenantStores],
    now: datetime,
    min_risk: Risk = Risk.SAFE,
) -> tuple[TenantAccount, ...]:
    """Returns the accounts of every tenant, those at the greatest risk first."""
    accounts: list[TenantAccount] = []
    after: str | None = None
    while True:
        page = await list_tenants(tenants=tenants, limit=PAGE_SIZE, after=after)
        for tenant in page.tenants:
            if tenant.accounts:
                accounts += [
                    TenantAccount(tenant, health)
                    for health in await account_health(stores=stores_of(tenant.tenant_id), now=now)
                ]
        after = page.next
        if after is None:
            break
    risky_accounts = [
        account
        for account in accounts
        if WORST_LAST.index(account.health.verdict.risk) >= WORST_LAST.index(min_risk)
    ]
    return tuple(sorted(risky_accounts, key=lambda account: -WORST_LAST.index(account.health.verdict.risk)))


async def _drop_if_redis_answers(drop_cached_keys: Callable[[], Awaitable[None]]) -> None:
    try:
        await drop_cached_keys()
    except Busy as busy:
        log.warning(
            "suspension_not_announced", why=str(busy)
        )  # other processes may use cached keys for a minute
