"""Gaps, and what a person is told about them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.channels.coverage import (
    CoverageFacts,
    CoverageState,
    CoverageStatus,
    IdRange,
    status_of,
    subtract_range,
)
from telegram_assistant.domain.ids import MessageId
from telegram_assistant.reasons import quote

LATER = datetime(2026, 12, 1, tzinfo=UTC)


@st.composite
def ranges(draw: st.DrawFn) -> IdRange:
    low = draw(st.integers(1, 40))
    return IdRange(MessageId(low), MessageId(draw(st.integers(low, 45))))


@given(st.lists(ranges(), max_size=6), ranges())
def test_what_is_proven_is_no_gap_and_everything_else_still_is(gaps: list[IdRange], proven: IdRange) -> None:
    left = subtract_range(gaps, proven)
    for number in range(1, 50):
        assert any(number in gap for gap in left) == (
            any(number in gap for gap in gaps) and number not in proven
        )


def facts(**more: Any) -> CoverageFacts:
    known: dict[str, Any] = {"has_account": True, "was_read": True, "missing_ids": 0}
    return CoverageFacts(**{**known, **more})


def test_a_person_is_told_the_state_and_why() -> None:
    assert status_of(facts()).state is CoverageState.COMPLETE
    assert str(status_of(facts(missing_ids=7, is_filling=True)).why) == "7 message ids to read"
    flooded = status_of(facts(missing_ids=7, is_filling=True, blocked_until=LATER))
    assert (flooded.state, str(flooded.why), flooded.until) == (
        CoverageState.MISSING,
        "Telegram asks the account to wait",
        LATER,
    )
    assert status_of(facts(missing_ids=7)).state is CoverageState.MISSING
    assert status_of(facts(was_read=False)).state is CoverageState.WAITING
    lost = status_of(facts(has_account=False, lost_reason=quote("ChannelPrivate"), lost_at=LATER))
    assert (lost.state, str(lost.why), lost.until) == (CoverageState.UNREADABLE, "ChannelPrivate", LATER)


def test_a_channel_read_by_its_preview_says_what_that_means() -> None:
    facts = CoverageFacts(has_account=False, was_read=False, missing_ids=0, by_preview=True)
    assert status_of(facts).state is CoverageState.WAITING
    read = status_of(replace(facts, was_previewed=True))
    assert read.state is CoverageState.PREVIEW
    assert all(
        word in str(read.why)
        for word in (
            "public preview",
            "rounded",
            "no original files",
            "deleted and restricted posts are invisible",
        )
    )
    assert status_of(replace(facts, parked_reason=quote("no preview"))) == CoverageStatus(
        CoverageState.UNREADABLE, quote("no preview")
    )
    assert status_of(replace(facts, by_preview=False)).state is CoverageState.UNREADABLE
