"""The outermost ASGI middleware: time limit, response headers, and responses for unexpected errors."""

import asyncio
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from telegram_assistant.api.problems import problem, problem_from, retry_after
from telegram_assistant.errors import AssistantError
from telegram_assistant.reasons import Reason
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import HTTP_ANSWERS, HTTP_SECONDS
from telegram_assistant.telemetry.outages import OutageLog
from telegram_assistant.telemetry.trace_ids import log_with_trace, trace_id_of
from telegram_assistant.telemetry.tracing import span, traceparent

log = get_logger()

TRACEPARENT = re.compile(rb"^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$")
DOCS = "/docs"
TOOK_TOO_LONG = Reason("request_took_too_long", "The request took too long. Try again in a moment.")
STREAM_SECONDS = 120.0
"""A response that sends events may last as long, beyond the time in which other responses are complete."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
NO_CONTENT_POLICY = "default-src 'none'; frame-ancestors 'none'"
DOCS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


class ResponseMiddleware:
    """Answers a request that takes too long with 503, and cancels its work in the background."""

    def __init__(self, site: ASGIApp, *, timeout_seconds: float) -> None:
        self._site, self._timeout_seconds = site, timeout_seconds
        self._cut_off: set[asyncio.Task[None]] = set()
        self._late = OutageLog("requests", began="request_took_too_long")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._site(scope, receive, send)
            return
        began_at = time.perf_counter()
        headers = dict(scope["headers"])
        parent = headers.get(b"traceparent", b"")
        trace_match = TRACEPARENT.match(parent)
        with span("http", parent=parent.decode() if trace_match else None):
            scope["trace_id"] = (
                trace_match[1].decode()
                if trace_match
                else trace_id_of(traceparent()) or secrets.token_hex(16)
            )
            with log_with_trace(scope["trace_id"]):
                await self._respond(scope, receive, send, began_at)

    async def _respond(self, scope: Scope, receive: Receive, send: Send, began_at: float) -> None:
        answer = _GuardedSend(
            send,
            {
                **HEADERS,
                "Content-Security-Policy": DOCS_POLICY if scope["path"] == DOCS else NO_CONTENT_POLICY,
                "Trace-Id": scope["trace_id"],
            },
        )
        work = asyncio.ensure_future(self._run_site(scope, receive, answer))
        try:
            await asyncio.wait({work}, timeout=self._timeout_seconds)
            if answer.is_stream:
                await asyncio.wait({work}, timeout=STREAM_SECONDS)
        finally:
            if not work.done():
                self._cancel_work(work)
        if not answer.status:
            self._late.log_failure(f"no answer within {self._timeout_seconds:g} s")
            await problem(503, TOOK_TOO_LONG, headers=retry_after(1), trace_id=scope["trace_id"])(
                scope, receive, answer.send_anyway
            )
        else:
            self._late.log_recovery()
        answer.is_over = True
        operation = getattr(scope.get("route"), "operation_id", None) or "none"
        HTTP_ANSWERS.labels(operation, str(answer.status)).inc()
        HTTP_SECONDS.labels(operation).observe(time.perf_counter() - began_at)

    async def _run_site(self, scope: Scope, receive: Receive, answer: "_GuardedSend") -> None:
        try:
            await self._site(scope, receive, answer.send)
        except AssistantError as error:
            await problem_from(error, trace_id=scope["trace_id"])(scope, receive, answer.send)
        except Exception as error:
            log.exception("request_failed")
            if not answer.status:
                await problem_from(error, trace_id=scope["trace_id"])(scope, receive, answer.send)

    def _cancel_work(self, work: asyncio.Task[None]) -> None:
        """Cancels without waiting: work that hangs on an unresponsive server may not end soon."""
        work.cancel()
        self._cut_off.add(work)
        work.add_done_callback(self._forget_work)

    def _forget_work(self, work: asyncio.Task[None]) -> None:
        self._cut_off.discard(work)
        with suppress(asyncio.CancelledError):
            work.exception()


class _GuardedSend:
    """Adds our headers to a response, and drops everything that is sent after its end."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send = send
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self.status = 0
        self.is_stream = False
        self.is_over = False

    async def send(self, message: Message) -> None:
        if not self.is_over:
            await self.send_anyway(message)

    async def send_anyway(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.is_stream = any(
                name == b"content-type" and value.startswith(b"text/event-stream")
                for name, value in message["headers"]
            )
            message = {**message, "headers": [*message["headers"], *self._headers]}
        await self._send(message)
