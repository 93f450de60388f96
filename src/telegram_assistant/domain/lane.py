"""Fresh news go ahead of history."""

from enum import StrEnum


class Lane(StrEnum):
    """An event stays in its lane."""

    LIVE = "live"
    BULK = "bulk"
