"""Spending on AI providers: the monthly budget of a tenant, and its usage by day and model."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

from telegram_assistant.ai.prices import read_prices
from telegram_assistant.domain.understanding.spending import MILLION, SpendingBudget, UsageLine
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.tenants.tenants import Tenants
from telegram_assistant.stores.postgres.understanding.spending import Spending

MAX_MICRO = 10**15
"""A billion units: a larger amount is a typing error."""


@dataclass(frozen=True, slots=True)
class SpendingSummary:
    """Usage by day, newest first, with totals. Each amount is the tenant's own share."""

    lines: tuple[UsageLine, ...]
    calls: int
    tokens: int
    micro: int
    unit: str


@dataclass(frozen=True, slots=True)
class TenantsSpending:
    """Usage by day, newest first, each line with the name of its tenant."""

    lines: tuple[tuple[str, UsageLine], ...]
    unit: str


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """The monthly budget and its use, in millionths of the unit; `budget` is None if none was set:
    then no paid calls are made.
    """

    budget: SpendingBudget | None
    unit: str


async def usage(since: datetime, *, stores: TenantStores, prices: Path | None) -> SpendingSummary:
    """Returns the usage of a tenant."""
    return summarize(await stores.spending.usage(since), unit=read_prices(prices).unit)


async def usage_of_tenants(
    since: datetime, *, spending: Spending, tenants: Tenants, prices: Path | None
) -> TenantsSpending:
    """Returns the usage of all tenants, for the operator."""
    names = {tenant.tenant_id: tenant.name for tenant in await tenants.all()}
    lines = await spending.usage(since)
    return TenantsSpending(
        tuple((names[line.tenant_id], line) for line in lines), unit=read_prices(prices).unit
    )


async def budget(*, stores: TenantStores, prices: Path | None) -> BudgetStatus:
    """Returns the budget of a tenant."""
    return BudgetStatus(await stores.spending.budget(), read_prices(prices).unit)


def summarize(lines: Sequence[UsageLine], *, unit: str) -> SpendingSummary:
    return SpendingSummary(
        tuple(lines),
        sum(line.calls for line in lines),
        sum(line.tokens for line in lines),
        sum(line.micro for line in lines),
        unit,
    )


def micro_of(money: str) -> int:
    """Parses an amount of money into millionths. Raises Rejected if it is not valid."""
    try:
        micro = Decimal(money) * MILLION
    except InvalidOperation as error:
        raise Rejected(
            Reason(
                "amount_invalid", "{money!r} is not a valid amount; write it like 500 or 12.50", money=money
            )
        ) from error
    if not micro.is_finite() or not 0 <= micro <= MAX_MICRO or micro != int(micro):
        raise Rejected(
            Reason(
                "amount_invalid", "{money!r} is not a valid amount; write it like 500 or 12.50", money=money
            )
        )
    return int(micro)


def money_of(micro: int) -> str:
    """Formats millionths as an amount of money."""
    return f"{Decimal(micro) / MILLION:,.4f}"
