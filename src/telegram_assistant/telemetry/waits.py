"""Waits that Telegram imposes: recorded where they happen, and collected by the run around them,
however deep the call.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Waits:
    """All waits of one run, including one that ends the run."""

    seconds: float = 0.0
    retries: int = 0
    """Requests that were sent again after a wait."""


_current: ContextVar[Waits | None] = ContextVar("waits", default=None)


@contextmanager
def collect_waits() -> Iterator[Waits]:
    """Collects the waits of this task's requests inside the block.

    Other tasks of the same account collect theirs separately.
    """
    waits = Waits()
    token = _current.set(waits)
    try:
        yield waits
    finally:
        _current.reset(token)


def note_wait(seconds: float, *, retry_count: int = 0) -> None:
    """Records a wait that Telegram asked for. Does nothing outside `collect_waits`."""
    waits = _current.get()
    if waits is not None:
        waits.seconds += seconds
        waits.retries += retry_count
