"""How soon new posts are wanted. A channel's tier is the highest priority among its subscribers."""

from enum import StrEnum


class Priority(StrEnum):
    """How soon new posts are read: the priority of a subscription, or the tier of a channel."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
