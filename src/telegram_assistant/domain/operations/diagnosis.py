"""Findings of checks, for people: the state, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum

from telegram_assistant.reasons import Reason


class Severity(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    OFF = "off"
    """Not configured, and not needed."""
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `tga doctor`, and of the page Operations.

    `subject` is the name of what was checked, the same in every language.
    """

    subject: str
    verdict: Severity
    what: Reason
    remedy: Reason | None = None


def ok(subject: str, reason: Reason) -> Finding:
    return Finding(subject, Severity.OK, reason)


def off(subject: str, reason: Reason) -> Finding:
    return Finding(subject, Severity.OFF, reason)


def warning(subject: str, reason: Reason, *, remedy: Reason) -> Finding:
    return Finding(subject, Severity.WARNING, reason, remedy)


def bad(subject: str, reason: Reason, *, remedy: Reason) -> Finding:
    return Finding(subject, Severity.BAD, reason, remedy)


MAX_SKEW_SECONDS = 5.0


def clock_skew(subject: str, skew_seconds: float) -> list[Finding]:
    """A finding if the server's clock differs from ours by more than leases and delays tolerate."""
    if abs(skew_seconds) <= MAX_SKEW_SECONDS:
        return []
    seconds = abs(skew_seconds)
    if skew_seconds > 0:
        reason = Reason("clock_ahead", "the server's clock is {seconds:.0f} s ahead of ours", seconds=seconds)
    else:
        reason = Reason("clock_behind", "the server's clock is {seconds:.0f} s behind ours", seconds=seconds)
    return [
        bad(
            f"{subject} clock",
            reason,
            remedy=Reason("synchronise_clocks", "synchronise both machines with NTP"),
        )
    ]
