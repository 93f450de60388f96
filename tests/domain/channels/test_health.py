"""One word for how a channel is read, why, and what happens next."""

from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.channels.coverage import ACCOUNT_WAITS, CoverageState, CoverageStatus
from telegram_assistant.domain.channels.health import (
    AT_ITS_TURN,
    OPENS_LATER,
    ChannelHealth,
    ReadingHealth,
    assess_health,
)
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.reasons import quote

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
COMPLETE = CoverageStatus(CoverageState.COMPLETE)


def assess(
    status: CoverageStatus = COMPLETE,
    *,
    ago: float | None = 1,
    priority: Priority = Priority.NORMAL,
    **more: object,
) -> ReadingHealth:
    facts = {
        "may_be_read": True,
        "parked_until": None,
        "last_polled_at": None if ago is None else NOW - timedelta(minutes=ago),
        **more,
    }
    return assess_health(status, priority=priority, now=NOW, **facts)  # type: ignore[arg-type]  # of any type


@pytest.mark.parametrize(
    ("priority", "minutes"), [(Priority.HIGH, 15), (Priority.NORMAL, 30), (Priority.LOW, 60)]
)
def test_a_channel_is_late_when_it_was_not_checked_for_longer_than_its_priority_promises(
    priority: Priority, minutes: int
) -> None:
    assert assess(ago=minutes, priority=priority) == ReadingHealth(ChannelHealth.WELL)
    late = assess(ago=minutes + 1, priority=priority)
    assert (late.health, late.next) == (ChannelHealth.LATE, AT_ITS_TURN)
    assert str(late.why).startswith("not checked since 2026-11-16")


def test_an_account_that_waits_for_telegram_is_the_reason_for_being_late_and_says_until_when() -> None:
    late = assess(CoverageStatus(CoverageState.COMPLETE, ACCOUNT_WAITS, LATER), ago=45)
    assert (late.health, late.why, str(late.next)) == (
        ChannelHealth.LATE,
        ACCOUNT_WAITS,
        "it continues at 2026-11-16 13:00",
    )


def test_what_nobody_can_open_cannot_be_read_even_if_it_is_parked() -> None:
    lost = CoverageStatus(CoverageState.UNREADABLE, quote("banned"))
    assert assess(lost, may_be_read=False, parked_until=LATER) == ReadingHealth(
        ChannelHealth.UNREADABLE, quote("banned"), OPENS_LATER
    )


def test_a_parked_channel_names_its_next_attempt() -> None:
    parked = assess(CoverageStatus(CoverageState.COMPLETE, quote("it broke"), LATER), parked_until=LATER)
    assert (parked.health, str(parked.why), str(parked.next)) == (
        ChannelHealth.PARKED,
        "it broke",
        "next attempt at 2026-11-16 13:00",
    )


def test_a_channel_waits_until_it_was_checked_for_this_tenant() -> None:
    assert (
        assess(CoverageStatus(CoverageState.WAITING, quote("the first poll"))).health is ChannelHealth.WAITING
    )
    assert assess(ago=None).health is ChannelHealth.WAITING


def test_missing_history_does_not_make_a_channel_late() -> None:
    filling = assess(CoverageStatus(CoverageState.FILLING, quote("200 ids to read")))
    assert (filling.health, str(filling.why), filling.next) == (
        ChannelHealth.WELL,
        "older posts are missing: 200 ids to read",
        None,
    )
