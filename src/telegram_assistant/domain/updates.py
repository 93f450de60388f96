"""How far live updates have been seen."""

from dataclasses import dataclass
from datetime import datetime

ACCOUNT_ITSELF = 0


@dataclass(frozen=True, slots=True)
class SeenUpdates:
    """Of one channel, or of the account itself (channel 0), which alone has the last three counters."""

    channel_id: int
    pts: int
    qts: int = 0
    seq: int = 0
    moment: datetime | None = None
