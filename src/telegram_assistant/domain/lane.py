"""Fresh news go ahead of history."""

from datetime import datetime, timedelta
from enum import StrEnum

NEWS = timedelta(days=1)
"""What is older came with history."""


class Lane(StrEnum):
    """An event stays in its lane."""

    LIVE = "live"
    BULK = "bulk"


def lane_of(posted_at: datetime, now: datetime) -> Lane:
    """For what begins with a stored post."""
    return Lane.LIVE if now - posted_at < NEWS else Lane.BULK
