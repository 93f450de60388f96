"""A provider that fails again and again is left alone for a while, then tried with one call."""

import time
from collections.abc import Callable

FAILURES = 3
OPEN_SECONDS = 30.0


class Breaker:
    """Closed: calls go through. Open: none does. Half open, when its time is over: one does, and decides."""

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
        """Open or half open."""
        return self._failures >= FAILURES

    def begin(self) -> bool:
        """Whether this call may go through; who gets True tells how it ended."""
        if self.is_open:
            return False
        self._trying = self.has_tripped
        return True

    def succeeded(self) -> None:
        self._failures = 0
        self._trying = False

    def failed(self) -> None:
        self._failures += 1
        self._trying = False
        if self.has_tripped:
            self._open_until = self._now() + OPEN_SECONDS

    def undecided(self) -> None:
        """The call ended, and says nothing about the provider."""
        self._trying = False
