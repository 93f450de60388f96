"""How soon news are wanted. A channel's tier is the highest priority among its subscribers."""

from enum import StrEnum


class Priority(StrEnum):
    """Of a subscription, and of a channel as its tier."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
