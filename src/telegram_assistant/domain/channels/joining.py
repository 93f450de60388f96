"""Which channel an account should join, so that Telegram tells of its posts at once instead of being asked for them."""

from collections.abc import Iterable
from dataclasses import dataclass

from telegram_assistant.domain.accounts.budget import DAY, HOUR, Limit, MethodBudget
from telegram_assistant.domain.ids import ChannelId

PLACES, PREMIUM_PLACES = 500, 1000
"""Channels and groups that Telegram lets an account join."""
SPARE_PLACES = 50
"""The account's owner wants to join something too."""
MIN_PER_SECOND = 1 / HOUR
"""Weighted posts; for fewer a place is too good."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A public channel that the account reads and has not joined."""

    channel_id: ChannelId
    access_hash: int
    weight: float
    posts_per_second: float

    @property
    def worth(self) -> float:
        """Posts that wait to be found, by how much they are wanted."""
        return self.weight * self.posts_per_second


def worth_joining(candidates: Iterable[Candidate], *, joined: int, is_premium: bool) -> Candidate | None:
    """The one that gains most by it; None when none gains enough or there is no place."""
    if joined >= (PREMIUM_PLACES if is_premium else PLACES) - SPARE_PLACES:
        return None
    best = max(candidates, key=lambda one: (one.worth, -one.channel_id), default=None)
    return best if best is not None and best.worth >= MIN_PER_SECOND else None


def joins_budget(per_day: int) -> MethodBudget:
    """So many a day, evenly spread: a token of its own beside what Telegram allows."""
    return MethodBudget("joins for push", (Limit(1, per_day / DAY),))
