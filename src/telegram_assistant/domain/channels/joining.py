"""Which channel an account should join, so that Telegram pushes its posts instead of waiting for a poll."""

from collections.abc import Iterable
from dataclasses import dataclass

from telegram_assistant.domain.accounts.budget import DAY, HOUR, Limit, MethodBudget
from telegram_assistant.domain.ids import ChannelId

PLACES, PREMIUM_PLACES = 500, 1000
"""The most channels and groups that Telegram lets an account join."""
SPARE_PLACES = 50
"""Places left for the account's owner."""
MIN_PER_SECOND = 1 / HOUR
"""The lowest rate of weighted posts that justifies a place."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A public channel that the account reads and has not joined."""

    channel_id: ChannelId
    access_hash: int
    weight: float
    posts_per_second: float

    @property
    def worth(self) -> float:
        """The rate of posts, weighted by how much they are wanted."""
        return self.weight * self.posts_per_second


def worth_joining(
    candidates: Iterable[Candidate], *, joined_count: int, is_premium: bool
) -> Candidate | None:
    """The channel that gains most from joining; None if none gains enough or no place is left."""
    if joined_count >= (PREMIUM_PLACES if is_premium else PLACES) - SPARE_PLACES:
        return None
    best_candidate = max(
        candidates, key=lambda candidate: (candidate.worth, -candidate.channel_id), default=None
    )
    return best_candidate if best_candidate is not None and best_candidate.worth >= MIN_PER_SECOND else None


def joins_budget(per_day: int) -> MethodBudget:
    """A budget of so many joins a day, evenly spread, in addition to Telegram's own limits."""
    return MethodBudget("joins for push", (Limit(1, per_day / DAY),))
