"""A login in progress: ingest, which alone may store a session, asks;
a person answers on a page or in the CLI.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from telegram_assistant.domain.ids import AccountId, TenantId
from telegram_assistant.reasons import Reason

INTERRUPTED = Reason("login_interrupted", "the ingest role stopped and interrupted the login; start again")


class LoginWay(StrEnum):
    """How a person logs in."""

    PHONE = "phone"
    QR = "qr"
    """With a QR code, scanned by an app that is already logged in."""


class LoginState(StrEnum):
    """The step that a login waits for, or its end."""

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


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """One login, as its person sees it.

    `question` counts the questions; `error` says what was wrong with the last answer.
    """

    attempt_id: UUID
    tenant_id: TenantId
    account_id: AccountId | None
    phone_masked: str | None
    way: LoginWay
    state: LoginState
    question: int
    answered: int
    """The last question that was answered."""
    public_key: bytes | None
    prompt: bytes | None
    error: Reason | None
    created_at: datetime
    expires_at: datetime

    @property
    def is_over(self) -> bool:
        return self.state in OVER

    @property
    def is_being_checked(self) -> bool:
        """Whether the question was answered and ingest has not said yet what it thinks of the answer."""
        return not self.is_over and 0 < self.question == self.answered
