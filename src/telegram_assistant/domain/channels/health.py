"""Whether a followed channel is read well: a state, why, and what happens next;
and how fresh each priority shall be.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from telegram_assistant.domain.channels.coverage import (
    ACCOUNT_WAITS,
    FIRST_POLL,
    CoverageState,
    CoverageStatus,
)
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.reasons import Reason

PROMISED = {
    Priority.HIGH: timedelta(minutes=15),
    Priority.NORMAL: timedelta(minutes=30),
    Priority.LOW: timedelta(minutes=60),
}
"""How soon a new post is stored: the one promise of pages, documentation and alerts. With 1,000 channels, an
account keeps it for 98 to 99.9 of 100 posts (docs/scale.md). The ratios follow the weights of the priorities:
four times the weight halves the wait."""


class ChannelHealth(StrEnum):
    """How a channel is read at the moment, the worst first."""

    UNREADABLE = "unreadable"
    PARKED = "parked"
    """Not read for a while after repeated failures."""
    LATE = "late"
    """Not looked at for longer than its priority promises."""
    WAITING = "waiting"
    """Not read yet."""
    WELL = "well"


WORST_FIRST = tuple(ChannelHealth)
UNFINISHED = frozenset({CoverageState.FILLING, CoverageState.MISSING})
OPENS_LATER = Reason("health_opens_later", "it will be read as soon as one of your accounts can open it")
FOLLOW_AGAIN = Reason("health_follow_again", "follow it again when one of your accounts can open it")
AT_ITS_TURN = Reason("health_at_its_turn", "it will be read when its turn comes")


@dataclass(frozen=True, slots=True)
class ReadingHealth:
    """The health of a channel, why it is so, and what happens next;
    a channel that is read well and complete needs neither.
    """

    health: ChannelHealth
    why: Reason | None = None
    next: Reason | None = None


def suspended_health(reason: Reason | None) -> ReadingHealth:
    """The health of a channel whose subscription is suspended."""
    return ReadingHealth(ChannelHealth.UNREADABLE, reason, FOLLOW_AGAIN)


def assess_health(
    status: CoverageStatus,
    *,
    may_be_read: bool,
    parked_until: datetime | None,
    last_polled_at: datetime | None,
    priority: Priority,
    now: datetime,
) -> ReadingHealth:
    """Judges a channel. `may_be_read`: an account can open it, or its preview is read."""
    if not may_be_read:
        return ReadingHealth(ChannelHealth.UNREADABLE, status.why, OPENS_LATER)
    if parked_until is not None:
        return ReadingHealth(
            ChannelHealth.PARKED,
            status.why,
            Reason("health_next_attempt", "next attempt at {at:%Y-%m-%d %H:%M}", at=parked_until),
        )
    goes_on = (
        Reason("health_goes_on", "it continues at {at:%Y-%m-%d %H:%M}", at=status.until)
        if status.until
        else AT_ITS_TURN
    )
    if status.state is CoverageState.WAITING or last_polled_at is None:
        return ReadingHealth(
            ChannelHealth.WAITING,
            status.why if status.state is CoverageState.WAITING else FIRST_POLL,
            goes_on,
        )
    if now - last_polled_at > PROMISED[priority]:
        late = Reason("health_not_checked", "not checked since {since:%Y-%m-%d %H:%M}", since=last_polled_at)
        return ReadingHealth(
            ChannelHealth.LATE, ACCOUNT_WAITS if status.why == ACCOUNT_WAITS else late, goes_on
        )
    reason = status.why
    if reason is not None and status.state in UNFINISHED:
        reason = Reason("health_history", "older posts are missing: {why}", why=reason)
    return ReadingHealth(ChannelHealth.WELL, reason, goes_on if status.until else None)
