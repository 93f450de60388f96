"""The API as programs meet it: the real site on real servers, asked over ASGI."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from ipaddress import IPv6Address
from typing import Any

import httpx
from pydantic import SecretStr

from telegram_assistant.api.server import HttpServer
from telegram_assistant.api.site import build_site, endpoints
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.tenants.keys import KeyMaker, make_key
from telegram_assistant.settings import Settings

OPERATOR_KEY = "the-operators-own-key"
OPERATOR = {"Authorization": f"Bearer {OPERATOR_KEY}"}
FOR_TENANTS = (KeyScope.READ, KeyScope.WRITE, KeyScope.ADMIN)


@cache
def description() -> dict[str, Any]:
    """The OpenAPI document, made once: it takes seconds."""
    return endpoints().openapi()


UNLIMITED = {
    "per_minute": 1_000_000,
    "burst": 1_000_000,
    "tenant_per_minute": 1_000_000,
    "tenant_burst": 1_000_000,
}


def with_operator_key(settings: Settings, **changed: object) -> Settings:
    """`changed` is of the settings of the API."""
    http = settings.http.model_copy(update={"operator_key": SecretStr(OPERATOR_KEY)})
    return settings.model_copy(update={"http": http, "api": settings.api.model_copy(update=changed)})


def make_client(app: App, *, address: str = "") -> httpx.AsyncClient:
    """Another process that is asked from an address of its own, unless told otherwise."""
    transport = httpx.ASGITransport(app=build_site(app), client=(address or fresh_address(), 1))
    return httpx.AsyncClient(transport=transport, base_url="http://api")


def fresh_address() -> str:
    """The first one of a network of its own."""
    return str(IPv6Address(0x2001_0DB8 << 96 | secrets.randbits(32) << 64))


@asynccontextmanager
async def open_app_and_client(
    settings: Settings, **changed: object
) -> AsyncIterator[tuple[App, httpx.AsyncClient]]:
    async with assemble(with_operator_key(settings, **changed)) as app, make_client(app) as client:
        yield app, client


@asynccontextmanager
async def serve_app(app: App, *, request_timeout_seconds: float) -> AsyncIterator[int]:
    """The port on which the real server serves the site, for clients that misbehave."""
    server = HttpServer(build_site(app), request_timeout_seconds=request_timeout_seconds)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


async def create_key_header(
    app: App, tenant_id: TenantId, *scopes: KeyScope, user_id: UserId | None = None
) -> dict[str, str]:
    """A new key of the tenant, as headers."""
    maker = KeyMaker(actor="test", scopes=KeyScope, user_id=user_id)
    made = await make_key(
        "test", scopes or FOR_TENANTS, maker=maker, keys=app.tenant(tenant_id).keys, now=datetime.now(UTC)
    )
    return {"Authorization": f"Bearer {made.secret}"}


def problem_of(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["title"]
    return answer.status_code, problem["detail"]
