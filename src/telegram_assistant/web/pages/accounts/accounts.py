"""The Telegram accounts of a tenant: whether each is at risk, what it may still ask today,
and who uses it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from starlette.responses import Response

from telegram_assistant.domain.accounts.account import RESETTABLE, AccountState
from telegram_assistant.domain.accounts.account_risk import Allowance, MethodUse
from telegram_assistant.domain.accounts.method_words import purpose_of
from telegram_assistant.features.accounts import accounts
from telegram_assistant.features.accounts.accounts import AccountHealth
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.accounts.own_accounts import WAKEABLE
from telegram_assistant.web.views import Content, TenantView, go, uuid_of

HOT = 0.2
"""The share of a budget below which its bar is marked."""


@dataclass(frozen=True, slots=True)
class MethodRow:
    """The remaining budget of one method.

    `tightest` is the limit that will end first; None if only the process that uses the account knows.
    """

    method: str
    purpose: Reason | None
    blocked_until: datetime | None
    pace: float
    tightest: Allowance | None

    @property
    def share(self) -> float:
        """How much is left, from 0 to 1."""
        return (
            0.0
            if self.tightest is None or self.tightest.left is None
            else max(0.0, self.tightest.left / self.tightest.at_once)
        )

    @property
    def is_hot(self) -> bool:
        return self.tightest is not None and self.share < HOT


@dataclass(frozen=True, slots=True)
class AccountCard:
    """An account as the page shows it, with what its owner can do."""

    health: AccountHealth
    methods: tuple[MethodRow, ...]

    @property
    def waits(self) -> tuple[MethodRow, ...]:
        """The methods for which Telegram has asked to wait, the longest first."""
        return tuple(
            sorted(
                (method for method in self.methods if method.blocked_until),
                key=lambda method: str(method.blocked_until),
                reverse=True,
            )
        )

    @property
    def may_pause(self) -> bool:
        return self.health.account.state is AccountState.ACTIVE

    @property
    def may_resume(self) -> bool:
        return self.health.account.has_login and self.health.account.state in WAKEABLE

    @property
    def may_log_out(self) -> bool:
        return self.health.account.has_login and self.health.account.state in {AccountState.ACTIVE, *WAKEABLE}

    @property
    def may_reset(self) -> bool:
        return self.health.account.has_login and self.health.account.state in RESETTABLE

    @property
    def may_log_in(self) -> bool:
        return self.health.account.state in {AccountState.NEW, AccountState.LOGGED_OUT}


async def show(view: TenantView) -> Content:
    return {
        "cards": tuple(
            _card(health) for health in await accounts.account_health(stores=view.stores, now=view.now)
        ),
        "done": view.query("done"),
    }


async def pause(view: TenantView) -> Response:
    await accounts.pause_account(_account(view), by=view.person.name, stores=view.stores, now=view.now)
    return go(view.url("/accounts?done=paused"))


async def resume(view: TenantView) -> Response:
    await accounts.resume_account(_account(view), stores=view.stores, now=view.now)
    return go(view.url("/accounts?done=resumed"))


async def log_out(view: TenantView) -> Response:
    await accounts.log_out_account(_account(view), by=view.person.name, stores=view.stores, now=view.now)
    return go(view.url("/accounts?done=logout"))


async def reset(view: TenantView) -> Response:
    await accounts.reset_account(_account(view), stores=view.stores, now=view.now)
    return go(view.url("/accounts?done=reset"))


def _account(view: TenantView) -> UUID:
    return uuid_of(view.request.path_params["account"])


def _card(health: AccountHealth) -> AccountCard:
    return AccountCard(health, tuple(_row(method) for method in health.methods))


def _row(use: MethodUse) -> MethodRow:
    return MethodRow(
        use.method, purpose_of(use.method), use.blocked_until, use.pace, _tightest(use.allowances)
    )


def _tightest(allowances: Iterable[Allowance]) -> Allowance | None:
    shares = [
        (allowance.left / allowance.at_once, allowance)
        for allowance in allowances
        if allowance.left is not None
    ]
    return min(shares, key=lambda pair: pair[0])[1] if shares else None
