"""Assesses whether an account is at risk, with the reasons, from the account's own facts alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.method_words import words_for
from telegram_assistant.reasons import Reason

SERIOUS_SECONDS = 300.0
"""Telegram imposes a longer wait only on accounts that send too many requests."""
SLOW = 0.5
NEARLY_EMPTY = 0.1
"""The share of a daily budget below which it counts as nearly used up."""
SLOWLY_SECONDS = 3600.0
NO_SIGNS_OF_RISK = Reason("no_signs_of_risk", "no signs of trouble")


class Risk(StrEnum):
    """The degree of risk, the lowest first."""

    SAFE = "safe"
    CAREFUL = "careful"
    AT_RISK = "at risk"
    LOST = "lost"


WORST_LAST = tuple(Risk)


@dataclass(frozen=True, slots=True)
class Allowance:
    """One limit of a method: the largest burst, how much of it is left now, and when it is full again."""

    at_once: float
    per_hour: float
    left: float | None
    """None: only the process that uses the account knows it."""
    full_in_seconds: float | None


@dataclass(frozen=True, slots=True)
class MethodUse:
    """An account's use of one of Telegram's methods."""

    method: str
    blocked_until: datetime | None
    pace: float
    """1 is full speed; lower after Telegram has asked to wait."""
    allowances: tuple[Allowance, ...]


@dataclass(frozen=True, slots=True)
class RiskReason:
    """A reason for the assessment, with what to do about it."""

    risk: Risk
    why: Reason


@dataclass(frozen=True, slots=True)
class RiskAssessment:
    """The assessed risk, with the gravest reasons first."""

    risk: Risk
    reasons: tuple[RiskReason, ...]


STATES = {
    AccountState.BANNED: RiskReason(
        Risk.LOST, Reason("risk_banned", "Telegram banned it; only Telegram can restore it")
    ),
    AccountState.LOGGED_OUT: RiskReason(
        Risk.LOST,
        Reason(
            "risk_logged_out",
            "Telegram ended its login; if you did not do this, check Settings → Devices, then log in again",
        ),
    ),
    AccountState.QUARANTINED: RiskReason(
        Risk.AT_RISK,
        Reason("risk_quarantined", "it is in quarantine and sends nothing until a person resumes it"),
    ),
    AccountState.PAUSED: RiskReason(Risk.SAFE, Reason("risk_paused", "it is paused, so it sends nothing")),
    AccountState.NEW: RiskReason(Risk.SAFE, Reason("risk_new", "nobody is logged in yet")),
    AccountState.LOGGING_OUT: RiskReason(Risk.SAFE, Reason("risk_logging_out", "it is being logged out")),
}


def assess_risk(
    state: AccountState,
    *,
    state_reason: Reason | None,
    is_held: bool,
    overdue_channels: int,
    methods: Sequence[MethodUse],
    now: datetime,
) -> RiskAssessment:
    """Assesses an account. Waits imposed by Telegram weigh most, because they precede bans."""
    signs = [
        *_of_state(state, state_reason, is_held=is_held, overdue=overdue_channels),
        *(reason for method in methods for reason in _of_method(method, now)),
    ]
    reasons = tuple(sorted(signs, key=lambda sign: -WORST_LAST.index(sign.risk))) or (
        RiskReason(Risk.SAFE, NO_SIGNS_OF_RISK),
    )
    return RiskAssessment(reasons[0].risk, reasons)


def _of_state(
    state: AccountState, state_reason: Reason | None, *, is_held: bool, overdue: int
) -> Iterator[RiskReason]:
    state_risk = STATES.get(state)
    if state_risk is not None:
        reason = (
            Reason("risk_because", "{risk} ({why})", risk=state_risk.why, why=state_reason)
            if state_reason
            else state_risk.why
        )
        yield RiskReason(state_risk.risk, reason)
    elif not is_held:
        yield RiskReason(
            Risk.CAREFUL,
            Reason("risk_not_running", "no process uses it right now; check that the ingest role is running"),
        )
    elif overdue:
        reason = Reason(
            "risk_overdue",
            "{count} of its channels waits longer than planned: the account has reached its request limit",
            "{count} of its channels wait longer than planned: the account has reached its request limit",
            count=overdue,
        )
        yield RiskReason(Risk.CAREFUL, reason)


def _of_method(use: MethodUse, now: datetime) -> Iterator[RiskReason]:
    method = words_for(use.method)
    remaining_seconds = 0.0 if use.blocked_until is None else (use.blocked_until - now).total_seconds()
    if remaining_seconds > 0:
        reason = Reason(
            "risk_blocked",
            "Telegram blocked {method} for {duration}; the program waits. Do not use the account "
            "elsewhere meanwhile",
            method=method,
            duration=_duration(remaining_seconds),
        )
        yield RiskReason(Risk.AT_RISK if remaining_seconds > SERIOUS_SECONDS else Risk.CAREFUL, reason)
    if use.pace < SLOW:
        reason = Reason(
            "risk_limited_repeatedly",
            "Telegram limited {method} repeatedly: it runs at {pace:.0%} of its speed and recovers slowly",
            method=method,
            pace=use.pace,
        )
        yield RiskReason(Risk.AT_RISK, reason)
    elif use.pace < 1:
        reason = Reason(
            "risk_limited",
            "Telegram limited {method} recently: it runs at {pace:.0%} of its speed",
            method=method,
            pace=use.pace,
        )
        yield RiskReason(Risk.CAREFUL, reason)
    for allowance in use.allowances:
        fills_slowly = allowance.full_in_seconds is not None and allowance.full_in_seconds > SLOWLY_SECONDS
        if fills_slowly and allowance.left is not None and allowance.left < NEARLY_EMPTY * allowance.at_once:
            yield RiskReason(
                Risk.CAREFUL,
                Reason(
                    "risk_budget_nearly_used_up",
                    "today's budget for {method} is nearly used up",
                    method=method,
                ),
            )


def _duration(seconds: float) -> Reason:
    if seconds > 2 * 3600:
        return Reason("hours", "{hours:.0f} h", hours=seconds / 3600)
    return Reason("minutes", "{minutes:.0f} min", minutes=max(1, seconds / 60))
