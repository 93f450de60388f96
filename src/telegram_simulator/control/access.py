"""Refuses requests to the control port that do not come from the person who started the simulator."""

import hmac
import secrets
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

OPEN = frozenset({"/", "/key"})
"""Paths without a secret: the help, and the server's public key."""
UNAUTHORIZED = (
    "Send the key of this simulator: Authorization: Bearer KEY. It printed the key when it started, "
    "or wrote it into the file of --where."
)
MISDIRECTED = (
    "Call the control port by its address, like 127.0.0.1, or localhost. "
    "Other names could be those of a foreign web page."
)
UNSUPPORTED = "Send Content-Type: application/json."


def new_key() -> str:
    return secrets.token_urlsafe(24)


class ControlAccess:
    """Asks every request for a host that no web page can have, for the key, and changes for JSON,
    which no form can send.
    """

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._expected = f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if not _is_local_name(headers.get("host", "")):
            return PlainTextResponse(MISDIRECTED, status_code=421)
        if scope["method"] in {"GET", "HEAD"} and scope["path"] in OPEN:
            return None
        if not hmac.compare_digest(headers.get("authorization", "").encode(), self._expected):
            return PlainTextResponse(UNAUTHORIZED, status_code=401, headers={"WWW-Authenticate": "Bearer"})
        is_json = headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
        return (
            None
            if scope["method"] in {"GET", "HEAD"} or is_json
            else PlainTextResponse(UNSUPPORTED, status_code=415)
        )


def _is_local_name(host: str) -> bool:
    """Whether it is localhost or an address.

    A web page reaches this port by a name of its own only (DNS rebinding).
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ip_address(name))
    except ValueError:
        return False
