"""Clients that send slowly, never finish, or leave in the middle, on real connections."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.settings import Settings
from testkit.api_clients import create_key_header, open_app_and_client, serve_app
from tests.conftest import Admin

SECONDS = 0.3
FOLLOW = json.dumps({"references": ["@some_channel"]}).encode()


@pytest.fixture
async def impatient_app(installation: Settings) -> AsyncIterator[App]:
    http = installation.http.model_copy(update={"request_timeout_seconds": SECONDS})
    async with open_app_and_client(installation.model_copy(update={"http": http})) as (app, _):
        yield app


@asynccontextmanager
async def open_connection(app: App) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with serve_app(app, request_timeout_seconds=SECONDS) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield reader, writer
        finally:
            writer.close()


def post(key: dict[str, str], *, length: int, extra: str = "") -> bytes:
    head = (
        "POST /api/v1/channels HTTP/1.1\r\nHost: api\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n{extra}"
    )
    return f"{head}Authorization: {key['Authorization']}\r\n\r\n".encode()


async def read_rest(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the server closes the connection."""
    return await asyncio.wait_for(reader.read(), 30)


@pytest.mark.parametrize("begun", [b"", b"GET /docs HTTP/1.1\r\nHost: a"])
async def test_a_connection_without_complete_headers_is_closed(impatient_app: App, begun: bytes) -> None:
    async with open_connection(impatient_app) as (reader, writer):
        writer.write(begun)
        assert await read_rest(reader) == b""


async def test_headers_that_arrive_byte_by_byte_have_no_longer(impatient_app: App) -> None:
    async with open_connection(impatient_app) as (reader, writer):
        rest = asyncio.create_task(read_rest(reader))
        for _ in range(50):
            if rest.done():
                break
            writer.write(b"X")
            await asyncio.sleep(0.05)
        assert b"200 OK" not in await rest


async def test_the_second_request_of_a_connection_has_no_longer(impatient_app: App) -> None:
    async with open_connection(impatient_app) as (reader, writer):
        writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: api\r\n\r\n")
        await reader.readuntil(b"}}}}")
        writer.write(b"GET /docs HTTP/1.1\r\n")
        assert b"200 OK" not in await read_rest(reader)


async def test_a_body_that_nobody_waits_for_holds_no_connection(impatient_app: App) -> None:
    async with open_connection(impatient_app) as (reader, writer):
        writer.write(post({"Authorization": "none"}, length=900_000) + b"x")
        answer = await reader.readuntil(b"\r\n\r\n")
        assert b" 401 " in answer
        writer.write(b"x")
        await read_rest(reader)


async def test_a_body_that_does_not_arrive_in_time_is_refused(
    impatient_app: App, tenant_id: TenantId, admin: Admin
) -> None:
    key = await create_key_header(impatient_app, tenant_id)
    async with open_connection(impatient_app) as (reader, writer):
        writer.write(post(key, length=5000) + FOLLOW)
        answer = await read_rest(reader)
    assert b" 408 " in answer
    assert b"did not arrive within" in answer
    assert await count_traces(admin, tenant_id) == (0, 0, 0)


@pytest.mark.parametrize("half_closed", [False, True])
async def test_a_body_that_is_cut_off_changes_nothing(
    impatient_app: App, tenant_id: TenantId, admin: Admin, half_closed: bool
) -> None:
    key = await create_key_header(impatient_app, tenant_id)
    async with open_connection(impatient_app) as (reader, writer):
        writer.write(post(key, length=5000, extra="Idempotency-Key: one\r\n") + FOLLOW)
        await asyncio.sleep(0.1)
        if half_closed:
            writer.write_eof()
            await read_rest(reader)
        else:
            writer.close()
    assert await count_traces(admin, tenant_id) == (0, 0, 0)
    async with open_connection(impatient_app) as (reader, writer):
        writer.write(post(key, length=len(FOLLOW), extra="Idempotency-Key: one\r\n") + FOLLOW)
        assert b" 202 " in await reader.readuntil(b"\r\n\r\n")
    assert await count_traces(admin, tenant_id) == (1, 1, 1)


async def test_chunks_without_their_end_change_nothing(
    impatient_app: App, tenant_id: TenantId, admin: Admin
) -> None:
    key = await create_key_header(impatient_app, tenant_id)
    async with open_connection(impatient_app) as (reader, writer):
        chunk = f"{len(FOLLOW):x}\r\n".encode() + FOLLOW + b"\r\n"
        writer.write(post(key, length=0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + chunk)
        await asyncio.sleep(0.1)
        writer.write_eof()
        await read_rest(reader)
    assert await count_traces(admin, tenant_id) == (0, 0, 0)


async def count_traces(admin: Admin, tenant_id: TenantId) -> tuple[int, ...]:
    """Audited changes, requests to follow, and idempotency keys of a tenant."""
    tables = ("audit_log", "channel_requests", "idempotency_keys")
    return tuple(
        [
            int(await admin.fetchval(f"SELECT count(*) FROM {table} WHERE tenant_id = $1", tenant_id))
            for table in tables
        ]
    )
