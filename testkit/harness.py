"""The frame of every bench: a database of its own, CPU of the servers, percentiles,
and one JSON line at the end.
"""

import argparse
import json
import os
import platform
import secrets
import statistics
import sys
from collections.abc import AsyncIterator, Mapping, Sequence, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from telegram_assistant import __version__
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.stores.postgres.migrating import migrate


def arguments(about: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--json", action="store_true", help="print the result as one JSON line (last) instead of a table"
    )
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="FIGURE=NUMBER",
        help="another number for one of the bench's limits",
    )
    return parser


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure that must not be higher, or lower.

    `a.b` is the figure b inside a; of a list, its length counts.
    """

    figure: str
    number: float
    is_lower_bound: bool = False

    def explain_miss(self, result: Mapping[str, Any]) -> str | None:
        """A sentence that says how the figure misses the limit; None if it keeps to it."""
        value: Any = result
        for name in self.figure.split("."):
            value = value[name]
        value = len(value) if isinstance(value, Sized) else value
        if (value >= self.number) if self.is_lower_bound else (value <= self.number):
            return None
        return (
            f"{self.figure} is {value} and must be at {'least' if self.is_lower_bound else 'most'} "
            f"{self.number}"
        )


def at_most(number: float, *figures: str) -> tuple[Limit, ...]:
    return tuple(Limit(figure, number) for figure in figures)


def at_least(number: float, *figures: str) -> tuple[Limit, ...]:
    return tuple(Limit(figure, number, is_lower_bound=True) for figure in figures)


def finish(result: Mapping[str, Any], options: argparse.Namespace, *limits: Limit) -> NoReturn:
    """Prints the result and ends the program: with 1 if a limit was missed."""
    report(result, as_json=options.json)
    others = {
        figure: float(number) for figure, _, number in (limit.partition("=") for limit in options.limit)
    }
    if unknown := others.keys() - {limit.figure for limit in limits}:
        sys.exit(
            f"no limit for {', '.join(sorted(unknown))}; there are: "
            f"{', '.join(limit.figure for limit in limits)}"
        )
    missed = [
        why
        for limit in limits
        if (why := replace(limit, number=others.get(limit.figure, limit.number)).explain_miss(result))
    ]
    for why in missed:
        print(f"LIMIT MISSED: {why}", file=sys.stderr)
    sys.exit(1 if missed else 0)


BUCKET = "tests"
"""Tests and benches leave files. In a bucket of their own these do not stop the sweep of a development
database.
"""
OWN = {
    "DATABASE_SYSTEM_URL": "",
    "DATABASE_INGEST_URL": "",
    "DATABASE_DIRECT_URL": "",
    "S3_BUCKET": BUCKET,
    "SECRET_KEY": "secret of an installation that is measured",
}
"""Benches, and the programs that they start, use one login for everything."""


@asynccontextmanager
async def own_database(
    name: str, *, keep: bool = False, variables: Mapping[str, str] | None = None
) -> AsyncIterator[Settings]:
    """A fresh migrated database on the server of DATABASE_ADMIN_URL, without a graph; dropped at the end
    unless it is kept.

    One that is kept has exactly this name; to any other a random suffix is added, so that two runs on one
    server do not meet. `variables` are further settings.
    """
    name = name if keep else f"{name}_{secrets.token_hex(4)}"
    admin_url = os.environ.get("DATABASE_ADMIN_URL")
    if not admin_url:
        sys.exit('the servers are not running: scripts/servers up && eval "$(scripts/servers env)"')
    admin = await asyncpg.connect(_in_database(admin_url, "postgres"))
    exists = await admin.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", name)
    if not exists:
        await admin.execute(f"CREATE DATABASE {name}")
    os.environ |= OWN
    urls = {
        "DATABASE_URL": _with_login(_in_database(os.environ["DATABASE_URL"], name)),
        "DATABASE_ADMIN_URL": _in_database(admin_url, name),
    }
    settings = read_settings({**os.environ, "NEO4J_URI": "", **urls, **(variables or {})})
    try:
        await migrate(settings.database, tell=lambda _: None)
        yield settings
    finally:
        if not keep:
            await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await admin.close()


def _with_login(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"tga_bench:tga@{parts.hostname}:{parts.port}"))


def _in_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def cpu_seconds(pid: int) -> float:
    """CPU that the threads of a process have used so far; from the scheduler,
    because the clock's ticks are too coarse.
    """
    return (
        sum(
            int(task.read_text(encoding="ascii").split()[0])
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat")
        )
        / 1e9
    )


async def find_postmaster(admin: "asyncpg.Connection[asyncpg.Record]") -> int:
    """The process id of the server, which is on this machine."""
    folder = Path(await admin.fetchval("SHOW data_directory"))
    return int((folder / "postmaster.pid").read_text(encoding="ascii").splitlines()[0])


def postgres_cpu(postmaster: int) -> float:
    """CPU seconds of all processes of the server, including those that ended."""
    stat = Path(f"/proc/{postmaster}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    gone = (int(stat[13]) + int(stat[14])) / 100
    children = [entry for entry in Path("/proc").glob("[0-9]*") if _parent(entry) == postmaster]
    return gone + cpu_seconds(postmaster) + sum(cpu_seconds(int(child.name)) for child in children)


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return 0


def memory_bytes(pid: int) -> int:
    """The resident memory of a process now."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def own_cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def last_half[V](values: Sequence[V]) -> Sequence[V]:
    """The second half of the values: by then the run has settled."""
    return values[len(values) // 2 :]


def growth_percent_per_10_min(moments: Sequence[float], values: Sequence[float]) -> float:
    """The slope of values measured at these moments (seconds), relative to their mean."""
    return statistics.linear_regression(moments, values).slope * 600 / statistics.fmean(values) * 100


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


@dataclass(frozen=True)
class Versions:
    """The versions and PostgreSQL settings of a measurement."""

    postgres: str
    settings: dict[str, str]

    @classmethod
    async def read(cls, connection: "asyncpg.Connection[asyncpg.Record]") -> "Versions":
        names = (
            "fsync",
            "synchronous_commit",
            "shared_buffers",
            "wal_compression",
            "random_page_cost",
            "jit",
        )
        settings = {name: str(await connection.fetchval(f"SHOW {name}")) for name in names}
        return cls(str(await connection.fetchval("SHOW server_version")).split()[0], settings)

    def as_json(self) -> dict[str, object]:
        return {
            "tga": __version__,
            "python": platform.python_version(),
            "asyncpg": asyncpg.__version__,
            "postgres": self.postgres,
            "postgres_settings": self.settings,
            "cores": os.cpu_count(),
        }


def report(result: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(result, ensure_ascii=False), flush=True)
    else:
        for name, value in result.items():
            print(f"{name:<28} {value}")
