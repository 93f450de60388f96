"""An account that reads, and the right to use it."""

import time
from collections.abc import Callable, Mapping
from enum import StrEnum

from telegram_assistant.errors import AssistantError, LeaseLost

LEASE_SECONDS = 60.0
RENEW_SECONDS = 20.0
MARGIN_SECONDS = 15.0
"""The holder stops so long before the end, and a taker begins so long after it: clocks and packets may be late."""


class AccountState(StrEnum):
    """Whether an account may be used; every state but active and logging out waits for a person."""

    NEW = "new"
    ACTIVE = "active"
    PAUSED = "paused"
    QUARANTINED = "quarantined"
    """Not to be used for now; the session is kept."""
    LOGGING_OUT = "logging out"
    """Whoever takes it next ends the session at Telegram and forgets it."""
    LOGGED_OUT = "logged out"
    BANNED = "banned"


class AccountRefused(AssistantError):
    """Telegram does not accept the login any more. The account is parked in `state`."""

    def __init__(self, why: str, *, state: AccountState) -> None:
        super().__init__(why)
        self.state = state


BEFORE: Mapping[AccountState, frozenset[AccountState]] = {
    AccountState.PAUSED: frozenset({AccountState.ACTIVE}),
    AccountState.ACTIVE: frozenset(AccountState) - {AccountState.NEW},
    AccountState.QUARANTINED: frozenset(AccountState) - {AccountState.NEW, AccountState.LOGGED_OUT},
    AccountState.LOGGING_OUT: frozenset(AccountState) - {AccountState.NEW},
    AccountState.NEW: frozenset(AccountState) - {AccountState.ACTIVE, AccountState.LOGGING_OUT},
}
"""From which states a person may bring an account into another one."""


class Lease:
    """The right of this process to use an account, by its own clock: one login must never be used in two places."""

    def __init__(self, *, begun: float, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._end = begun + LEASE_SECONDS

    def extend(self, begun: float) -> None:
        """It was renewed by a request that began at that moment."""
        self._end = begun + LEASE_SECONDS

    @property
    def seconds_left(self) -> float:
        """How long the account may be used still, unless the lease is renewed."""
        return self._end - MARGIN_SECONDS - self._now()

    def check(self) -> None:
        """Before every request to Telegram: LeaseLost when somebody else may have begun to use the account."""
        if self.seconds_left <= 0:
            raise LeaseLost("the lease of the account is over")


def masked(phone: str) -> str:
    """A phone number as people may see it: +7999*****01."""
    digits = "".join(character for character in phone if character.isdecimal())
    return f"+{digits[:4]}{'*' * (len(digits) - 6)}{digits[-2:]}"
