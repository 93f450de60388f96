"""In front of /api/v1: who asks, whether they may now, and what becomes of changes: audited, and made once."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from telegram_assistant.api.authentication import Authenticator
from telegram_assistant.api.bodies import read_body
from telegram_assistant.api.problems import TITLES, problem
from telegram_assistant.api.rate_limiting import FailedKeys, rate_headers, too_many
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import Caller
from telegram_assistant.settings import ApiSettings
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.tenants.audit import AuditedAction
from telegram_assistant.stores.postgres.tenants.idempotency import StoredResponse
from telegram_assistant.stores.redis.rate_limits import RateLimitDecision

PREFIX = "/api/v1"
CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
MAX_KEY_LENGTH = 255


class AccessMiddleware:
    """Everything outside /api/v1 passes."""

    def __init__(
        self,
        site: ASGIApp,
        *,
        callers: Authenticator,
        failed_keys: FailedKeys,
        tenant: Callable[[TenantId], TenantStores],
        settings: ApiSettings,
        body_timeout_seconds: float,
    ) -> None:
        self._site, self._callers, self._tenant, self._settings = site, callers, tenant, settings
        self._failed_keys, self._body_timeout_seconds = failed_keys, body_timeout_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (scope["path"] == PREFIX or scope["path"].startswith(f"{PREFIX}/")):
            await self._site(scope, receive, send)
            return
        headers = dict(scope["headers"])
        key = _key_in(headers)
        admitted = await self._callers.admitted(key)
        if admitted is None:
            refusal = problem(401, TITLES[401], "Send `Authorization: Bearer` with a key; `tga keys create` makes one.")
            refusal = await self._failed_keys.refuse(_address_of(scope), refusal) if key else refusal
            await refusal(scope, receive, send)
            return
        caller, taken = admitted
        if not taken.allowed:
            await too_many(taken)(scope, receive, send)
            return
        counted = _counted(send, taken)
        scope["caller"], scope["audit_facts"] = caller, {}
        if scope["method"] not in CHANGING:
            await self._site(scope, receive, counted)
            return
        body = await read_body(receive, headers, max_bytes=self._settings.max_bytes, timeout_seconds=self._body_timeout_seconds)
        answer = body if isinstance(body, Response) else await self._change(scope, body, caller, headers)
        await answer(scope, receive, counted)

    async def _change(self, scope: Scope, body: bytes, caller: Caller, headers: dict[bytes, bytes]) -> Response:
        given = headers.get(b"idempotency-key")
        if given is None:
            return (await self._perform(scope, body, caller)).response
        key = given.decode("latin-1")
        if not 0 < len(key) <= MAX_KEY_LENGTH or not key.isascii() or not key.isprintable():
            return problem(422, TITLES[422], f"An Idempotency-Key is 1 to {MAX_KEY_LENGTH} printable ASCII letters.")
        known = self._tenant(caller.tenant_id).idempotency
        earlier = await known.take(key, _request(scope, body, caller), seconds=self._settings.timeout_seconds + 5)
        if earlier is not None:
            return _again(earlier)
        try:
            kept = await self._perform(scope, body, caller)
        except BaseException:
            await known.give_back(key)
            raise
        if kept.is_success:
            await known.keep(key, StoredResponse(kept.status, None if _is_secret(scope) else kept.body))
        else:
            await known.give_back(key)
        return kept.response

    async def _perform(self, scope: Scope, body: bytes, caller: Caller) -> "_BufferedResponse":
        """Nothing is confirmed that is not in the audit log."""
        kept = _BufferedResponse()
        await self._site(scope, _once(body), kept.send)
        if kept.is_success:
            subject = scope["path"].removeprefix(PREFIX)
            change = AuditedAction(caller.actor, scope["route"].operation_id, subject, caller.key_id, scope["audit_facts"])
            await self._tenant(caller.tenant_id).audit.note(change)
        return kept


@dataclass(slots=True)
class _BufferedResponse:
    """An answer that waits until everything is written down."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""

    @property
    def is_success(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def response(self) -> Response:
        response = Response(self.body, self.status)
        response.raw_headers = self.headers
        return response

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        else:
            self.body += message.get("body", b"")


def _key_in(headers: dict[bytes, bytes]) -> str:
    scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _address_of(scope: Scope) -> str | None:
    return scope["client"][0] if scope.get("client") else None


def _counted(send: Send, taken: RateLimitDecision) -> Send:
    headers = [(name.lower().encode(), value.encode()) for name, value in rate_headers(taken).items()]

    async def counted(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *headers]}
        await send(message)

    return counted


def _once(body: bytes) -> Receive:
    parts: list[Message] = [{"type": "http.disconnect"}, {"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return parts.pop() if len(parts) > 1 else parts[0]

    return receive


def _request(scope: Scope, body: bytes, caller: Caller) -> bytes:
    """What makes two requests the same."""
    parts = (caller.counted_as.encode(), scope["method"].encode(), scope["path"].encode(), scope["query_string"], body)
    return hashlib.sha256(b"".join(len(part).to_bytes(8) + part for part in parts)).digest()


def _again(earlier: StoredResponse) -> Response:
    if earlier.body is None:
        return problem(409, TITLES[409], "This was done, and its answer was a secret that is shown once; revoke it and make another.")
    media_type = "application/json" if earlier.body else None
    return Response(earlier.body, earlier.status, {"Idempotency-Replayed": "true"}, media_type)


def _is_secret(scope: Scope) -> bool:
    extra: dict[str, Any] = scope["route"].openapi_extra
    return bool(extra["x-is-secret"])
