"""Browsers in which a person has logged in before: a signed cookie,
by which they log in while strangers try the person's name.
"""

import hashlib
import hmac
import secrets
import time

from starlette.responses import Response

from telegram_assistant.features.operations.process_secret import secret_of
from telegram_assistant.features.people.people import hash_name
from telegram_assistant.web.cookies import read_cookie, set_cookie
from telegram_assistant.web.views import View

DEVICE = "tga_device"
KNOWN_SECONDS = 365 * 24 * 3600
NONCE_BYTES = 16


def mark_browser(response: Response, view: View, name: str) -> None:
    """Remembers that the person of this name has logged in here."""
    hashed_text, secret = _hash(view, name), secret_of(view.app.settings)
    text = f"{int(time.time())}.{secrets.token_hex(NONCE_BYTES)}"
    set_cookie(
        response,
        _cookie(hashed_text),
        f"{text}.{_sign(text, hashed_text, secret)}",
        view.client,
        seconds=KNOWN_SECONDS,
    )


def known_browser(view: View, name: str) -> str | None:
    """The random name of this browser; None if the person has not logged in here in the last year."""
    hashed_text, secret = _hash(view, name), secret_of(view.app.settings)
    text, _, signature = read_cookie(view.request, _cookie(hashed_text), view.client).rpartition(".")
    if not hmac.compare_digest(signature.encode(), _sign(text, hashed_text, secret).encode()):
        return None
    since, _, browser = text.partition(".")
    return browser if time.time() - int(since) < KNOWN_SECONDS else None


def _hash(view: View, name: str) -> str:
    return hash_name(name, secret_of(view.app.settings))


def _cookie(hashed_text: str) -> str:
    """One for each person who uses the browser."""
    return f"{DEVICE}_{hashed_text[:8]}"


def _sign(text: str, hashed_text: str, secret: bytes) -> str:
    return hmac.new(secret, f"browser:{hashed_text}:{text}".encode(), hashlib.sha256).hexdigest()
