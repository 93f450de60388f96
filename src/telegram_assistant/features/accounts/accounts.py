"""Accounts of a tenant: state, usage and risk; pause, resume, log out and reset."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.account_risk import Allowance, MethodUse, RiskAssessment, assess_risk
from telegram_assistant.domain.accounts.budget import BUDGETS, HOUR, MethodBudget, meter_of
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.stores.postgres.accounts.accounts import Accounts
from telegram_assistant.stores.postgres.accounts.own_accounts import MethodLimit, OwnAccount
from telegram_assistant.stores.postgres.stores import TenantStores


@dataclass(frozen=True, slots=True)
class AccountHealth:
    """An account with its usage and its risk assessment."""

    account: OwnAccount
    methods: tuple[MethodUse, ...]
    verdict: RiskAssessment


async def account_health(*, stores: TenantStores, now: datetime) -> tuple[AccountHealth, ...]:
    """Returns the health of every account of the tenant."""
    return tuple(_health(account, now) for account in await stores.accounts.all())


async def one_account(public_id: UUID, *, stores: TenantStores, now: datetime) -> AccountHealth:
    """Raises Missing if the tenant has no such account."""
    own_account = next(
        (account for account in await stores.accounts.all() if account.public_id == public_id), None
    )
    if own_account is None:
        raise Missing(Reason("account_unknown", "there is no such account"))
    return _health(own_account, now)


async def pause_account(public_id: UUID, *, by: str, stores: TenantStores, now: datetime) -> AccountHealth:
    """Pauses an account; the process that uses it stops within 20 seconds.

    Raises Rejected if it is not in use.
    """
    if not await stores.accounts.pause(public_id, why=Reason("paused_by", "paused by {by}", by=by)):
        raise Missing(Reason("account_unknown", "there is no such account"))
    return await one_account(public_id, stores=stores, now=now)


async def resume_account(public_id: UUID, *, stores: TenantStores, now: datetime) -> AccountHealth:
    """Resumes an account that was paused or in quarantine."""
    if not await stores.accounts.resume(public_id):
        raise Missing(Reason("account_unknown", "there is no such account"))
    return await one_account(public_id, stores=stores, now=now)


async def log_out_account(public_id: UUID, *, by: str, stores: TenantStores, now: datetime) -> AccountHealth:
    """Lets ingest end the session at Telegram and delete it, within half a minute.

    Raises Rejected if nobody is logged in.
    """
    if not await stores.accounts.log_out(
        public_id, reason=Reason("logged_out_by", "logged out by {by}", by=by)
    ):
        raise Missing(Reason("account_unknown", "there is no such account"))
    return await one_account(public_id, stores=stores, now=now)


async def reset_account(public_id: UUID, *, stores: TenantStores, now: datetime) -> AccountHealth:
    """Deletes the login of an account that is not in use, so that a person can log in again.

    Its channels are kept.
    """
    if not await stores.accounts.reset(public_id):
        raise Missing(Reason("account_unknown", "there is no such account"))
    return await one_account(public_id, stores=stores, now=now)


async def change_account_state(
    account_id: AccountId, state: AccountState, *, why: str | None, accounts: Accounts
) -> None:
    """For the operator. Raises Rejected if the account cannot change to this state."""
    await accounts.change(account_id, state, None if why is None else quote(why))


@dataclass(frozen=True, slots=True)
class AccountOwner:
    """The name of an account's tenant, and the account's id in that tenant."""

    tenant: str
    public_id: UUID


async def find_account_owner(account_id: AccountId, *, accounts: Accounts) -> AccountOwner:
    """For the operator. Raises Rejected if there is no such account."""
    account = next((account for account in await accounts.all() if account.account_id == account_id), None)
    if account is None:
        raise Rejected(
            Reason("account_unknown_by_id", "there is no account {account_id}", account_id=account_id)
        )
    return AccountOwner(account.tenant, account.public_id)


def _health(account: OwnAccount, now: datetime) -> AccountHealth:
    limits = {limit.method: limit for limit in account.limits}
    budgets = {budget.method: budget for budget in BUDGETS.values()}  # several methods may share one
    budgets |= {method: MethodBudget(method, ()) for method in limits if method not in budgets}
    methods = tuple(_use(budgets[method], limits.get(method)) for method in sorted(budgets))
    verdict = assess_risk(
        account.state,
        state_reason=account.state_reason,
        is_held=account.lease_owner is not None,
        overdue_channels=account.overdue,
        methods=methods,
        now=now,
    )
    return AccountHealth(account, methods, verdict)


def _use(budget: MethodBudget, method_limit: MethodLimit | None) -> MethodUse:
    """Returns the current usage: the stored budgets have refilled since they were stored."""
    meter = meter_of(budget, method_limit.meter if method_limit else None, 0.0)
    pace = meter.pace_at(0.0)
    allowances = tuple(
        Allowance(
            at_once=limit.burst,
            per_hour=round(limit.per_second * pace * HOUR, 2),
            left=round(remaining_tokens, 2) if budget.is_kept else None,
            full_in_seconds=round((limit.burst - remaining_tokens) / (limit.per_second * pace), 1)
            if budget.is_kept
            else None,
        )
        for limit, remaining_tokens in zip(budget.limits, meter.tokens_at(0.0), strict=True)
    )
    return MethodUse(
        budget.method, method_limit.blocked_until if method_limit else None, round(pace, 3), allowances
    )
