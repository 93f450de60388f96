"""The lights of every role in each trouble: /livez, /readyz, /health, and the line of `tga doctor
--production`.

A new case is a line in LIGHTS. A new kind of trouble is also a function in TROUBLES, which causes it and
takes it back. Each trouble begins when all lights are green, and all are green again when it is over.
"""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest

from telegram_assistant.assembly import assemble
from telegram_assistant.domain.operations.diagnosis import Finding, Severity
from telegram_assistant.features.operations.doctor import examine_running
from telegram_assistant.roles import RoleName
from telegram_assistant.settings import read_settings
from telegram_assistant.telegram.vault import make_key
from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.load import FIRST_CHANNEL
from testkit.engines import free_port, running_engine
from testkit.programs import add_account, program, simulator
from testkit.shortages import small_disk, without_memory
from testkit.toxiproxy import ToxiProxy, through
from tests.conftest import Admin, scratch_database

pytestmark = [pytest.mark.serial, pytest.mark.long]

PHONE = "79990000042"
CHANNELS = 4
FIVE_HOURS = 18_000
INTERVAL_SECONDS = 10
CHANGE_SECONDS = 120.0
"""How long lights may take to change on a busy machine."""
LONGER = {"answers of postgres"}
"""With --full only: the lights are those of a PostgreSQL that refuses connections."""
DATABASES = ("DATABASE_URL", "DATABASE_SYSTEM_URL", "DATABASE_INGEST_URL")


@dataclass(frozen=True)
class Light:
    """The lights of a role during one trouble."""

    away: str
    role: str
    livez: int
    readyz: int
    health: str
    doctor: Severity
    words: str

    @property
    def statuses(self) -> tuple[int, int, str]:
        return self.livez, self.readyz, self.health


OK, BAD = Severity.OK, Severity.BAD
LIGHTS = (
    # what is away        role      livez readyz health     doctor
    Light("nothing", "ingest", 200, 200, "ok", OK, "alive and ready"),
    Light("nothing", "worker", 200, 200, "ok", OK, "alive and ready"),
    Light("nothing", "api", 200, 200, "ok", OK, "alive and ready"),
    Light("postgres", "ingest", 200, 503, "down", BAD, "/readyz answers 503: postgres"),
    Light("postgres", "worker", 200, 503, "failing", BAD, "/readyz answers 503: postgres"),
    Light("postgres", "api", 200, 503, "failing", BAD, "/readyz answers 503: postgres"),
    Light("answers of postgres", "ingest", 200, 503, "down", BAD, "/readyz answers 503: postgres"),
    Light("answers of postgres", "worker", 200, 503, "failing", BAD, "/readyz answers 503: postgres"),
    Light("answers of postgres", "api", 200, 503, "failing", BAD, "/readyz answers 503: postgres"),
    Light("redis", "ingest", 200, 503, "down", BAD, "/readyz answers 503: redis"),
    Light("redis", "worker", 200, 503, "failing", BAD, "/readyz answers 503: redis"),
    Light("redis", "api", 200, 503, "failing", BAD, "/readyz answers 503: redis"),
    Light("s3", "ingest", 200, 200, "failing", BAD, "/health answers failing"),
    Light("s3", "worker", 200, 200, "failing", BAD, "/health answers failing"),
    Light("s3", "api", 200, 200, "failing", BAD, "/health answers failing"),
    Light("room in redis", "ingest", 200, 200, "ok", OK, "alive and ready"),
    Light("room in redis", "worker", 200, 200, "failing", BAD, "/health answers failing"),
    Light("room in redis", "api", 200, 200, "ok", OK, "alive and ready"),
    Light("room on the disk", "ingest", 200, 200, "failing", BAD, "/health answers failing"),
    Light("room on the disk", "worker", 200, 200, "failing", BAD, "/health answers failing"),
    Light("room on the disk", "api", 200, 200, "failing", BAD, "/health answers failing"),
    Light("telegram for five hours", "ingest", 200, 200, "stale", BAD, "/health answers stale"),
    Light("telegram for five hours", "worker", 200, 200, "ok", OK, "alive and ready"),
    Light("telegram for five hours", "api", 200, 200, "ok", OK, "alive and ready"),
)


@dataclass
class Installation:
    """All roles in one process, whose roads to their servers can be cut,
    with one account that reads some channels.
    """

    environ: dict[str, str]
    roads: dict[str, ToxiProxy]
    telegram: ControlClient
    admin: Admin
    log: Path
    client: httpx.AsyncClient
    redis_url: str
    running: ExitStack = field(default_factory=ExitStack)

    def start(self) -> subprocess.Popen[str]:
        return self.running.enter_context(
            program("telegram_assistant", "run", environ=self.environ, log=self.log)
        )

    async def restart(self) -> None:
        await asyncio.to_thread(self.running.close)
        self.start()

    def url(self, role: str, path: str) -> str:
        return f"http://127.0.0.1:{self.environ[f'{role.upper()}_PORT']}{path}"

    async def load_statuses(self, role: str) -> tuple[int, int, str]:
        """/livez, /readyz, and `status` of /health."""
        live, ready, health = [
            await self.client.get(self.url(role, path)) for path in ("/livez", "/readyz", "/health")
        ]
        assert health.status_code == 200
        return live.status_code, ready.status_code, health.json()["status"]

    async def until_shown(self, away: str) -> None:
        """Wait until all roles show what the table says."""
        expected = {light.role: light.statuses for light in LIGHTS if light.away == away}
        deadline, lights = (
            asyncio.get_running_loop().time() + CHANGE_SECONDS,
            dict[str, tuple[int, int, str]](),
        )
        while lights != expected:
            assert asyncio.get_running_loop().time() < deadline, (
                f"without {away}: {lights} instead of {expected}; {await self.troubles()}"
            )
            await asyncio.sleep(0.1)
            try:
                lights = {role: await self.load_statuses(role) for role in expected}
            except httpx.TransportError:
                lights = {}  # it starts

    async def troubles(self) -> dict[str, dict[str, object]]:
        """The reports of the roles about parts that are not ok."""
        pages = {role: (await self.client.get(self.url(role, "/health/details"))).json() for role in RoleName}
        return {
            role: {name: part for name, part in page["parts"].items() if part["status"] != "ok"}
            for role, page in pages.items()
        }

    async def examine(self) -> dict[str, Finding]:
        """The findings of `tga doctor --production`, by subject."""
        return {
            finding.subject: finding async for finding in examine_running(read_settings(self.environ), {})
        }


@asynccontextmanager
async def nothing(_installation: Installation) -> AsyncIterator[None]:
    yield


@asynccontextmanager
async def cut_road(road: ToxiProxy) -> AsyncIterator[None]:
    """Connections are refused."""
    await road.set_enabled(enabled=False)
    yield
    await road.set_enabled(enabled=True)


@asynccontextmanager
async def silent(road: ToxiProxy) -> AsyncIterator[None]:
    """Connections stay, and no answer comes."""
    await road.spoil("timeout", timeout=0)
    yield
    await road.mend()


@asynccontextmanager
async def flood_account(installation: Installation) -> AsyncIterator[None]:
    """Telegram asks the only account to wait for five hours.

    Only a new process forgets that, and only if PostgreSQL does.
    """
    flood = {"method": "messages.getHistory", "code": 420, "message": f"FLOOD_WAIT_{FIVE_HOURS}", "times": 1}
    await asyncio.to_thread(installation.telegram.ask, "POST", "/failures", phone=PHONE, **flood)
    await installation.admin.execute("UPDATE poll_schedule SET next_poll_at = now()")
    yield
    await asyncio.to_thread(installation.running.close)
    await installation.admin.execute(
        "DELETE FROM account_limits; UPDATE poll_schedule SET next_poll_at = now()"
    )
    installation.start()


@asynccontextmanager
async def full_disk(installation: Installation) -> AsyncIterator[None]:
    """Only where DATABASE_DATA_DIR looks.

    `tests/chaos/test_shortages.py` fills the disk of PostgreSQL itself.
    """
    with small_disk(Path(installation.environ["DATABASE_DATA_DIR"]), megabytes=16) as disk:
        disk.fill()
        yield


TROUBLES: dict[str, Callable[[Installation], AbstractAsyncContextManager[object]]] = {
    "nothing": nothing,
    "postgres": lambda installation: cut_road(installation.roads["DATABASE_URL"]),
    "answers of postgres": lambda installation: silent(installation.roads["DATABASE_URL"]),
    "redis": lambda installation: cut_road(installation.roads["REDIS_URL"]),
    "s3": lambda installation: cut_road(installation.roads["S3_ENDPOINT"]),
    "room in redis": lambda installation: without_memory(installation.redis_url),
    "room on the disk": full_disk,
    "telegram for five hours": flood_account,
}


@pytest.fixture(scope="module")
async def installation(
    environ: dict[str, str], worker: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Installation]:
    folder = tmp_path_factory.mktemp("lights")
    async with AsyncExitStack() as stack:
        own = await stack.enter_async_context(
            scratch_database(environ, f"tga_lights_{worker}", template=template)
        )
        redis = stack.enter_context(running_engine("redis", folder / "redis"))
        telegram = stack.enter_context(simulator("load", "--channels", str(CHANNELS), "--posts", "3"))
        own |= {
            "REDIS_URL": redis.url,
            "TELEGRAM_API_ID": "1",
            "TELEGRAM_API_HASH": "any",
            "SESSION_ENCRYPTION_KEY": make_key(),
        }
        own |= {
            "HTTP_HOST": "127.0.0.1",
            "OPERATOR_KEY": "",
            "DATABASE_DATA_DIR": str(folder / "postgres"),
            "PARSER_SCHEDULER_INTERVAL_SEC": str(INTERVAL_SECONDS),
        }
        own |= {f"{role.upper()}_PORT": str(free_port()) for role in RoleName}
        session = telegram.session(PHONE, joined=[FIRST_CHANNEL + number for number in range(CHANNELS)])
        async with assemble(read_settings(own), with_accounts=True) as app:
            await add_account("lights", session, key=own["SESSION_ENCRYPTION_KEY"], app=app)
        toxiproxy = await stack.enter_async_context(
            httpx.AsyncClient(base_url=os.environ["TEST_TOXIPROXY_URL"], timeout=10)
        )
        roads = {}
        for name in ("DATABASE_URL", "REDIS_URL", "S3_ENDPOINT"):
            roads[name] = ToxiProxy(
                toxiproxy, f"lights-{name}", urlsplit(own[name]).netloc.rpartition("@")[2]
            )
            await roads[name].open()
            stack.push_async_callback(roads[name].close)
        ports = {
            **dict.fromkeys(DATABASES, roads["DATABASE_URL"].port),
            **{name: roads[name].port for name in ("REDIS_URL", "S3_ENDPOINT")},
        }
        admin = await asyncpg.connect(own["DATABASE_ADMIN_URL"])
        stack.push_async_callback(admin.close)
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=20))
        through_roads = {**own, **{name: through(own[name], port) for name, port in ports.items()}}
        made = Installation(through_roads, roads, telegram, admin, folder / "log", client, redis.url)
        stack.callback(made.running.close)
        made.start()
        async with asyncio.timeout(CHANGE_SECONDS):
            while (
                await admin.fetchval("SELECT count(*) FROM poll_schedule WHERE last_polled_at IS NOT NULL")
                < CHANNELS
            ):
                await asyncio.sleep(0.1)
        await made.until_shown("nothing")
        yield made


@pytest.fixture(scope="module")
async def trouble(
    request: pytest.FixtureRequest, installation: Installation
) -> AsyncIterator[dict[str, Finding]]:
    """The findings of the doctor during one trouble. Afterwards all lights are green again."""
    async with TROUBLES[request.param](installation):
        await installation.until_shown(request.param)
        yield await installation.examine()
    await installation.until_shown("nothing")


@pytest.mark.parametrize(
    ("trouble", "light"),
    [
        pytest.param(
            light.away,
            light,
            id=f"{light.role} without {light.away}",
            marks=pytest.mark.full if light.away in LONGER else (),
        )
        for light in LIGHTS
    ],
    indirect=["trouble"],
    scope="module",
)
async def test_the_lights_of_a_role_show_what_is_away(
    trouble: dict[str, Finding], light: Light, installation: Installation
) -> None:
    assert await installation.load_statuses(light.role) == light.statuses
    assert (await installation.client.get(installation.url(light.role, "/ready"))).status_code == light.readyz
    line = trouble[f"role {light.role}"]
    assert line.verdict is light.doctor, str(line.what)
    assert light.words in str(line.what)


def test_every_trouble_has_a_line_for_every_role() -> None:
    assert {(light.away, light.role) for light in LIGHTS} == {
        (away, role.value) for away in TROUBLES for role in RoleName
    }
    assert len(LIGHTS) == len(TROUBLES) * len(RoleName)
