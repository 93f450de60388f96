"""Real servers for every test.

One database per test process; tests do not clean up, they use fresh tenants and channels.
"""

import gc
import io
import logging
import os
import secrets
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import structlog
from hypothesis import HealthCheck, settings

from telegram_assistant.settings import DatabaseLogin, Settings, TelemetrySettings, read_settings
from telegram_assistant.stores.postgres.database import Pool, open_pool
from telegram_assistant.stores.postgres.migrating import migrate
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.stores import (
    ApiStores,
    IngestStores,
    SystemStores,
    api_stores,
    ingest_stores,
    system_stores,
)
from telegram_assistant.telemetry.logging import configure_logging
from testkit.factories import World, make_world
from testkit.harness import BUCKET

settings.register_profile(
    "ci", max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
settings.register_profile("full", parent=settings.get_profile("ci"), max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

structlog.configure(
    processors=[
        structlog.stdlib.add_log_level,
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

REDIS_DATABASES = 16
SECRET_KEY = secrets.token_urlsafe(32)
"""Of the installation under test."""

type Admin = asyncpg.Connection[asyncpg.Record]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="run laws, fuzzing and comparisons at their full size"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay until the end: to look for garbage among them takes a fifth of collection,
    and time of every test afterwards.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--full"):
        left_to_full = [item for item in items if item.get_closest_marker("full")]
        items[:] = [item for item in items if item not in left_to_full]
        config.hook.pytest_deselected(items=left_to_full)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def named_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def in_database(environ: dict[str, str], name: str) -> dict[str, str]:
    """All addresses of PostgreSQL, with another database."""
    urls = ("DATABASE_URL", "DATABASE_SYSTEM_URL", "DATABASE_INGEST_URL", "DATABASE_ADMIN_URL")
    direct = ("DATABASE_DIRECT_URL",) if environ.get("DATABASE_DIRECT_URL") else ()
    return {key: named_database(environ[key], name) for key in (*urls, *direct)}


@pytest.fixture(scope="session")
def environ() -> dict[str, str]:
    if "DATABASE_INGEST_URL" not in os.environ:
        pytest.exit(
            'the servers are not running: scripts/servers up && eval "$(scripts/servers env)"', returncode=2
        )
    return {**os.environ, "S3_BUCKET": BUCKET, "SECRET_KEY": SECRET_KEY}


def redis_url(environ: dict[str, str], offset: int) -> str:
    """The address of another database of the same Redis server, counted from the one that was given."""
    parts = urlsplit(environ["REDIS_URL"])
    number = (int(parts.path.strip("/") or 0) + offset) % REDIS_DATABASES
    return urlunsplit(parts._replace(path=f"/{number}"))


def unique_name(name: str) -> str:
    """A name that no other run on the same server has."""
    return f"{name}_{secrets.token_hex(4)}"


@asynccontextmanager
async def new_database(
    environ: dict[str, str], name: str, *, template: str = "template1"
) -> AsyncIterator[str]:
    """The name of a new database, which begins with `name`. It is dropped however the test ends."""
    own_name = unique_name(name)
    if environ.get("DATABASE_DIRECT_URL"):  # a pooler keeps connections that nobody uses any more
        await execute_as_admin(
            environ, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{template}'"
        )
    # through the log of PostgreSQL, which is the default, a copy takes twice as long
    await execute_as_admin(environ, f"CREATE DATABASE {own_name} TEMPLATE {template} STRATEGY FILE_COPY")
    try:
        yield own_name
    finally:
        await execute_as_admin(environ, f"DROP DATABASE {own_name} WITH (FORCE)")


async def execute_as_admin(environ: dict[str, str], statement: str) -> None:
    """Over a connection of its own: a test may have killed the server in between."""
    admin = await asyncpg.connect(named_database(environ["DATABASE_ADMIN_URL"], "postgres"))
    try:
        await admin.execute(statement)
    finally:
        await admin.close()


@asynccontextmanager
async def scratch_database(
    environ: dict[str, str], name: str, *, template: str = "template1"
) -> AsyncIterator[dict[str, str]]:
    """A new database and the environment that points at it: in English, without graph and vectors.

    Tests of those change it.
    """
    async with new_database(environ, name, template=template) as own_name:
        yield {
            **environ,
            "NEO4J_URI": "",
            "QDRANT_URL": "",
            "LC_ALL": "C.UTF-8",
            **in_database(environ, own_name),
        }


@pytest.fixture(scope="session")
async def template(environ: dict[str, str], worker: str) -> AsyncIterator[str]:
    """The name of a freshly migrated database, which nobody is connected to:
    to copy it is quicker than to migrate.
    """
    async with new_database(environ, f"tga_template_{worker}") as name:
        await migrate(read_settings({**environ, **in_database(environ, name)}).database, tell=lambda _: None)
        yield name


@pytest.fixture(scope="session")
async def database(environ: dict[str, str], worker: str, template: str) -> AsyncIterator[dict[str, str]]:
    """This process's own migrated database and its own part of Redis, as an environment."""
    async with scratch_database(environ, f"tga_test_{worker}", template=template) as own:
        process = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
        yield {**own, "REDIS_URL": redis_url(environ, 1 + int(process) if process.isdecimal() else -1)}


@pytest.fixture(scope="session")
def worker() -> str:
    """Begins the names of what this test process makes on shared servers: roles, databases, labels."""
    return unique_name(os.environ.get("PYTEST_XDIST_WORKER", "alone"))


@pytest.fixture
async def empty_database(environ: dict[str, str], worker: str) -> AsyncIterator[dict[str, str]]:
    async with scratch_database(environ, f"tga_empty_{worker}") as own:
        yield own


@pytest.fixture
async def migrated_database(
    environ: dict[str, str], worker: str, template: str
) -> AsyncIterator[dict[str, str]]:
    async with scratch_database(environ, f"tga_empty_{worker}", template=template) as own:
        yield own


@pytest.fixture(scope="session")
def installation(database: dict[str, str]) -> Settings:
    return read_settings(database)


@pytest.fixture(scope="session")
async def pool(installation: Settings) -> AsyncIterator[Pool]:
    """With the login of requests."""
    async with open_pool(installation.database) as opened:
        yield opened


@pytest.fixture(scope="session")
def api(pool: Pool) -> ApiStores:
    return api_stores(pool)


@pytest.fixture(scope="session")
async def system_pool(installation: Settings) -> AsyncIterator[Pool]:
    """With the login of the worker."""
    async with open_pool(installation.database, DatabaseLogin.SYSTEM) as opened:
        yield opened


@pytest.fixture(scope="session")
def system(system_pool: Pool) -> SystemStores:
    return system_stores(system_pool, Wakeup())


@pytest.fixture(scope="session")
async def ingest(installation: Settings) -> AsyncIterator[IngestStores]:
    """With the login of ingest."""
    async with open_pool(installation.database, DatabaseLogin.INGEST) as opened:
        yield ingest_stores(opened)


@pytest.fixture
async def admin(database: dict[str, str]) -> AsyncIterator[Admin]:
    """A superuser's eyes: to see what is really there."""
    connection = await asyncpg.connect(database["DATABASE_ADMIN_URL"])
    yield connection
    await connection.close()


@pytest.fixture
async def world(system: SystemStores, pool: Pool) -> World:
    """Two tenants that share half their channels, with posts."""
    return await make_world(system, pool)


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def log_stream() -> Iterator[io.StringIO]:
    """The log of this process, written as a role writes it: lines of JSON."""
    configured, root, stream = structlog.get_config(), logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    configure_logging(TelemetrySettings(), stream=stream, is_pretty=False)
    yield stream
    structlog.configure(**configured)
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
