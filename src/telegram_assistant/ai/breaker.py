"""A circuit breaker: after repeated failures a provider gets no calls for a while, then one trial call."""

import time
from collections.abc import Callable

FAILURES = 3
OPEN_SECONDS = 30.0


class Breaker:
    """Closed: calls go through.

    Open: no call does. Half open, after OPEN_SECONDS: one call goes through and decides.
    """

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failures = 0
        self._open_until = 0.0
        self._trying = False

    @property
    def is_open(self) -> bool:
        return self.has_tripped and (self._trying or self._now() < self._open_until)

    @property
    def has_tripped(self) -> bool:
        """Whether the breaker is open or half open."""
        return self._failures >= FAILURES

    def begin(self) -> bool:
        """Whether this call may go through. After True the caller reports how it ended."""
        if self.is_open:
            return False
        self._trying = self.has_tripped
        return True

    def record_success(self) -> None:
        self._failures = 0
        self._trying = False

    def record_failure(self) -> None:
        self._failures += 1
        self._trying = False
        if self.has_tripped:
            self._open_until = self._now() + OPEN_SECONDS

    def release_trial(self) -> None:
        """The call ended without evidence about the provider."""
        self._trying = False
