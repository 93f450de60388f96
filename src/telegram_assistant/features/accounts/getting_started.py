"""The way from an empty installation to channels that are read: which steps are done, which is next,
and what is happening now.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.login import INTERRUPTED
from telegram_assistant.domain.accounts.setup import TelegramSetup
from telegram_assistant.domain.channels.coverage import CoverageState
from telegram_assistant.features.accounts.accounts import AccountHealth, account_health
from telegram_assistant.features.accounts.logins import Login, newest_login
from telegram_assistant.features.channels.channel_requests import WaitingKind, waiting_requests
from telegram_assistant.features.channels.coverage import CoveragePage, coverage_of_all
from telegram_assistant.stores.postgres.stores import TenantStores

SHOWN_CHANNELS = 5
OLD_AFTER = timedelta(days=1)
"""The page shows no login that expired longer ago than this."""
UNFINISHED = frozenset(CoverageState) - {CoverageState.COMPLETE, CoverageState.PREVIEW}
HAS_SESSION = frozenset({AccountState.ACTIVE, AccountState.PAUSED, AccountState.QUARANTINED})


class SetupStep(StrEnum):
    """A step, in their order."""

    APPLICATION = "application"
    ACCOUNT = "account"
    CHANNELS = "channels"
    READING = "reading"


class StepState(StrEnum):
    """How far a step is."""

    DONE = "done"
    NOW = "now"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class LoginStatus:
    """The newest login, and whether an ingest role is there to serve it."""

    login: Login | None
    setup: TelegramSetup
    is_running: bool

    @property
    def is_open(self) -> bool:
        return self.login is not None and not self.login.attempt.is_over

    @property
    def is_interrupted(self) -> bool:
        return self.login is not None and self.login.attempt.error == INTERRUPTED

    @property
    def mark(self) -> str:
        """Changes whenever a page has something new to show."""
        if self.login is None:
            return f"none.{self.is_running:d}"
        attempt = self.login.attempt
        return (
            f"{attempt.attempt_id}.{attempt.state}.{attempt.question}.{attempt.answered}.{self.is_running:d}"
        )


@dataclass(frozen=True, slots=True)
class GettingStarted:
    """All that the stored state says about the first steps."""

    status: LoginStatus
    accounts: tuple[AccountHealth, ...]
    coverage: CoveragePage
    """Its channels are the first ones that are not complete."""
    waiting: tuple[WaitingKind, ...]

    @property
    def followed(self) -> int:
        return sum(self.coverage.states.values())

    @property
    def steps(self) -> Mapping[SetupStep, StepState]:
        is_done = {
            SetupStep.APPLICATION: self.status.setup.has_application,
            SetupStep.ACCOUNT: any(account.account.state in HAS_SESSION for account in self.accounts),
            SetupStep.CHANNELS: bool(self.followed or self.waiting),
            SetupStep.READING: self.followed > 0 and not self.waiting and self.coverage.complete,
        }
        first_open_step = next((step for step in SetupStep if not is_done[step]), None)
        return {
            step: StepState.DONE
            if is_done[step]
            else StepState.NOW
            if step is first_open_step
            else StepState.LATER
            for step in SetupStep
        }


async def login_status(*, stores: TenantStores, secret: bytes, now: datetime) -> LoginStatus:
    setup, login = await stores.telegram_setup.get(), await newest_login(logins=stores.logins, secret=secret)
    is_old = login is not None and now - login.attempt.expires_at > OLD_AFTER
    return LoginStatus(None if is_old else login, setup, setup.is_running(now))


async def getting_started(*, stores: TenantStores, secret: bytes, now: datetime) -> GettingStarted:
    status = await login_status(stores=stores, secret=secret, now=now)
    accounts = tuple(
        health
        for health in await account_health(stores=stores, now=now)
        if health.account.state is not AccountState.NEW
    )
    coverage = await coverage_of_all(stores=stores, states=UNFINISHED, limit=SHOWN_CHANNELS)
    return GettingStarted(
        status, accounts, coverage, await waiting_requests(requests=stores.requests, now=now)
    )
