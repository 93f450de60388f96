"""The codes that confirm receivers, and the links in mails that confirm or unsubscribe an address without a
login.

Nothing of them is stored: they are made from SECRET_KEY, by the worker that sends them and by the page that
is opened with them.
"""

import hmac
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.sealing import Sealer

CONFIRM = "confirm receiver"
UNSUBSCRIBE = "unsubscribe receiver"
CONFIRM_LINK_LASTS = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class LinkedReceiver:
    """The receiver that a link is about. `code_number` is 0 in a link that unsubscribes."""

    tenant_id: TenantId
    receiver_id: UUID
    code_number: int = 0


def secret_purpose(receiver_id: UUID) -> str:
    """The purpose for which a webhook's secret is sealed. It does not open in another receiver's row."""
    return f"webhook {receiver_id}"


def code_of(receiver_id: UUID, code_number: int, *, sealer: Sealer) -> str:
    """The code that whoever gets the messages of a receiver can read."""
    return sealer.code_for(f"receiver {receiver_id} {code_number}")


def is_code_of(typed_text: str, receiver_id: UUID, code_number: int, *, sealer: Sealer) -> bool:
    """Letters may be small, and spaces and hyphens may stand between them."""
    letters = "".join(letter for letter in typed_text.upper() if letter.isalnum())
    return hmac.compare_digest(letters.encode(), code_of(receiver_id, code_number, sealer=sealer).encode())


def echoes_code(answer: bytes, code: str) -> bool:
    """Whether a receiver has answered with its code: the code alone, or `{"code": …}`.

    A server that sends back whatever it gets does not confirm anything by that.
    """
    text = answer.decode("utf-8", "replace").strip()
    try:
        parsed_answer = json.loads(text)
    except ValueError:
        parsed_answer = text
    return code in (
        parsed_answer,
        parsed_answer.get("code") if isinstance(parsed_answer, dict) and len(parsed_answer) == 1 else None,
    )


def confirm_token(receiver: LinkedReceiver, *, sealer: Sealer, now: datetime) -> str:
    expires_at = int((now + CONFIRM_LINK_LASTS).timestamp())
    return sealer.seal(
        json.dumps([receiver.tenant_id, str(receiver.receiver_id), receiver.code_number, expires_at]),
        purpose=CONFIRM,
    )


def read_confirm_token(token: str, *, sealer: Sealer, now: datetime) -> LinkedReceiver | None:
    """Returns None if we have not made it, or it is too old."""
    opened_text = sealer.open(token, purpose=CONFIRM)
    if opened_text is None:
        return None
    tenant_id, receiver_id, code_number, expires_at = json.loads(opened_text)
    return (
        LinkedReceiver(TenantId(tenant_id), UUID(receiver_id), code_number)
        if now.timestamp() < expires_at
        else None
    )


def unsubscribe_token(receiver: LinkedReceiver, *, sealer: Sealer) -> str:
    """Works for as long as the receiver exists."""
    return sealer.seal(json.dumps([receiver.tenant_id, str(receiver.receiver_id)]), purpose=UNSUBSCRIBE)


def read_unsubscribe_token(token: str, *, sealer: Sealer) -> LinkedReceiver | None:
    opened_text = sealer.open(token, purpose=UNSUBSCRIBE)
    if opened_text is None:
        return None
    tenant_id, receiver_id = json.loads(opened_text)
    return LinkedReceiver(TenantId(tenant_id), UUID(receiver_id))
