"""States of a Telegram account, and the lease under which a process uses it."""

import time
from collections.abc import Callable, Mapping
from enum import StrEnum

from telegram_assistant.errors import AssistantError, LeaseLost
from telegram_assistant.reasons import Reason

LEASE_SECONDS = 60.0
RENEW_SECONDS = 20.0
MARGIN_SECONDS = 15.0
"""The holder stops so long before the end of the lease, and the next one begins so long after it:
clocks and packets may be late.
"""


class AccountState(StrEnum):
    """Whether an account may be used.

    In every state except active and logging out, the account waits for a person to act.
    """

    NEW = "new"
    ACTIVE = "active"
    PAUSED = "paused"
    QUARANTINED = "quarantined"
    """Not used for now; the session is kept."""
    LOGGING_OUT = "logging out"
    """The next holder ends the session at Telegram and deletes it."""
    LOGGED_OUT = "logged out"
    BANNED = "banned"

    @property
    def words(self) -> Reason:
        """The state for people."""
        return _WORDS[self]


_WORDS = {
    AccountState.NEW: Reason("account_is_new", "new"),
    AccountState.ACTIVE: Reason("account_is_active", "active"),
    AccountState.PAUSED: Reason("account_is_paused", "paused"),
    AccountState.QUARANTINED: Reason("account_is_quarantined", "quarantined"),
    AccountState.LOGGING_OUT: Reason("account_is_logging_out", "logging out"),
    AccountState.LOGGED_OUT: Reason("account_is_logged_out", "logged out"),
    AccountState.BANNED: Reason("account_is_banned", "banned"),
}


class AccountRefused(AssistantError):
    """Telegram does not accept the login any more. The account is parked in `state`."""

    def __init__(self, reason: Reason, *, state: AccountState) -> None:
        super().__init__(reason)
        self.reason = reason
        self.state = state


BEFORE: Mapping[AccountState, frozenset[AccountState]] = {
    AccountState.PAUSED: frozenset({AccountState.ACTIVE}),
    AccountState.ACTIVE: frozenset(AccountState) - {AccountState.NEW},
    AccountState.QUARANTINED: frozenset(AccountState) - {AccountState.NEW, AccountState.LOGGED_OUT},
    AccountState.LOGGING_OUT: frozenset(AccountState) - {AccountState.NEW},
}
"""For each state, the states from which a person may bring an account into it."""

RESETTABLE = frozenset(AccountState) - {AccountState.ACTIVE, AccountState.LOGGING_OUT}
"""The states in which a person may delete the login of an account."""


class Lease:
    """The right of this process to use an account, by its own clock.

    One login must never be used in two places.
    """

    def __init__(self, *, begun_at: float, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._end = begun_at + LEASE_SECONDS

    def extend(self, begun_at: float) -> None:
        """Extends the lease after a renewal whose request began at `begun`."""
        self._end = begun_at + LEASE_SECONDS

    @property
    def remaining_seconds(self) -> float:
        """How long the account may still be used without a renewal."""
        return self._end - MARGIN_SECONDS - self._now()

    def check(self) -> None:
        """Runs before every request to Telegram.

        Raises LeaseLost if another process may already use the account.
        """
        if self.remaining_seconds <= 0:
            raise LeaseLost("the lease of the account is over")


def mask_phone(phone: str) -> str:
    """Masks a phone number: +7999*****01."""
    digits = "".join(character for character in phone if character.isdecimal())
    return f"+{digits[:4]}{'*' * (len(digits) - 6)}{digits[-2:]}"
