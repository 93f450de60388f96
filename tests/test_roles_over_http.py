"""HTTP of a running role: access to the operator's pages, their ports, and clients that never finish a
request.
"""

import asyncio
import re
import signal
import socket
import time

import httpx
import pytest

from telegram_assistant.roles import ROLES, RoleName
from testkit.engines import free_port
from testkit.running_program import program


@pytest.mark.turns("OPERATOR_KEY")
async def test_the_operators_pages_need_the_operators_key(database: dict[str, str]) -> None:
    async with (
        program(database, "--roles", "api", OPERATOR_KEY="k3y-of-operator") as running,
        httpx.AsyncClient() as client,
    ):
        await running.until_ready()
        for path in ("/health/details", "/metrics"):
            url = running.url("api", path)
            refused = await client.get(url)
            assert (refused.status_code, refused.headers["content-type"]) == (401, "application/problem+json")
            assert (
                await client.get(url, headers={"Authorization": "Bearer k3y-of-operator"})
            ).status_code == 200
            rebound = await client.get(
                url, headers={"Authorization": "Bearer k3y-of-operator", "Host": "evil.example"}
            )
            assert rebound.status_code == 421
        running.process.terminate()
        _, logged = await running.process.communicate()
    assert re.search(r"shorter than 32 characters.*operator_key_is_weak", logged.decode())
    assert "k3y-of-operator" not in logged.decode()


@pytest.mark.turns("OPERATIONS_HOST")
@pytest.mark.turns("INGEST_OPERATIONS_PORT")
@pytest.mark.turns("WORKER_OPERATIONS_PORT")
@pytest.mark.turns("API_OPERATIONS_PORT")
async def test_the_operators_pages_can_move_to_ports_of_their_own(database: dict[str, str]) -> None:
    ports = {f"{role.name.upper()}_OPERATIONS_PORT": str(free_port()) for role in ROLES}
    async with (
        program(database, OPERATIONS_HOST="127.0.0.2", **ports) as running,
        httpx.AsyncClient() as client,
    ):
        for role in RoleName:
            await running.until_ready(role)
            own = f"http://127.0.0.2:{ports[f'{role.upper()}_OPERATIONS_PORT']}"
            assert [
                (await client.get(running.url(role, path))).status_code
                for path in ("/livez", "/readyz", "/ready", "/health")
            ] == [200] * 4
            assert [
                (await client.get(running.url(role, path))).status_code
                for path in ("/health/details", "/metrics")
            ] == [404, 404]
            assert [
                (await client.get(own + path)).status_code
                for path in ("/livez", "/readyz", "/health", "/metrics")
            ] == [200] * 4
            assert (await client.get(f"{own}/health/details")).json()["role"] == role
        assert (await client.post(running.url("ingest", "/api/v1/channels/1/poll"))).status_code == 404
        own = f"http://127.0.0.2:{ports['INGEST_OPERATIONS_PORT']}"
        assert (await client.post(f"{own}/api/v1/channels/1/poll")).status_code == 401
        running.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(running.process.wait(), 60) == 0


async def test_an_operations_port_that_is_taken_ends_the_process_with_words(database: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        async with program(database, "--roles", "worker", WORKER_OPERATIONS_PORT=port) as running:
            _, complaint = await asyncio.wait_for(running.process.communicate(), 60)
    assert (running.process.returncode, "set WORKER_OPERATIONS_PORT" in complaint.decode()) == (1, True)


@pytest.mark.turns("HTTP_REQUEST_TIMEOUT_SECONDS")
async def test_400_half_sent_requests_are_closed_in_time_while_others_are_answered(
    database: dict[str, str],
) -> None:
    async with (
        program(database, "--roles", "api", HTTP_REQUEST_TIMEOUT_SECONDS="2") as running,
        httpx.AsyncClient() as client,
    ):
        await running.until_ready()
        port = int(running.environ["API_PORT"])
        began = time.monotonic()
        connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(400)]
        for _, writer in connections:
            writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        assert (await client.get(running.url("api", "/health"))).status_code == 200
        endings = await asyncio.wait_for(asyncio.gather(*(reader.read() for reader, _ in connections)), 60)
        assert set(endings) == {b""}
        assert 1.9 < time.monotonic() - began < 30
        for _, writer in connections:
            writer.close()
