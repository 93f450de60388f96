"""What Telegram makes a run wait: noted where the wait happens, read by the run in which it happened, however deep the call."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Waits:
    """All waits of one run, those included that begin when Telegram ends the run."""

    seconds: float = 0.0
    retries: int = 0
    """Requests that were sent again after their wait."""


_current: ContextVar[Waits | None] = ContextVar("waits", default=None)


@contextmanager
def noting_waits() -> Iterator[Waits]:
    """Collects the waits of requests that are made inside, by this task. Other tasks of the same account note theirs apart."""
    waits = Waits()
    token = _current.set(waits)
    try:
        yield waits
    finally:
        _current.reset(token)


def note_wait(seconds: float, *, retries: int = 0) -> None:
    """Telegram has asked to wait so long. Nothing happens where nobody collects."""
    waits = _current.get()
    if waits is not None:
        waits.seconds += seconds
        waits.retries += retries
