"""The outermost middleware of pages: security headers, caching, metrics."""

import secrets
import time

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from telegram_assistant.telemetry.metrics import HTTP_ANSWERS, HTTP_SECONDS
from telegram_assistant.telemetry.trace_ids import log_with_trace
from telegram_assistant.telemetry.tracing import span
from telegram_assistant.web.client import Clients

POLICY = (
    "default-src 'self'; img-src 'self' data:; script-src 'self'; style-src 'self'; object-src 'none'; "
    "base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer, browsers would send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "private, no-cache",
}
CACHE_FOREVER = "public, max-age=31536000, immutable"
"""For files of ours: their address changes with their content."""


class HeadersMiddleware:
    """Adds the headers that a response does not set itself."""

    def __init__(self, site: ASGIApp, *, clients: Clients) -> None:
        self._site, self._clients = site, clients

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._site(scope, receive, send)
            return
        began_at, status = time.perf_counter(), 500
        scope["trace_id"] = secrets.token_hex(16)
        scope["tga.client"] = self._clients.identify(Request(scope))
        headers = {**HEADERS, "Trace-Id": scope["trace_id"]}
        if scope["path"].startswith("/static/") and b"v=" in scope["query_string"]:
            headers["Cache-Control"] = CACHE_FOREVER

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                present_names = {name.lower() for name, _ in message["headers"]}
                added_headers = [
                    (name.lower().encode(), value.encode())
                    for name, value in headers.items()
                    if name.lower().encode() not in present_names
                ]
                message = {**message, "headers": [*message["headers"], *added_headers]}
            await send(message)

        with span("page"), log_with_trace(scope["trace_id"]):
            await self._site(scope, receive, send_with_headers)
        name = getattr(scope.get("route"), "name", None) or "static"
        HTTP_ANSWERS.labels(name, str(status)).inc()
        HTTP_SECONDS.labels(name).observe(time.perf_counter() - began_at)
