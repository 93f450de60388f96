"""Each role starts with the environment that compose.yaml gives it, and with nothing else."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from telegram_assistant.features.operations.preparing import NEEDS, PASSWORD
from telegram_assistant.telegram.vault import make_key
from testkit.engines import Engine, free_port, running_engine
from testkit.programs import program
from tests.deploy.composing import PLACES, ROLES, reaching, whole

pytestmark = [pytest.mark.serial, pytest.mark.long]


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """In a Redis that others use, the scheduler shows when their channels were read."""
    with running_engine("redis", tmp_path_factory.mktemp("redis")) as running:
        yield running


def write_secrets(folder: Path, place: str, values: dict[str, str]) -> None:
    """As `tga prepare` leaves them for a process."""
    (folder / place).mkdir()
    for secret in NEEDS[place]:
        if secret != PASSWORD:
            (folder / place / secret.lower()).write_text(values[secret], encoding="utf-8")


@pytest.mark.parametrize("name", ROLES)
async def test_a_role_starts_with_what_its_service_gives_it(
    name: str, migrated_database: dict[str, str], redis: Engine, tmp_path: Path
) -> None:
    ports = {f"{role.upper()}_PORT": str(free_port()) for role in ROLES.values()}
    given = {"REDIS_URL": redis.url, "HTTP_HOST": "127.0.0.1", "FILES_DIR": str(tmp_path / "files"), **ports}
    given |= {"MEDIA_SPOOL_DIR": str(tmp_path / "spool"), "MODELS_DIR": str(tmp_path / "models")}
    made = {
        "SECRET_KEY": "s" * 40,
        "SESSION_ENCRYPTION_KEY": make_key(),
        "OPERATOR_KEY": "9f86d081884c7d659a2feaa0c55ad015",
    }
    write_secrets(tmp_path, PLACES[name], {**migrated_database, **made})
    environ = {"PATH": os.environ["PATH"], **reaching(name, whole()[name], given, tmp_path)}
    command, log = whole()[name]["command"], tmp_path / "log"
    with program("telegram_assistant", *command, environ=environ, log=log) as running:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{ports[f'{ROLES[name].upper()}_PORT']}"
        ) as client:
            await _until_ready(client, running, log)
            health = await _health_when_ok(client, made["OPERATOR_KEY"])
    assert health["role"] == ROLES[name]


async def _until_ready(client: httpx.AsyncClient, running: subprocess.Popen[str], log: Path) -> None:
    async with asyncio.timeout(90):
        while True:
            assert running.poll() is None, _end_of(log)
            try:
                if (await client.get("/ready")).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)


async def _health_when_ok(client: httpx.AsyncClient, operator_key: str) -> dict[str, object]:
    """A role is ready a moment before its first tick or heartbeat."""
    health: dict[str, object] = {}
    for _ in range(300):
        health = (
            await client.get("/health/details", headers={"Authorization": f"Bearer {operator_key}"})
        ).json()
        if health["status"] == "ok":
            return health
        await asyncio.sleep(0.1)
    raise AssertionError(health)


def _end_of(log: Path) -> str:
    return log.read_text(encoding="utf-8")[-3000:]
