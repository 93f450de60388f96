"""Trouble that is made on purpose."""

from collections import Counter, deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Failure:
    """The next calls of a method fail with this."""

    method: str
    remaining_calls: int
    code: int
    message: str
    phone: str | None = None
    after: int = 0
    """The number of calls that are answered before."""


@dataclass(slots=True)
class Faults:
    """The faults that are switched on at present."""

    latency_seconds: float = 0.0
    refuse_connections: bool = False
    too_many_connections: bool = False
    clock_skew_seconds: float = 0.0
    drop_updates: bool = False
    web_latency_seconds: float = 0.0
    web_status: int = 0
    """The status that the web server answers instead of pages, like 429 or 500; 0 is no fault."""
    web_retry_after_seconds: int = 0
    web_unknown_markup: bool = False
    slow_page_seconds: float = 20.0
    """How long slow linked pages take."""
    huge_page_bytes: int = 48 * 2**20
    """The size of huge linked pages."""
    login_token_seconds: float = 30.0
    """How long a QR code is valid."""
    failures: list[Failure] = field(default_factory=list)

    def failure_of(self, method: str, phone: str | None) -> Failure | None:
        """The failure that this call gets, if any; each is used up by calls."""
        for failure in self.failures:
            if failure.method == method and failure.phone in {None, phone}:
                if failure.after > 0:
                    failure.after -= 1
                    continue
                failure.remaining_calls -= 1
                if failure.remaining_calls <= 0:
                    self.failures.remove(failure)
                return failure
        return None


@dataclass(frozen=True, slots=True)
class Traced:
    """One call of the trace."""

    at: float
    phone: str | None
    dc_id: int
    method: str
    answer: str
    peer: str
    milliseconds: float


@dataclass(slots=True)
class Counters:
    """Counts of everything that happened so far."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of calls, by phone and method."""
    errors: Counter[str] = field(default_factory=Counter)
    crashes: int = 0
    """Mistakes of the simulator itself."""
    connections: int = 0
    file_bytes: int = 0
    posts_served: int = 0
    updates_sent: int = 0
    web_requests: int = 0
    pages_served: int = 0
    articles_served: Counter[str] = field(default_factory=Counter)
    """Linked pages, by kind."""
    posts_live: int = 0
    """Posts that channels made by their rhythm while it ran."""
    trace: deque[Traced] = field(default_factory=lambda: deque(maxlen=5000))
