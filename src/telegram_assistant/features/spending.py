"""What providers cost: what a tenant may spend each month, and what it has spent by day and model."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

from telegram_assistant.ai.prices import read_prices
from telegram_assistant.domain.understanding.spending import MILLION, SpendingBudget, UsageLine
from telegram_assistant.errors import Rejected
from telegram_assistant.stores.postgres.stores import TenantStores

MAX_MICRO = 10**15
"""A thousand million units: more is a slip of the finger."""


@dataclass(frozen=True, slots=True)
class SpendingSummary:
    """The lines of the ledger, the newest day first, and what they come to. Each amount is the tenant's own share."""

    lines: tuple[UsageLine, ...]
    calls: int
    tokens: int
    micro: int
    unit: str


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """What may be spent this month and was, in millionths of the unit; None where no budget was set, so nothing is paid for."""

    budget: SpendingBudget | None
    unit: str


async def usage(since: datetime, *, stores: TenantStores, prices: Path | None) -> SpendingSummary:
    """What a tenant has spent."""
    return in_sum(await stores.spending.usage(since), unit=read_prices(prices).unit)


async def budget(*, stores: TenantStores, prices: Path | None) -> BudgetStatus:
    """Of one tenant."""
    return BudgetStatus(await stores.spending.budget(), read_prices(prices).unit)


def in_sum(lines: Sequence[UsageLine], *, unit: str) -> SpendingSummary:
    return SpendingSummary(tuple(lines), sum(one.calls for one in lines), sum(one.tokens for one in lines), sum(one.micro for one in lines), unit)


def micro_of(money: str) -> int:
    """An amount as people write it; Rejected where it is none."""
    try:
        micro = Decimal(money) * MILLION
    except InvalidOperation as error:
        raise Rejected(f"{money!r} is no amount; write it like 500 or 12.50") from error
    if not micro.is_finite() or not 0 <= micro <= MAX_MICRO or micro != int(micro):
        raise Rejected(f"{money!r} is no amount; write it like 500 or 12.50")
    return int(micro)


def money_of(micro: int) -> str:
    """As people read it."""
    return f"{Decimal(micro) / MILLION:,.4f}"
