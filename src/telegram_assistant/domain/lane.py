"""Lanes: live posts are processed before history."""

from datetime import datetime, timedelta
from enum import StrEnum

NEWS = timedelta(days=1)
"""Posts older than this count as history."""


class Lane(StrEnum):
    """The lane of an event; an event never changes its lane."""

    LIVE = "live"
    BULK = "bulk"


def lane_of(posted_at: datetime, now: datetime) -> Lane:
    """The lane of events about a post with this publication time."""
    return Lane.LIVE if now - posted_at < NEWS else Lane.BULK
