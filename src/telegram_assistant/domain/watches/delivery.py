"""How alerts and digests leave: receivers, signatures, and when a failed receiver is tried again."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from telegram_assistant.reasons import Reason

SECRET_BEGINS = "whsec_"  # noqa: S105 -- how every secret begins
MAX_MAIL_LETTERS = 254
_MAIL = re.compile(r"[^\s@<>,;:\"()\[\]\\]+@(?:[\w-]+\.)+[\w-]{2,}")
FIRST_RETRY = timedelta(seconds=5)
MAX_RETRY = timedelta(minutes=15)
PAUSED_AFTER = timedelta(days=1)
"""A receiver that has failed for so long is paused until a person resumes it. Nothing is lost: what was raised meanwhile waits."""


class ReceiverKind(StrEnum):
    """How a receiver is reached."""

    WEBHOOK = "webhook"
    EMAIL = "email"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertReceiver:
    """Where alerts go, and how that works out."""

    receiver_id: UUID
    kind: ReceiverKind
    name: str
    address: str
    created_by: str
    created_at: datetime
    failures: int
    """Failed attempts since the last success."""
    retry_at: datetime | None
    trouble: Reason | None
    """Why the last attempt failed."""
    paused_at: datetime | None
    delivered_at: datetime | None
    """The last success."""
    waiting: int
    """Alerts and digests that are still to be delivered."""


def is_mail_address(text: str) -> bool:
    """Whether this looks like one plain e-mail address; only its mail server knows whether it exists."""
    return len(text) <= MAX_MAIL_LETTERS and _MAIL.fullmatch(text) is not None


def new_secret() -> str:
    """A secret of 256 random bits, with which a webhook signs."""
    return SECRET_BEGINS + secrets.token_urlsafe(32)


def sign(secret: str, timestamp: int, body: bytes) -> str:
    """The signature of a request: HMAC-SHA256 over `timestamp.body`, in hexadecimal."""
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def is_signed(signature: str, secret: str, timestamp: int, body: bytes) -> bool:
    """Whether the signature is valid, compared in constant time. Receivers should also refuse old timestamps."""
    return hmac.compare_digest(signature, sign(secret, timestamp, body))


def retry_after(failures: int) -> timedelta:
    """How long a receiver is left alone after so many failures in a row: twice as long each time, up to a quarter of an hour."""
    doubled: timedelta = FIRST_RETRY * 2 ** min(failures - 1, 20)
    return min(MAX_RETRY, doubled)
