"""Protection against forged requests: where a change comes from, and a token that only our own pages know."""

import hashlib
import hmac
import secrets
from urllib.parse import urlsplit

from starlette.requests import Request

FIELD = "csrf"
HEADER = "x-csrf-token"
NONCE_BYTES = 16


def new_form_token(cookie: str) -> str:
    """A token bound to the browser's cookie.

    It differs in every response, so compression reveals nothing of it.
    """
    nonce = secrets.token_hex(NONCE_BYTES)
    return f"{nonce}.{_sign(cookie, nonce)}"


def is_own_token(token: str, cookie: str) -> bool:
    nonce, _, signature = token.partition(".")
    return bool(cookie) and hmac.compare_digest(signature.encode(), _sign(cookie, nonce).encode())


def is_same_site(request: Request) -> bool:
    """Browsers say where a request comes from: in Sec-Fetch-Site, or over plain http at least in Origin."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _sign(cookie: str, nonce: str) -> str:
    return hmac.new(cookie.encode(), b"form:" + nonce.encode(), hashlib.sha256).hexdigest()
