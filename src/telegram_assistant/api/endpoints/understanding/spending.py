"""Usage of AI providers, and budgets."""

from datetime import date, timedelta
from typing import Annotated

from fastapi import Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import MAX_ID, RequestModel, ResponseModel
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.understanding import spending
from telegram_assistant.features.understanding.spending import MAX_MICRO, BudgetStatus

area = Area(
    "Usage and budgets",
    "The cost of AI providers, and the limits on it. Amounts in `micro` fields are millionths of `unit`.",
)


class UsageLineResponse(ResponseModel):
    """Calls of one day, model, purpose and status.

    Of calls that several tenants pay for, only your share counts.
    """

    day: date
    provider: str
    model: str
    purpose: str
    status: str
    calls: int
    tokens: int
    micro: int


class UsageResponse(ResponseModel):
    """Usage by day, newest first, with totals."""

    items: list[UsageLineResponse]
    calls: int
    tokens: int
    micro: int
    unit: str


class BudgetResponse(ResponseModel):
    """The monthly budget and its use this month.

    Reserved amounts count as used. `tokens` is null if tokens are not limited.
    """

    month: date
    micro: int
    used_micro: int
    tokens: int | None
    used_tokens: int


class OwnBudgetResponse(ResponseModel):
    """The tenant's budget. `budget` is null if none was set; then no paid calls are made."""

    budget: BudgetResponse | None
    unit: str


class BudgetRequest(RequestModel):
    """The new monthly budget. The amount that was already used this month still counts."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"micro": 500_000_000, "tokens": None}]})

    micro: Annotated[int, Field(ge=0, le=MAX_MICRO)]
    tokens: Annotated[int, Field(ge=0, le=MAX_ID)] | None = None


BUDGET_EXAMPLE = {
    "budget": {
        "month": "2026-11-01",
        "micro": 500_000_000,
        "used_micro": 12_345_000,
        "tokens": None,
        "used_tokens": 90_000,
    },
    "unit": "RUB",
}
LINE_EXAMPLE = {
    "day": "2026-11-15",
    "provider": "gigachat",
    "model": "GigaChat-2",
    "purpose": "tagging",
    "status": "ok",
    "calls": 120,
    "tokens": 90_000,
    "micro": 12_345_000,
}


@area.get(
    "/usage",
    scope=KeyScope.READ,
    example={"items": [LINE_EXAMPLE], "calls": 120, "tokens": 90_000, "micro": 12_345_000, "unit": "RUB"},
)
async def get_usage(
    context: Context,
    days: Annotated[int, Query(ge=1, le=366, description="How many days back to look.")] = 30,
) -> UsageResponse:
    """List usage by day and model.

    Of calls that several tenants pay for, only your share counts.
    """
    spent = await spending.usage(
        context.now - timedelta(days=days), stores=context.stores, prices=context.app.settings.ai.prices
    )
    items = [UsageLineResponse.model_validate(line, from_attributes=True) for line in spent.lines]
    return UsageResponse(
        items=items, calls=spent.calls, tokens=spent.tokens, micro=spent.micro, unit=spent.unit
    )


@area.get("/budget", scope=KeyScope.READ, example=BUDGET_EXAMPLE)
async def get_budget(context: Context) -> OwnBudgetResponse:
    """Get the monthly budget and its use."""
    return _response(await spending.budget(stores=context.stores, prices=context.app.settings.ai.prices))


def _response(status: BudgetStatus) -> OwnBudgetResponse:
    return OwnBudgetResponse.model_validate(status, from_attributes=True)
