"""How soon new posts are wanted. A channel's tier is the highest priority among its subscribers."""

from enum import StrEnum


class Priority(StrEnum):
    """The priority of a subscription, or the tier of a channel."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
