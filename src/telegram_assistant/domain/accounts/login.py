"""A login in progress: ingest, which alone may store a session, asks; a person answers through the API or the CLI."""

from enum import StrEnum


class LoginWay(StrEnum):
    """How a person logs in."""

    PHONE = "phone"
    QR = "qr"
    """With a QR code, scanned by an app that is already logged in."""


class LoginState(StrEnum):
    """What a login waits for."""

    WANTED = "wanted"
    """Waits for an ingest role to claim it."""
    PHONE_WANTED = "phone_wanted"
    CODE_SENT = "code_sent"
    """Waits for the code that Telegram has sent to the person."""
    QR_SHOWN = "qr_shown"
    """Waits for the person to scan the code."""
    PASSWORD_WANTED = "password_wanted"  # noqa: S105 -- no password
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"


OVER = frozenset({LoginState.DONE, LoginState.FAILED, LoginState.EXPIRED})
