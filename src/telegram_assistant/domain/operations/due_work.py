"""Due work: what periodic jobs enqueue for a tenant, a person or the whole installation."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from telegram_assistant.domain.ids import TenantId, UserId

FIRST_PAUSE = timedelta(seconds=15)
MAX_ROWS = 10_000
"""No run of any kind of work deletes or takes over more rows; what is left waits for its next turn."""
MOST_AHEAD = timedelta(minutes=20)
"""How long before its moment work is begun at most, where much has the same one."""


class WorkUrgency(IntEnum):
    """Work of one urgency never waits for work of another: each has places of its own in every worker."""

    ALERT = 0
    """Somebody waits to be alerted."""
    DIGEST = 1
    """It has its hour."""
    UPKEEP = 2
    """It may take hours."""

    @property
    def longest_pause(self) -> timedelta:
        """How long work that fails again and again is left alone at most."""
        return timedelta(minutes=2 if self is WorkUrgency.ALERT else 15)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueWork:
    """A piece of work that a process has claimed."""

    work_id: int
    kind: str
    urgency: WorkUrgency
    tenant_id: TenantId | None
    """None: the whole installation's."""
    user_id: UserId | None
    """None: everybody's in the tenant."""
    moment: datetime | None
    """The moment that it is for, which may be a little ahead."""
    attempt: int
    """Counts from 1. An attempt that ended with its process counts, too."""

    @property
    def turn(self) -> int:
        """The place of its tenant in the round."""
        return self.tenant_id or 0

    @property
    def pause(self) -> timedelta:
        """How long it is left alone if this attempt fails: longer each time."""
        growth: int = 2 ** min(self.attempt - 1, 10)
        return min(FIRST_PAUSE * growth, self.urgency.longest_pause)


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """How much work of a kind waits."""

    kind: str
    due: int = 0
    """Claimable now."""
    late_seconds: float = 0.0
    """Since when the longest waiting has been claimable."""
    failed: int = 0
    """Its last attempt failed."""
    last_error: str = ""
