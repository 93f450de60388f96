"""A server goes away under load and returns: every role says so in a few lines, and loses nothing."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from telegram_simulator.control.client import ControlClient
from testkit.api_clients import create_key_header
from testkit.engines import free_port
from testkit.programs import WORKER, program, simulator
from testkit.servers import OwnServers, own_servers
from tests.journeys.installation import Installation, open_installation, until

pytestmark = [pytest.mark.serial, pytest.mark.long]

API = ("telegram_assistant", "run", "--roles", "api")
ROLES = ("ingest", "worker", "api")
MAX_LINES = 5
LACKING = """
SELECT (SELECT count(*) FROM outbox)
     + (SELECT count(*) FROM posts p LEFT JOIN post_search s USING (channel_id, message_id)
         WHERE s.channel_id IS NULL)
"""


@pytest.fixture(scope="module")
def servers() -> Iterator[OwnServers]:
    with own_servers("postgres", "redis") as running:
        yield running


@pytest.fixture(scope="module")
def telegram() -> Iterator[ControlClient]:
    with simulator("load", "--channels", "40", "--posts", "20") as control:
        yield control


@dataclass(frozen=True)
class Lines:
    """The log lines that a role has written."""

    role: str
    log: Path

    def count(self) -> int:
        return len(self._lines())

    def unusual_after(self, number: int) -> list[dict[str, object]]:
        """The lines after the first `number`, without the information lines about usual work."""
        return [line for line in self._lines()[number:] if "part" in line or line["level"] != "info"]

    def _lines(self) -> list[dict[str, object]]:
        whole_lines, _, _ = self.log.read_text(encoding="utf-8").rpartition("\n")
        return [json.loads(line) for line in whole_lines.splitlines()]


@dataclass(frozen=True)
class Roles:
    """Ingest, worker and api, each in a process of its own, with work to do."""

    crew: Installation
    logs: tuple[Lines, ...]
    posting: asyncio.Task[None]

    async def has_begun(self) -> bool:
        return bool(await self.crew.admin.fetchval("SELECT count(*) > 0 FROM post_search"))

    async def goes_on(self, before: dict[str, int]) -> bool:
        """Whether every part of the worker that began to wait after the counts `before` goes on again."""
        (worker,) = (log for log in self.logs if log.role == "worker")
        lines = worker.unusual_after(before["worker"])
        return _parts(lines, "part_waits") <= _parts(lines, "part_goes_on")

    async def has_done_everything(self) -> bool:
        return await self.crew.is_read("first") and await self.crew.admin.fetchval(LACKING) == 0


@asynccontextmanager
async def working(
    servers: OwnServers, telegram: ControlClient, folder: Path, number: int
) -> AsyncIterator[Roles]:
    ports = {"WORKER_PORT": str(free_port()), "API_PORT": str(free_port())}
    async with open_installation(
        servers, telegram, folder, number=number, CRAWL_ENABLED="false", **ports
    ) as crew:
        await crew.add_account("first")
        crew.start("first")
        for name, command in (("worker", WORKER), ("api", API)):
            crew.programs.enter_context(program(*command, environ=crew.environ, log=folder / f"{name}.log"))
        logs = tuple(
            Lines(role, folder / f"{name}.log")
            for role, name in zip(ROLES, ("first", "worker", "api"), strict=True)
        )
        tenant = await crew.app.system.tenants.ensure("first")
        api = httpx.AsyncClient(base_url=f"http://127.0.0.1:{ports['API_PORT']}", timeout=30)
        async with api, asyncio.TaskGroup() as group:
            posting, asking = (
                group.create_task(post(crew)),
                group.create_task(ask(api, await create_key_header(crew.app, tenant.tenant_id))),
            )
            yield Roles(crew, logs, posting)
            for task in (posting, asking):
                task.cancel()


async def post(crew: Installation) -> None:
    while True:
        await asyncio.to_thread(crew.say, "first", text="Снег идёт.")
        await asyncio.sleep(0.5)


async def ask(api: httpx.AsyncClient, key: dict[str, str]) -> None:
    while True:
        for path in ("/api/v1/feed", "/api/v1/search?q=снег", "/login"):
            try:
                await api.get(path, headers=key)
            except httpx.TransportError:
                await asyncio.sleep(0.2)  # it starts
        await asyncio.sleep(0.1)


def _parts(lines: list[dict[str, object]], event: str) -> set[str]:
    return {str(line["part"]) for line in lines if line["event"] == event}


def parts_of(lines: list[dict[str, object]]) -> Counter[str]:
    """The number of lines of each part. A line without a part counts by its logger and event."""
    return Counter(str(line.get("part") or f"{line['logger']}: {line['event']}") for line in lines)


@pytest.mark.parametrize(
    ("number", "name"), [(1, "redis"), pytest.param(2, "postgres", marks=pytest.mark.full)]
)
async def test_a_server_that_is_away_is_a_few_lines_of_every_part(
    number: int,
    name: str,
    servers: OwnServers,
    telegram: ControlClient,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    seconds = 60.0 if request.config.getoption("--full") else 8.0
    async with working(servers, telegram, tmp_path, number) as roles:
        await until(roles.has_begun, "the roles are at work", seconds=120)
        before = {log.role: log.count() for log in roles.logs}
        servers.kill(name)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(servers.run, "up", name)
        if name == "postgres":
            await roles.crew.reconnect()
        roles.posting.cancel()
        await until(roles.has_done_everything, "nothing is lost", seconds=120)
        await until(lambda: roles.goes_on(before), "every part of the worker that waited goes on", seconds=60)
        written = {log.role: log.unusual_after(before[log.role]) for log in roles.logs}
    loud = {
        role: {part: count for part, count in parts_of(lines).items() if count > MAX_LINES}
        for role, lines in written.items()
    }
    print(
        f"\n{name} away for {seconds:.0f} s: lines by role",
        {role: len(lines) for role, lines in written.items()},
    )
    assert loud == {role: {} for role in ROLES}
    stages = (
        {"stage tagging"} if name == "redis" else set()
    )  # without PostgreSQL no post lands, and a stage has nothing to wait with
    assert _parts(written["worker"], "part_waits") >= {"outbox relay", "notices", *stages}
