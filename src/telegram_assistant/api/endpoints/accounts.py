"""Accounts: their limits, their load, and whether they are at risk."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.account_risk import MethodUse, Risk
from telegram_assistant.domain.accounts.method_words import purpose_of
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.accounts.accounts import (
    AccountHealth,
    account_health,
    log_out_account,
    one_account,
    pause_account,
    reset_account,
    resume_account,
)

area = Area(
    "Accounts",
    "Telegram accounts that read channels: limits, load and risk. Sessions are never shown, "
    "and phone numbers only in part.",
)

AccountId = Annotated[
    UUID, Path(description="`account_id` of the account.", examples=["5f0c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f10"])
]
EXAMPLE = {
    "account_id": "5f0c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f10",
    "number": 3,
    "phone": "+7999*****01",
    "state": "active",
    "state_reason": None,
    "has_login": True,
    "used_by": "reader-1#a3f0",
    "used_until": "2026-11-15T08:01:00Z",
    "created_at": "2026-11-01T00:00:00Z",
    "channels": 120,
    "overdue": 0,
    "lost_channels": 1,
    "open_backfills": 2,
    "requests_per_second": 0.41,
    "risk": "careful",
    "reasons": [
        {
            "risk": "careful",
            "why": (
                "Telegram has limited reading posts (messages.getHistory) recently: "
                "it runs at 70% of its speed"
            ),
        }
    ],
    "methods": [
        {
            "method": "contacts.resolveUsername",
            "purpose": "looking up channels by name",
            "blocked_until": None,
            "pace": 1.0,
            "allowances": [{"at_once": 4.0, "per_hour": 960.0, "left": 3.0, "full_in_seconds": 3.8}],
        }
    ],
}


class AllowanceResponse(ResponseModel):
    """A rate limit of our own: `at_once` is its burst, `per_hour` its refill rate.

    `left` is null if only the process using the account knows it.
    """

    at_once: float
    per_hour: float
    left: float | None
    full_in_seconds: float | None


class MethodUsageResponse(ResponseModel):
    """Usage of one Telegram method by an account. `blocked_until`: end of a flood wait. `pace`: share of its
    full speed.

    `purpose` says what the program uses the method for; null for rare methods.
    """

    method: str
    purpose: str | None
    blocked_until: datetime | None
    pace: float
    allowances: list[AllowanceResponse]


class ReasonResponse(ResponseModel):
    """A reason for the risk level, and what to do about it."""

    risk: Risk
    why: str


class AccountResponse(ResponseModel):
    """An account.

    `number` names it in commands; `used_by` is the process that holds its lease until `used_until`; `risk` is
    the greatest risk among `reasons`.
    """

    account_id: UUID
    number: int
    phone: str | None
    state: AccountState
    state_reason: str | None
    has_login: bool
    used_by: str | None
    used_until: datetime | None
    created_at: datetime
    channels: int
    overdue: int
    lost_channels: int
    open_backfills: int
    requests_per_second: float | None
    risk: Risk
    reasons: list[ReasonResponse]
    methods: list[MethodUsageResponse]


class AccountsResponse(ResponseModel):
    """All accounts of the tenant."""

    items: list[AccountResponse]


@area.get("/accounts", scope=KeyScope.READ, example={"items": [EXAMPLE]})
async def list_accounts(context: Context) -> AccountsResponse:
    """List accounts with their limits and risk."""
    return AccountsResponse(
        items=[
            account_response(health, context)
            for health in await account_health(stores=context.stores, now=context.now)
        ]
    )


@area.get("/accounts/{account_id}", scope=KeyScope.READ, example=EXAMPLE)
async def get_account(context: Context, account_id: AccountId) -> AccountResponse:
    """Get an account."""
    return account_response(await one_account(account_id, stores=context.stores, now=context.now), context)


@area.post(
    "/accounts/{account_id}/pause",
    scope=KeyScope.ADMIN,
    example={**EXAMPLE, "state": "paused", "state_reason": "paused by anna"},
)
async def pause_own_account(context: Context, account_id: AccountId) -> AccountResponse:
    """Pause an account.

    The process that uses it stops within 20 seconds. Another account reads its channels, if one can open
    them.
    """
    return account_response(
        await pause_account(account_id, by=context.caller.actor, stores=context.stores, now=context.now),
        context,
    )


@area.post("/accounts/{account_id}/resume", scope=KeyScope.ADMIN, example=EXAMPLE)
async def resume_own_account(context: Context, account_id: AccountId) -> AccountResponse:
    """Resume a paused or quarantined account."""
    return account_response(await resume_account(account_id, stores=context.stores, now=context.now), context)


@area.post(
    "/accounts/{account_id}/logout",
    scope=KeyScope.ADMIN,
    example={**EXAMPLE, "state": "logging out", "state_reason": "logged out by anna"},
)
async def log_out_own_account(context: Context, account_id: AccountId) -> AccountResponse:
    """Log an account out.

    The ingest role ends the session at Telegram and deletes it within half a minute. Channels and posts stay.
    """
    return account_response(
        await log_out_account(account_id, by=context.caller.actor, stores=context.stores, now=context.now),
        context,
    )


@area.post(
    "/accounts/{account_id}/reset",
    scope=KeyScope.ADMIN,
    example={**EXAMPLE, "state": "new", "has_login": False},
)
async def reset_own_account(context: Context, account_id: AccountId) -> AccountResponse:
    """Delete the login of an account.

    Telegram is not told, so end the session in its app too. An account that is in use must be logged out
    instead (422). Its channels are kept.
    """
    return account_response(await reset_account(account_id, stores=context.stores, now=context.now), context)


def _method_response(use: MethodUse, context: Context) -> MethodUsageResponse:
    allowances = [
        AllowanceResponse.model_validate(allowance, from_attributes=True) for allowance in use.allowances
    ]
    return MethodUsageResponse(
        method=use.method,
        purpose=context.translate(purpose_of(use.method)),
        blocked_until=use.blocked_until,
        pace=use.pace,
        allowances=allowances,
    )


def account_response(health: AccountHealth, context: Context) -> AccountResponse:
    account = health.account
    return AccountResponse(
        account_id=account.public_id,
        number=account.number,
        phone=account.phone_masked,
        state=account.state,
        state_reason=context.translate(account.state_reason),
        has_login=account.has_login,
        used_by=account.lease_owner,
        used_until=account.lease_until,
        created_at=account.created_at,
        channels=account.channels,
        overdue=account.overdue,
        lost_channels=account.lost_channels,
        open_backfills=account.open_backfills,
        requests_per_second=account.requests_per_second,
        risk=health.verdict.risk,
        reasons=[
            ReasonResponse(risk=reason.risk, why=context.translate(reason.why))
            for reason in health.verdict.reasons
        ],
        methods=[_method_response(use, context) for use in health.methods],
    )
