"""Redis without memory and PostgreSQL without a disk while posts come in: nothing is lost,
and everything goes on by itself.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from telegram_simulator.control.client import ControlClient
from testkit.engines import Engine, free_port, running_engine
from testkit.programs import WORKER, program, simulator, tga
from testkit.servers import servers_in
from testkit.shortages import MB, SmallDisk, small_disk, without_memory
from tests.journeys.installation import Installation, open_installation, until

pytestmark = [pytest.mark.serial, pytest.mark.long]

DISK_MB = 320
LACKING = """
SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM dead_letters)
     + (SELECT count(*) FROM posts p LEFT JOIN post_search s USING (channel_id, message_id)
         WHERE s.channel_id IS NULL)
"""


@pytest.fixture(scope="module")
def telegram() -> Iterator[ControlClient]:
    with simulator("load", "--channels", "40", "--posts", "20") as control:
        yield control


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with running_engine("redis", tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture(scope="module")
def disk() -> Iterator[SmallDisk]:
    """A small disk for the data of PostgreSQL.

    PostgreSQL runs as a user of its own, who may not enter the folders of this test.
    """
    folder = Path(tempfile.mkdtemp(prefix="tga-small-disk-"))
    with small_disk(folder, megabytes=DISK_MB) as mounted:
        yield mounted
    folder.rmdir()


@pytest.fixture(scope="module")
def ports() -> dict[str, str]:
    return {"INGEST_PORT": str(free_port()), "WORKER_PORT": str(free_port())}


@asynccontextmanager
async def working(
    disk: SmallDisk, redis: Engine, telegram: ControlClient, folder: Path, ports: dict[str, str]
) -> AsyncIterator[Installation]:
    """Ingest and worker in processes of their own, and posts that come all the time."""
    more = {"REDIS_URL": redis.url, "CRAWL_ENABLED": "false", "DATABASE_DATA_DIR": str(disk.path), **ports}
    with servers_in(disk.path, "postgres") as servers:
        async with open_installation(servers, telegram, folder, number=1, **more) as crew:
            await crew.add_account("first")
            crew.start("first")
            crew.programs.enter_context(program(*WORKER, environ=crew.environ, log=folder / "worker.log"))
            posting = asyncio.create_task(post(crew))
            await until(lambda: has_words(crew), "the roles are at work", seconds=120)
            try:
                yield crew
            finally:
                posting.cancel()
            await until(lambda: has_done_everything(crew), "nothing is lost", seconds=120)


async def post(crew: Installation) -> None:
    while True:
        await asyncio.to_thread(crew.say, "first", text="Снег идёт. " + "Очень много снега. " * 40)
        await asyncio.sleep(0.3)


async def has_words(crew: Installation) -> bool:
    return bool(await crew.admin.fetchval("SELECT count(*) > 0 FROM post_search"))


async def has_done_everything(crew: Installation) -> bool:
    return await crew.is_read("first") and await crew.admin.fetchval(LACKING) == 0


async def until_part(
    port: str, part: str, is_so: Callable[[dict[str, Any]], bool], *, seconds: float = 60
) -> dict[str, Any]:
    """Waits until the report of a part of a role fulfils `is_so`, and returns the report."""
    async with httpx.AsyncClient(timeout=10) as client, asyncio.timeout(seconds):
        while True:
            parts = (await client.get(f"http://127.0.0.1:{port}/health/details")).json()["parts"]
            report: dict[str, Any] = next(
                (report for name, report in parts.items() if name.startswith(part)), {}
            )
            if is_so(report):
                return report
            await asyncio.sleep(0.1)


async def test_nothing_is_lost_while_redis_and_then_postgresql_are_full(
    disk: SmallDisk, redis: Engine, telegram: ControlClient, tmp_path: Path, ports: dict[str, str]
) -> None:
    async with working(disk, redis, telegram, tmp_path, ports) as crew:
        await redis_is_full(crew, redis, ports, tmp_path)
        await postgres_is_full(disk, ports)


async def redis_is_full(crew: Installation, redis: Engine, ports: dict[str, str], folder: Path) -> None:
    """Posts are read and stored as before, and wait in the outbox."""
    async with without_memory(redis.url):
        report = await until_part(
            ports["WORKER_PORT"],
            "outbox relay",
            lambda report: "of its memory; posts wait in PostgreSQL" in report.get("detail", ""),
        )
        assert report["status"] == "failing"
        before = await crew.admin.fetchval("SELECT count(*) FROM posts")
        await until(lambda: has_more_posts(crew, before + 10), "posts are stored although Redis is full")
        doctor = await asyncio.to_thread(tga, "doctor", "--json", environ=crew.environ, folder=folder)
        verdicts = {line["subject"]: line["verdict"] for line in json.loads(doctor.stdout)["items"]}
        assert (doctor.returncode, verdicts["redis memory"]) == (1, "bad")
    await until_part(ports["WORKER_PORT"], "outbox relay", lambda report: report.get("status") == "ok")


async def has_more_posts(crew: Installation, count: int) -> bool:
    return int(await crew.admin.fetchval("SELECT count(*) FROM posts")) >= count


async def postgres_is_full(disk: SmallDisk, ports: dict[str, str]) -> None:
    """Reading waits, says why, and goes on with what Telegram still has."""
    disk.fill(leave_bytes=MB // 4)
    report = await until_part(
        ports["INGEST_PORT"],
        "reading of account",
        lambda report: report.get("status") == "failing",
        seconds=120,
    )
    assert "the disk of PostgreSQL is full" in report["detail"]
    about_disk = await until_part(
        ports["INGEST_PORT"], "disk of PostgreSQL", lambda report: report.get("status") == "failing"
    )
    assert f"of {DISK_MB} MB are free" in about_disk["detail"]
    disk.empty()
    await until_part(ports["INGEST_PORT"], "reading of account", lambda report: report.get("status") == "ok")
    await until_part(ports["INGEST_PORT"], "disk of PostgreSQL", lambda report: report.get("status") == "ok")
