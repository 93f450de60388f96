"""ASGI middleware for `/api/v1`: authentication, rate limits, idempotency keys and the audit log."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from telegram_assistant.api.authentication import Authenticator
from telegram_assistant.api.bodies import read_body
from telegram_assistant.api.problems import problem
from telegram_assistant.api.rate_limiting import FailedKeys, rate_headers, too_many
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import Caller
from telegram_assistant.features.tenants.audit import record_action
from telegram_assistant.features.tenants.idempotency import perform_once
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import ApiSettings
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.tenants.audit import AuditedAction
from telegram_assistant.stores.postgres.tenants.idempotency import StoredResponse
from telegram_assistant.stores.redis.rate_limits import RateLimitDecision

PREFIX = "/api/v1"
CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
MAX_KEY_LENGTH = 255
KEY_NEEDED = Reason(
    "key_needed", "Send `Authorization: Bearer` with a valid API key; `tga keys create` creates one."
)
KEY_INVALID = Reason(
    "idempotency_key_invalid",
    "An Idempotency-Key must be 1 to {max_length} printable ASCII characters.",
    max_length=MAX_KEY_LENGTH,
)
SECRET_SHOWN = Reason(
    "secret_shown_once",
    "This request has already succeeded, and the secret is shown only once. "
    "Revoke the key and create another.",
)


class AccessMiddleware:
    """Checks requests to `/api/v1`; other paths pass unchecked."""

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
        authenticated = await self._callers.authenticate(key)
        if authenticated is None:
            refusal = problem(401, KEY_NEEDED)
            refusal = await self._failed_keys.refuse(_address_of(scope), refusal) if key else refusal
            await refusal(scope, receive, send)
            return
        caller, decision = authenticated
        if not decision.allowed:
            await too_many(decision)(scope, receive, send)
            return
        send_with_limits = _add_rate_headers(send, decision)
        scope["caller"], scope["audit_facts"] = caller, {}
        if scope["method"] not in CHANGING:
            await self._site(scope, receive, send_with_limits)
            return
        body = await read_body(
            receive, headers, max_bytes=self._settings.max_bytes, timeout_seconds=self._body_timeout_seconds
        )
        response = (
            body if isinstance(body, Response) else await self._perform_once(scope, body, caller, headers)
        )
        await response(scope, receive, send_with_limits)

    async def _perform_once(
        self, scope: Scope, body: bytes, caller: Caller, headers: dict[bytes, bytes]
    ) -> Response:
        header = headers.get(b"idempotency-key")
        if header is None:
            return (await self._perform(scope, body, caller)).response
        key = header.decode("latin-1")
        if not 0 < len(key) <= MAX_KEY_LENGTH or not key.isascii() or not key.isprintable():
            return problem(422, KEY_INVALID)
        result = await perform_once(
            partial(self._perform, scope, body, caller),
            key=key,
            request=_hash_request(scope, body, caller),
            seconds=self._settings.timeout_seconds + 5,
            idempotency=self._tenant(caller.tenant_id).idempotency,
            response_of=partial(_stored_response, scope),
        )
        return _replay_response(result) if isinstance(result, StoredResponse) else result.response

    async def _perform(self, scope: Scope, body: bytes, caller: Caller) -> "_BufferedResponse":
        """Buffers the response until the audit log has recorded the change,
        so no change is confirmed unrecorded.
        """
        buffered_response = _BufferedResponse()
        await self._site(scope, _receive_body(body), buffered_response.send)
        if buffered_response.is_success:
            subject = scope["path"].removeprefix(PREFIX)
            change = AuditedAction(
                caller.actor,
                scope["route"].operation_id,
                subject,
                caller.key_id,
                scope["audit_facts"],
                caller.actor_id,
            )
            await record_action(change, audit=self._tenant(caller.tenant_id).audit)
        return buffered_response


@dataclass(slots=True)
class _BufferedResponse:
    """A response that is held back until the change is recorded."""

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


def _add_rate_headers(send: Send, decision: RateLimitDecision) -> Send:
    headers = [(name.lower().encode(), value.encode()) for name, value in rate_headers(decision).items()]

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *headers]}
        await send(message)

    return send_with_headers


def _receive_body(body: bytes) -> Receive:
    parts: list[Message] = [
        {"type": "http.disconnect"},
        {"type": "http.request", "body": body, "more_body": False},
    ]

    async def receive() -> Message:
        return parts.pop() if len(parts) > 1 else parts[0]

    return receive


def _hash_request(scope: Scope, body: bytes, caller: Caller) -> bytes:
    """Two requests with the same hash are the same request."""
    parts = (
        caller.counted_as.encode(),
        scope["method"].encode(),
        scope["path"].encode(),
        scope["query_string"],
        body,
    )
    return hashlib.sha256(b"".join(len(part).to_bytes(8) + part for part in parts)).digest()


def _stored_response(scope: Scope, buffered_response: _BufferedResponse) -> StoredResponse | None:
    """The response as it is stored: without a secret body, and None for a response that is no success."""
    if not buffered_response.is_success:
        return None
    return StoredResponse(buffered_response.status, None if _is_secret(scope) else buffered_response.body)


def _replay_response(earlier: StoredResponse) -> Response:
    if earlier.body is None:
        return problem(409, SECRET_SHOWN)
    media_type = "application/json" if earlier.body else None
    return Response(earlier.body, earlier.status, {"Idempotency-Replayed": "true"}, media_type)


def _is_secret(scope: Scope) -> bool:
    extra: dict[str, Any] = scope["route"].openapi_extra
    return bool(extra["x-is-secret"])
