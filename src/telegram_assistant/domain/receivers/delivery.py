"""How alerts and digests leave: receivers, signatures, attempts,
and when a failed receiver is tried again.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from telegram_assistant.reasons import Reason

SECRET_PREFIX = "whsec_"  # noqa: S105 -- how every secret begins
SECRET_BYTES = 32
SIGNATURE_PREFIX = "v1,"
MAX_MAIL_LETTERS = 254
_MAIL = re.compile(r"[^\s@<>,;:\"()\[\]\\]+@(?:[\w-]+\.)+[\w-]{2,}")
FIRST_RETRY = timedelta(seconds=5)
MAX_RETRY = timedelta(minutes=15)
MAX_RETRY_AFTER = timedelta(days=1)
"""A receiver that asks to be left alone for longer is asked again after a day."""
PAUSED_AFTER = timedelta(days=1)
"""A receiver that has failed for so long is paused until a person resumes it.

Nothing is lost: what was raised meanwhile waits.
"""
OLD_SECRET_LASTS = timedelta(days=1)
"""After a secret was replaced, requests carry the signatures of both for so long."""
MAX_WRONG_CODES = 10
"""After so many wrong codes a new one must be sent."""
NO_RECEIVER = Reason("receiver_unknown", "there is no such receiver")


class ReceiverKind(StrEnum):
    """How a receiver is reached."""

    WEBHOOK = "webhook"
    EMAIL = "email"


class MessageType(StrEnum):
    """The kind of message that a webhook gets: the `type` of its envelope."""

    ALERT_RAISED = "alert.raised"
    DIGEST_READY = "digest.ready"
    RECEIVER_CONFIRMATION = "receiver.confirmation"
    """The first message: it carries the code that confirms the receiver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertReceiver:
    """A receiver of alerts and digests, and the state of its deliveries."""

    receiver_id: UUID
    kind: ReceiverKind
    name: str
    address: str
    created_by: str
    created_at: datetime
    confirmed_at: datetime | None
    """None: nothing but the code is sent."""
    code_number: int
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
    old_secret_until: datetime | None
    """Until when the secret before the last one signs, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """How an attempt ended. Without `trouble` the receiver has taken it."""

    trouble: Reason | None = None
    is_gone: bool = False
    """The receiver wants nothing any more: it is paused at once."""
    retry_after: timedelta | None = None
    """For how long the receiver has asked to be left alone."""
    answer: bytes = b""
    """The beginning of the answer, if it was asked for."""


DELIVERED = AttemptResult()


def is_mail_address(text: str) -> bool:
    """Whether this looks like one plain e-mail address; only its mail server knows whether it exists."""
    return len(text) <= MAX_MAIL_LETTERS and _MAIL.fullmatch(text) is not None


def address_hash(address: str) -> bytes:
    """Recognizes an e-mail address without storing it."""
    return hashlib.sha256(address.strip().lower().encode()).digest()


def new_secret() -> str:
    """A secret of 256 random bits, with which a webhook signs, as Standard Webhooks writes it."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """One signature of Standard Webhooks: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
    return SIGNATURE_PREFIX + base64.b64encode(digest).decode()


def signatures(active_secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature`: one signature for each secret that is valid, separated by spaces."""
    return " ".join(sign(secret, message_id, timestamp, body) for secret in active_secrets)


def retry_after(failure_count: int) -> timedelta:
    """How long a receiver is left alone after so many failures in a row: twice as long each time,
    up to a quarter of an hour.
    """
    doubled_pause: timedelta = FIRST_RETRY * 2 ** min(failure_count - 1, 20)
    return min(MAX_RETRY, doubled_pause)
