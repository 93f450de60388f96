"""A login in progress: a person at a door answers, and ingest, which alone may keep a session, asks."""

from enum import StrEnum


class LoginWay(StrEnum):
    """How somebody wants to log in."""

    PHONE = "phone"
    QR = "qr"
    """By a code that an app of theirs scans, which is logged in already."""


class LoginState(StrEnum):
    """What the login waits for."""

    WANTED = "wanted"
    """For an ingest role to take it on."""
    PHONE_WANTED = "phone_wanted"
    CODE_SENT = "code_sent"
    """For the code that Telegram has sent to the person."""
    QR_SHOWN = "qr_shown"
    """For the person to scan what is shown."""
    PASSWORD_WANTED = "password_wanted"  # noqa: S105 -- no password
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"


OVER = frozenset({LoginState.DONE, LoginState.FAILED, LoginState.EXPIRED})
