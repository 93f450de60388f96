from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.account_risk import (
    Allowance,
    MethodUse,
    Risk,
    RiskAssessment,
    assess_risk,
)
from telegram_assistant.reasons import quote

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def verdict(*methods: MethodUse, state: AccountState = AccountState.ACTIVE, **more: Any) -> RiskAssessment:
    values = {"state_reason": None, "is_held": True, "overdue_channels": 0, **more}
    return assess_risk(state, methods=methods, now=NOW, **values)


def use(
    *, blocked_seconds: float = 0, pace: float = 1.0, allowances: tuple[Allowance, ...] = ()
) -> MethodUse:
    return MethodUse(
        "messages.getHistory",
        NOW + timedelta(seconds=blocked_seconds) if blocked_seconds else None,
        pace,
        allowances,
    )


def test_an_account_that_nothing_speaks_against_is_safe() -> None:
    assert verdict(use()).risk is Risk.SAFE
    assert [str(reason.why) for reason in verdict().reasons] == ["no signs of trouble"]


@pytest.mark.parametrize(
    ("method_use", "risk"),
    [
        (use(blocked_seconds=30), Risk.CAREFUL),
        (use(blocked_seconds=3600), Risk.AT_RISK),
        (use(blocked_seconds=-5), Risk.SAFE),
        (use(pace=0.7), Risk.CAREFUL),
        (use(pace=0.3), Risk.AT_RISK),
        (use(allowances=(Allowance(8, 0.5, 0.2, 57_600),)), Risk.CAREFUL),
        (use(allowances=(Allowance(4, 960, 0, 15),)), Risk.SAFE),
        (use(allowances=(Allowance(3, 2880, None, None),)), Risk.SAFE),
    ],
)
def test_being_told_to_wait_weighs_most(method_use: MethodUse, risk: Risk) -> None:
    assert verdict(method_use).risk is risk


@pytest.mark.parametrize(
    ("state", "risk"),
    [
        (AccountState.BANNED, Risk.LOST),
        (AccountState.LOGGED_OUT, Risk.LOST),
        (AccountState.QUARANTINED, Risk.AT_RISK),
        (AccountState.PAUSED, Risk.SAFE),
    ],
)
def test_what_telegram_or_a_person_has_done_is_said_with_the_reason(state: AccountState, risk: Risk) -> None:
    judged = verdict(state=state, state_reason=quote("somebody said so"))
    assert judged.risk is risk
    assert "somebody said so" in str(judged.reasons[0].why)


def test_the_gravest_reason_comes_first() -> None:
    judged = verdict(use(pace=0.7), use(blocked_seconds=3600), is_held=False)
    assert [reason.risk for reason in judged.reasons] == [Risk.AT_RISK, Risk.CAREFUL, Risk.CAREFUL]
    assert "1 h" not in str(judged.reasons[0].why)
    assert "60 min" in str(judged.reasons[0].why)


def test_an_account_that_cannot_keep_up_is_noticed() -> None:
    assert "3 of its channels" in str(verdict(overdue_channels=3).reasons[0].why)
