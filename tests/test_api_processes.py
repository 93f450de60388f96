"""Several processes of the api role on one port."""

import asyncio
import os
import signal
from pathlib import Path

import httpx
import pytest

from telegram_assistant.api.processes import FurtherProcess
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.errors import CannotStart
from telegram_assistant.features.operations.api_processes import examine
from telegram_assistant.roles import ROLES, RoleName, run_roles
from telegram_assistant.settings import read_settings
from testkit.running_program import Program, program

NEEDED = {
    "DATABASE_URL": "postgresql://localhost/tga",
    "REDIS_URL": "redis://localhost/0",
    "API_PROCESSES": "2",
}
SECRET = {"SECRET_KEY": "k" * 43}


def children_of(running: Program) -> set[int]:
    tasks = Path(f"/proc/{running.process.pid}/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text(encoding="ascii").split()}


async def until_both_answer(running: Program) -> None:
    """Asks over new connections until the first process, which knows of the second, and the second have
    answered.
    """
    answered = set[bool]()
    async with asyncio.timeout(90):
        while answered != {True, False}:
            async with httpx.AsyncClient() as client:
                response = await client.get(running.url("api", "/health/details"))
            assert response.status_code == 200
            answered.add("api process 2" in response.json()["parts"])


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def until_gone(pids: set[int]) -> None:
    async with asyncio.timeout(60):
        while any(is_running(pid) for pid in pids):
            await asyncio.sleep(0.05)


@pytest.mark.turns("API_PROCESSES")
async def test_two_processes_share_a_port_start_again_and_end_together(
    migrated_database: dict[str, str],
) -> None:
    async with program(
        migrated_database, "--roles", "api", API_PROCESSES="2", VECTORS_DIR="", **SECRET
    ) as running:
        await running.until_ready()
        await until_both_answer(running)
        [killed] = children_of(running)
        os.kill(killed, signal.SIGKILL)
        await until_both_answer(running)
        children = children_of(running)
        assert killed not in children
        running.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(running.process.wait(), 60) == 0
        await until_gone(children)


@pytest.mark.full
async def test_no_process_outlives_the_first_one(migrated_database: dict[str, str]) -> None:
    async with program(
        migrated_database, "--roles", "api", API_PROCESSES="2", VECTORS_DIR="", **SECRET
    ) as running:
        await running.until_ready()
        await until_both_answer(running)
        children = children_of(running)
        running.process.kill()
        await until_gone(children)


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"VECTORS_DIR": "/data/vectors", **SECRET}, "embedded vectors"), ({}, "SECRET_KEY")],
)
async def test_what_several_processes_cannot_share_is_refused(settings: dict[str, str], why: str) -> None:
    refused = read_settings({**NEEDED, **settings})
    [finding] = examine(refused)
    assert finding.verdict is Severity.BAD
    with pytest.raises(CannotStart, match=why):
        await run_roles(refused, [role for role in ROLES if role.name is RoleName.API])


def test_one_process_and_several_with_a_server_for_vectors_are_fine() -> None:
    server = {"VECTORS_DIR": "/data/vectors", "QDRANT_URL": "http://127.0.0.1:6333", **SECRET}
    assert examine(read_settings({**NEEDED, **server})) == []
    assert examine(read_settings({**NEEDED, "API_PROCESSES": "1", "VECTORS_DIR": "/data/vectors"})) == []


@pytest.mark.parametrize(("first", "third"), [("8100", 8102), ("", None)])
def test_each_process_has_an_operations_port_of_its_own(first: str, third: int | None) -> None:
    settings = read_settings({**NEEDED, "API_OPERATIONS_PORT": first})
    own = FurtherProcess(3, listener_fd=5).own_settings(settings).http
    assert (own.api_operations_port, own.api_processes) == (third, 1)
