"""The trace of the work in hand: every log line that is written meanwhile carries its id."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Final

from structlog.typing import EventDict, WrappedLogger

MAX_TRACES: Final = 5
"""How many traces a line about a whole batch names."""

_trace_ids: ContextVar[Callable[[], Mapping[str, str]]] = ContextVar("trace_ids")
"""Returns the trace ids of the posts in hand, by post id; that of a request, under an empty name."""


def trace_id_of(traceparent: str | None) -> str | None:
    """The id of a trace in a W3C traceparent, which also names the version, the span and flags."""
    parts = (traceparent or "").split("-")
    return parts[1] if len(parts) == 4 else None  # noqa: PLR2004 -- version, trace, span, flags


def log_with_trace(trace_id: str) -> AbstractContextManager[None]:
    """Adds the id to every line of this task, and of those that it starts, inside the block."""
    return _HoldTraceIds(lambda: {"": trace_id})


def log_with_traces(traceparents: Mapping[str, str | None]) -> AbstractContextManager[None]:
    """Adds ids to the lines about posts: a line with a `post_id` gets that of its post, another one those of
    the first few.

    `traceparents` are those of the posts in hand, by post id.
    """
    return _HoldTraceIds(
        lambda: {
            post_id: trace_id for post_id, parent in traceparents.items() if (trace_id := trace_id_of(parent))
        }
    )


class _HoldTraceIds:
    """Costs next to nothing until a line is written: every event of every stage passes here."""

    __slots__ = ("_read", "_token")

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read

    def __enter__(self) -> None:
        self._token = _trace_ids.set(self._read)

    def __exit__(self, *_: object) -> None:
        _trace_ids.reset(self._token)


def add_trace_id(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """The structlog processor."""
    if "trace_id" in event or not (trace_ids := _trace_ids.get(dict[str, str])()):
        return event
    trace_id = trace_ids.get(str(event.get("post_id")))
    if trace_id is None and len(trace_ids) == 1:
        trace_id = next(iter(trace_ids.values()))
    if trace_id is not None:
        event["trace_id"] = trace_id
    else:
        event["trace_ids"] = list(dict.fromkeys(trace_ids.values()))[:MAX_TRACES]
    return event
