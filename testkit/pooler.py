"""PgBouncer in front of the running PostgreSQL: `python -m testkit.pooler COMMAND...` runs a command whose
requests go through it.

    python -m testkit.pooler pytest -q tests/stores tests/api/test_tenancy.py

It uses the settings of deploy/pgbouncer/pgbouncer.ini, and PgBouncer where PGBOUNCER points, on the path, or
in the cache of `scripts/pooler`. Tests make logins as they run, so it asks PostgreSQL for them.
"""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from testkit.checkouts import CHECKOUT
from testkit.engines import free_port

EXAMPLE = CHECKOUT / "deploy/pgbouncer/pgbouncer.ini"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "telegram-assistant/pooler"
LOOPBACK = "127.0.0.1"
POOLED = ("DATABASE_URL", "DATABASE_SYSTEM_URL", "DATABASE_INGEST_URL")
STARTING_SECONDS = 10
USER = "nobody"
"""PgBouncer refuses to run as root."""


def find_pgbouncer() -> list[str] | None:
    """The command that starts PgBouncer; None if there is none."""
    fetched = CACHE / "pgbouncer"
    known = os.environ.get("PGBOUNCER") or (str(fetched) if fetched.exists() else shutil.which("pgbouncer"))
    return [known] if known else None


@contextmanager
def pooler(
    environ: Mapping[str, str], *, size: int = 20, settings: Mapping[str, str] | None = None
) -> Iterator[int]:
    """PgBouncer in transaction mode in front of the server of DATABASE_ADMIN_URL; its port on loopback.

    `size`: server connections per database and login. `settings` replace those of the example.
    """
    command = find_pgbouncer()
    if command is None:
        sys.exit("there is no PgBouncer: scripts/pooler fetches it, or set PGBOUNCER to its path")
    folder, port = Path(tempfile.mkdtemp(prefix="tga-pooler-")), free_port()
    try:
        own = {"listen_port": str(port), "default_pool_size": str(size), **(settings or {})}
        _write_configuration(folder, environ["DATABASE_ADMIN_URL"], own)
        if os.geteuid() == 0:
            command += ["-u", USER]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([*command, str(folder / "pgbouncer.ini")], stdout=log, stderr=log)
        try:
            _wait_until_it_listens(process, port, folder / "log")
            yield port
        finally:
            process.terminate()
            process.wait(timeout=10)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pooled_environ(environ: Mapping[str, str], port: int) -> dict[str, str]:
    """The environment of an installation whose requests go through the pooler on this port."""
    pooled = {name: _at_port(environ[name], port) for name in POOLED if environ.get(name)}
    direct = {"DATABASE_DIRECT_URL": environ.get("DATABASE_DIRECT_URL") or environ["DATABASE_URL"]}
    return {**environ, **pooled, **direct}


def direct_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without a pooler."""
    server = urlsplit(environ["DATABASE_ADMIN_URL"]).port
    assert server is not None
    return {**pooled_environ(environ, server), "DATABASE_DIRECT_URL": ""}


def _write_configuration(folder: Path, admin_url: str, own: Mapping[str, str]) -> None:
    server = urlsplit(admin_url)
    configuration = ConfigParser(interpolation=None)
    configuration.read(EXAMPLE, encoding="utf-8")
    address = f"host={server.hostname} port={server.port} auth_user={server.username}"
    configuration["databases"] = {"*": address}
    configuration["pgbouncer"].update(
        {
            "listen_addr": LOOPBACK,
            "auth_file": str(folder / "users"),
            "auth_query": "SELECT usename, passwd FROM pg_shadow WHERE usename = $1",
            "unix_socket_dir": "",
            "server_idle_timeout": "30",
            **own,
        }
    )
    (folder / "users").write_text(f'"{server.username}" "{server.password}"\n', encoding="utf-8")
    with (folder / "pgbouncer.ini").open("w", encoding="utf-8") as file:
        configuration.write(file)
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, pwd.getpwnam(USER).pw_uid, -1)


def _wait_until_it_listens(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + STARTING_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection((LOOPBACK, port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    sys.exit(f"PgBouncer does not start:\n{log.read_text(encoding='utf-8')[-2000:]}")


def _at_port(url: str, port: int) -> str:
    parts = urlsplit(url)
    credentials, _, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{credentials}@{LOOPBACK}:{port}"))


def main() -> None:
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    if "DATABASE_ADMIN_URL" not in os.environ:
        sys.exit('the servers are not running: scripts/servers up && eval "$(scripts/servers env)"')
    with pooler(os.environ) as port:
        done = subprocess.run(command, env=pooled_environ(os.environ, port), check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
