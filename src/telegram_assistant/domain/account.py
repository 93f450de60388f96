"""An account that reads, and the right to use it."""

import time
from collections.abc import Callable
from enum import StrEnum

from telegram_assistant.errors import LeaseLost

LEASE_SECONDS = 60.0
RENEW_SECONDS = 20.0
MARGIN_SECONDS = 15.0
"""The holder stops so long before the end, and a taker begins so long after it: clocks and packets may be late."""


class AccountState(StrEnum):
    """Whether an account may be used; every state but active waits for a person."""

    NEW = "new"
    ACTIVE = "active"
    PAUSED = "paused"
    LOGGED_OUT = "logged out"
    BANNED = "banned"


class Lease:
    """The right of this process to use an account, by its own clock: one login must never be used in two places."""

    def __init__(self, *, begun: float, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._end = begun + LEASE_SECONDS

    def extend(self, begun: float) -> None:
        """It was renewed by a request that began at that moment."""
        self._end = begun + LEASE_SECONDS

    def check(self) -> None:
        """Before every request to Telegram: LeaseLost when somebody else may have begun to use the account."""
        if self._now() >= self._end - MARGIN_SECONDS:
            raise LeaseLost("the lease of the account is over")
