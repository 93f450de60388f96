"""How far an account has seen what Telegram tells it by itself."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SeenUpdates:
    """The account's own counters. Channels have theirs, and need none kept: what was missed in one is read from its history."""

    pts: int
    qts: int
    seq: int
    moment: datetime
