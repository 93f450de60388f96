"""Findings of checks, for people: the state, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    OFF = "off"
    """Not configured, and not needed."""
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `tga doctor`."""

    subject: str
    verdict: Severity
    what: str
    remedy: str = ""


def ok(subject: str, what: str) -> Finding:
    return Finding(subject, Severity.OK, what)


def off(subject: str, what: str) -> Finding:
    return Finding(subject, Severity.OFF, what)


def warning(subject: str, what: str, *, remedy: str) -> Finding:
    return Finding(subject, Severity.WARNING, what, remedy)


def bad(subject: str, what: str, *, remedy: str) -> Finding:
    return Finding(subject, Severity.BAD, what, remedy)


MAX_SKEW_SECONDS = 5.0


def clock_skew(subject: str, skew_seconds: float) -> list[Finding]:
    """A finding if the server's clock differs from ours by more than leases and delays tolerate."""
    if abs(skew_seconds) <= MAX_SKEW_SECONDS:
        return []
    direction = "ahead of" if skew_seconds > 0 else "behind"
    what = f"the server's clock is {abs(skew_seconds):.0f} s {direction} ours"
    return [bad(f"{subject} clock", what, remedy="synchronise both machines with NTP")]
