"""PostgreSQL and Redis of the demo: a database of its own on given servers,
or servers of its own in its folder.
"""

import asyncio
import os
import pwd
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import SecretStr

from telegram_assistant.demo.folder import DemoFolder, update_state
from telegram_assistant.demo.processes import ChildProcesses, Program, SystemUser
from telegram_assistant.errors import CannotStart, SettingsError
from telegram_assistant.reasons import Reason
from telegram_assistant.reasons import quote as quote_words
from telegram_assistant.settings import (
    DatabaseSettings,
    PostgresUrl,
    RedisSettings,
    SettingsGroup,
    read_group,
)
from telegram_assistant.stores.postgres.own_database import (
    accepts_connections,
    create_database,
    drop_database,
)
from telegram_assistant.stores.redis.own_database import answers, claim_database, clear_database

LOOPBACK = "127.0.0.1"
WAIT_SECONDS = 60.0
LOOK_SECONDS = 0.05
POSTGRES_OPTIONS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "synchronous_commit": "off",  # everything can be read again from the simulator
    "jit": "off",
}
INSTALL_SERVERS = Reason(
    "install_demo_servers",
    "Install PostgreSQL 15 or newer and Redis 7 or newer (on Debian and Ubuntu: "
    "apt-get install postgresql redis-server)",
)
GIVE_SERVERS = Reason(
    "give_demo_servers", "Set DATABASE_URL and REDIS_URL to servers on which the demo may create a database"
)


@dataclass(frozen=True, slots=True)
class ExistingServers:
    """Servers that run already: a PostgreSQL login that may create databases and roles, and Redis."""

    admin_url: PostgresUrl
    redis: RedisSettings


@dataclass(frozen=True, slots=True)
class OwnPrograms:
    """Programs of the servers that the demo starts itself."""

    postgres_folder: Path
    redis: str
    postgres_user: SystemUser | None


type DemoServers = ExistingServers | OwnPrograms


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How the program reaches the demo's database and its part of Redis."""

    database: DatabaseSettings
    redis: RedisSettings


def choose_servers(environ: Mapping[str, str]) -> DemoServers:
    """The servers that the environment names, else the programs of its own.

    Raises CannotStart if there are neither.
    """
    database, redis = (
        environ.get(name) or environ.get(f"{name}_FILE") for name in ("DATABASE_URL", "REDIS_URL")
    )
    if database and redis:
        return _existing(environ)
    if database or redis:
        raise CannotStart(
            Reason("one_server_given", "only one of DATABASE_URL and REDIS_URL is set"),
            remedy=Reason("give_both_servers", "Set both, or neither to let the demo start its own servers"),
        )
    if sys.platform != "linux":
        raise CannotStart(
            Reason("demo_on_linux_only", "the demo starts its own servers on Linux only"),
            remedy=GIVE_SERVERS,
        )
    postgres, own_redis = _find_postgres(), shutil.which("redis-server") or shutil.which("valkey-server")
    if postgres is None or own_redis is None:
        missing_names = ", ".join(
            name for name, server in (("PostgreSQL", postgres), ("Redis", own_redis)) if server is None
        )
        raise CannotStart(
            Reason("demo_servers_missing", "the demo cannot find {missing}", missing=missing_names),
            remedy=Reason(
                "install_or_give", "{install}. Or: {give}", install=INSTALL_SERVERS, give=GIVE_SERVERS
            ),
        )
    return OwnPrograms(postgres, own_redis, _postgres_user())


def _existing(environ: Mapping[str, str]) -> ExistingServers:
    database, redis = (
        read_server_settings(DatabaseSettings, environ),
        read_server_settings(RedisSettings, environ),
    )
    return ExistingServers(database.migration_url, redis)


def read_server_settings[G: SettingsGroup](group: type[G], environ: Mapping[str, str]) -> G:
    """The settings of a server that the environment names. Raises CannotStart if they are wrong."""
    try:
        return read_group(group, environ)
    except SettingsError as error:
        raise CannotStart(
            quote_words("; ".join(error.problems)),
            remedy=Reason("correct_environment", "Correct it in the environment"),
        ) from error


async def open_servers(servers: DemoServers, folder: DemoFolder, children: ChildProcesses) -> ServerSettings:
    """Starts or connects PostgreSQL and Redis, and creates the demo's database."""
    if isinstance(servers, ExistingServers):
        admin_url, redis = servers.admin_url, await claim_database(servers.redis, folder.state.demo_id)
    else:
        admin_url, redis = await asyncio.gather(
            _start_postgres(servers, folder, children), _start_redis(servers, folder, children)
        )
    await create_database(admin_url, folder.state.database)
    return ServerSettings(_database(admin_url, folder), redis)


async def forget_existing(servers: ExistingServers, folder: DemoFolder) -> None:
    """Deletes the demo's database, its login and its keys in Redis. Everything else on the servers stays."""
    await drop_database(
        servers.admin_url, folder.state.database, logins=(folder.state.api_login, folder.state.system_login)
    )
    await clear_database(servers.redis, folder.state.demo_id)


async def _start_postgres(programs: OwnPrograms, folder: DemoFolder, children: ChildProcesses) -> PostgresUrl:
    data_folder, password, port = _postgres_place(programs, folder), folder.state.password, free_port()
    if not (data_folder / "data").exists():
        await _init_postgres(programs, data_folder, password, children)
    options = [f"-c{name}={value}" for name, value in POSTGRES_OPTIONS.items()]
    command = [
        str(programs.postgres_folder / "postgres"),
        "-D",
        str(data_folder / "data"),
        "-p",
        str(port),
        *options,
    ]
    await children.start(Program("postgres", command, signal.SIGINT, programs.postgres_user, data_folder))
    url = SecretStr(f"postgresql://postgres:{quote(password)}@{LOOPBACK}:{port}/postgres")
    await _wait_until(lambda: accepts_connections(url), "postgres", children)
    return url


async def _init_postgres(
    programs: OwnPrograms, data_folder: Path, password: str, children: ChildProcesses
) -> None:
    """Creates the data folder under another name first,
    so that an interrupted start leaves none that is half finished.
    """
    unfinished_folder, password_file = data_folder / "data.new", data_folder / "password"
    shutil.rmtree(unfinished_folder, ignore_errors=True)
    password_file.write_text(password, encoding="ascii")
    password_file.chmod(0o600)
    if programs.postgres_user:
        os.chown(password_file, programs.postgres_user.user_id, programs.postgres_user.group_id)
    command = [
        str(programs.postgres_folder / "initdb"),
        "-D",
        str(unfinished_folder),
        "-U",
        "postgres",
        "-A",
        "scram-sha-256",
        "--pwfile",
        str(password_file),
    ]
    options = ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
    await children.run_to_end(
        Program("postgres", [*command, *options], user=programs.postgres_user, folder=data_folder)
    )
    password_file.unlink()
    unfinished_folder.rename(data_folder / "data")


def _postgres_place(programs: OwnPrograms, folder: DemoFolder) -> Path:
    """The data folder of PostgreSQL, which refuses to run as root.

    If its own user cannot reach the demo's folder, the data are in a new folder under /var/tmp.
    """
    data_folder, user = folder.state.postgres_folder, programs.postgres_user
    if user is not None and not data_folder.exists() and not _is_reachable(folder.path):
        data_folder = Path(tempfile.mkdtemp(prefix="telegram-assistant-demo-", dir="/var/tmp"))
        update_state(folder.path, postgres_folder=data_folder)
    data_folder.mkdir(exist_ok=True, mode=0o700)
    if user is not None:
        os.chown(data_folder, user.user_id, user.group_id)
    return data_folder


def _is_reachable(path: Path) -> bool:
    """Whether every user may enter the folder."""
    return all(parent.stat().st_mode & 0o001 for parent in (path, *path.parents))


async def _start_redis(programs: OwnPrograms, folder: DemoFolder, children: ChildProcesses) -> RedisSettings:
    data_folder, port, password = folder.path / "redis", free_port(), folder.state.password
    data_folder.mkdir(exist_ok=True, mode=0o700)
    lines = (
        f"port {port}",
        f"bind {LOOPBACK}",
        f"requirepass {password}",
        f'dir "{data_folder}"',
        "appendonly yes",
        'save ""',
        "maxmemory 512mb",
        "maxmemory-policy noeviction",
    )
    (data_folder / "redis.conf").write_text("\n".join(lines), encoding="utf-8")
    await children.start(
        Program("redis", [programs.redis, str(data_folder / "redis.conf")], folder=data_folder)
    )
    settings = RedisSettings(url=SecretStr(f"redis://:{quote(password)}@{LOOPBACK}:{port}/0"))
    await _wait_until(lambda: answers(settings), "redis", children)
    return settings


async def _wait_until(is_ready: Callable[[], Awaitable[bool]], name: str, children: ChildProcesses) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not await is_ready():
        children.check(name)
        if time.monotonic() > deadline:
            raise CannotStart(
                children.describe(
                    name,
                    Reason(
                        "process_did_not_answer",
                        "did not answer within {seconds:.0f} s",
                        seconds=WAIT_SECONDS,
                    ),
                ),
                remedy=children.remedy(name),
            )
        await asyncio.sleep(LOOK_SECONDS)


def _database(admin_url: PostgresUrl, folder: DemoFolder) -> DatabaseSettings:
    """The demo's database with its logins, which `migrate` creates: one for requests,
    one for everything else.
    """
    state = folder.state
    url_parts = urlsplit(admin_url.get_secret_value())._replace(path=f"/{state.database}")
    server = url_parts.netloc.rpartition("@")[2]

    def url_of(login: str) -> PostgresUrl:
        return SecretStr(urlunsplit(url_parts._replace(netloc=f"{login}:{quote(state.password)}@{server}")))

    return DatabaseSettings(
        url=url_of(state.api_login),
        system_url=url_of(state.system_login),
        admin_url=SecretStr(urlunsplit(url_parts)),
    )


def _find_postgres() -> Path | None:
    """The folder with the programs of the newest PostgreSQL that is installed."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    on_path = shutil.which("initdb")
    program = versions[-1] if versions else Path(on_path) if on_path else None
    return program.parent if program else None


def _postgres_user() -> SystemUser | None:
    if os.geteuid() != 0:
        return None
    try:
        passwd_entry = pwd.getpwnam("postgres")
    except KeyError as error:
        raise CannotStart(
            Reason("postgres_as_root", "PostgreSQL does not run as root, and there is no user postgres"),
            remedy=Reason("start_as_user", "Start the demo as an ordinary user"),
        ) from error
    return SystemUser(passwd_entry.pw_name, passwd_entry.pw_uid, passwd_entry.pw_gid)


def free_port(*wanted_ports: int) -> int:
    """The first of the wanted ports that is free, or any."""
    for port in (*wanted_ports, 0):
        try:
            with socket.create_server((LOOPBACK, port)) as listener:
                return int(listener.getsockname()[1])
        except OSError:
            continue
    raise CannotStart(
        Reason("no_port_free", "no port is free"), remedy=Reason("end_other_programs", "End other programs")
    )
