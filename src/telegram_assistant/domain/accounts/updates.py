"""The last update that an account has processed."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SeenUpdates:
    """The account's own counters.

    Channels' counters need not be stored: posts missed in a channel are read from its history.
    """

    pts: int
    qts: int
    seq: int
    moment: datetime
