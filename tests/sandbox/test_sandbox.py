"""A parser that was taken over reads no secret, opens no socket and touches no other process.

`hostile.py` is the parser, `victim.py` the process that has the secrets and starts it the way the program
does.
"""

import asyncio
import json
import os
import secrets
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis

from telegram_assistant.crawling.rendering import serving
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.features.operations.sandbox_check import examine
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.sandbox.launching import probe, start
from telegram_assistant.sandbox.parsers import parser_rules
from telegram_assistant.settings import CrawlSettings, read_group

HERE = Path(__file__).parent
FILES = (
    "secrets/database_password",
    "files/aa/picture",
    "spool/half",
    "sessions/account.session",
    "vectors/meta.json",
    "home/.netrc",
    ".env",
)
VARIABLES = (
    "DATABASE_URL",
    "OPERATOR_KEY",
    "SESSION_ENCRYPTION_KEY",
    "TELEGRAM_API_HASH",
    "S3_SECRET_ACCESS_KEY",
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel has no sandbox")

NICENESS = 10

type Got = dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class House:
    """An installation full of secrets, and the attacks on them."""

    folder: Path
    targets: dict[str, Any]
    environ: dict[str, str]

    async def attack(self, how: str) -> Got:
        environ = {**self.environ, "PATH": "/usr/bin:/bin"}
        command = [sys.executable, str(HERE / "victim.py"), how, json.dumps(self.targets)]
        process = await asyncio.create_subprocess_exec(*command, cwd=self.folder, env=environ, stdout=PIPE)
        answered: Got = json.loads((await process.communicate())[0])["got"]
        return answered


@pytest.fixture
async def house(environ: dict[str, str]) -> AsyncIterator[House]:
    """An installation that everybody may read: only the sandbox protects it."""
    redis = Redis.from_url(environ["REDIS_URL"])
    await redis.set("tga-secret-test", "tga-secret-in-redis")
    with tempfile.TemporaryDirectory(prefix="tga-house-") as folder:
        yield furnish_house(Path(folder), environ)
    await redis.delete("tga-secret-test")
    await redis.aclose()


def furnish_house(folder: Path, environ: dict[str, str]) -> House:
    folder.chmod(0o755)
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"tga-secret-file-{secrets.token_hex(4)}", encoding="ascii")
    (folder / "profile").mkdir()
    targets = {
        "files": [str(folder / name) for name in FILES],
        "folder": str(folder),
        "profile": str(folder / "profile"),
        "redis_port": urlsplit(environ["REDIS_URL"]).port,
        "postgres_port": urlsplit(environ["DATABASE_URL"]).port,
        "proxy_port": 9,
        "unix_path": str(folder / "socket"),
        "unix_abstract": folder.name,
    }
    return House(
        folder, targets, {name: f"tga-secret-{name.lower().replace('_', '-')}" for name in VARIABLES}
    )


def successes(got: dict[str, list[str]]) -> list[str]:
    return [name for name, gained in got.items() if gained]


async def test_without_the_sandbox_the_hostile_parser_gets_everything(house: House) -> None:
    got = await house.attack("as before")
    gained = {
        secret for leaked in got["secrets"].values() for secret in leaked if secret.startswith("tga-secret")
    }
    assert len(gained) >= 10
    assert successes(got["secrets"]) == list(got["secrets"])
    assert successes(got["sockets"]) == list(got["sockets"])
    assert len(successes(got["mischief"])) >= 10


@pytest.mark.parametrize("how", ["parser", "ocr"])
async def test_a_hostile_parser_reads_no_secret_and_opens_no_socket(house: House, how: str) -> None:
    got = await house.attack(how)
    assert len(got["secrets"]) >= 10
    assert {kind: successes(some) for kind, some in got.items() if kind != "mischief"} == {
        "secrets": [],
        "sockets": [],
    }


@pytest.mark.parametrize("how", ["parser", "ocr"])
async def test_a_hostile_parser_touches_no_process_and_no_file(house: House, how: str) -> None:
    assert successes((await house.attack(how))["mischief"]) == []


async def test_a_hostile_browser_reads_no_secret_and_connects_to_nothing_but_its_proxy(house: House) -> None:
    got = await house.attack("browser")
    assert successes(got["secrets"]) == []
    # The process that drives the browser connects to it. A socket in a folder is protected by its
    # permissions: a browser started by root is another user.
    assert set(successes(got["sockets"])) <= {"listening", "unix-path"}
    assert not {"trace", "signal", "write"} & set(successes(got["mischief"]))


async def test_a_parser_ends_with_whoever_started_it(tmp_path: Path) -> None:
    """Even when that is killed and its pipe is held open by somebody else."""
    program = """
import asyncio, os, sys
from telegram_assistant.sandbox.launching import start
from telegram_assistant.sandbox.parsers import parser_rules
async def main():
    process = await start(parser_rules(), "-m", "telegram_assistant.ai.pictures")
    await process.stdout.readline()
    print(process.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=PIPE, cwd=tmp_path)
    assert parent.stdout is not None
    reader = Path(f"/proc/{int(await parent.stdout.readline())}/status")
    parent.kill()
    await parent.wait()
    async with asyncio.timeout(60):
        while await asyncio.to_thread(is_alive, reader):
            await asyncio.sleep(0.01)


async def test_a_parser_takes_only_the_cpu_time_that_the_rest_leaves() -> None:
    """The parser yields as a process and, if Linux first shares the CPU between sessions, as a session."""
    process = await start(parser_rules(), "-m", "telegram_assistant.ai.pictures")
    try:
        assert process.stdout is not None
        await process.stdout.readline()
        assert os.getpriority(os.PRIO_PROCESS, process.pid) >= NICENESS
        group = Path(f"/proc/{process.pid}/autogroup")
        if await asyncio.to_thread(group.exists):
            assert (await asyncio.to_thread(group.read_text)).rstrip().endswith(f"nice {NICENESS}")
    finally:
        process.kill()
        await process.wait()


def is_alive(status: Path) -> bool:
    try:
        return "\nState:\tZ" not in status.read_text(encoding="ascii")
    except OSError:
        return False


async def test_what_is_in_force_is_reported_from_inside() -> None:
    protection = await probe(parser_rules())
    assert (protection.missing, protection.reachable) == ((), ())
    assert protection.in_words() == f"Landlock ABI {protection.landlock_abi}, seccomp"


async def test_doctor_says_what_protects_readers() -> None:
    (finding,) = await examine(read_group(CrawlSettings, {}))
    assert finding.verdict is Severity.OK
    assert "Landlock ABI" in str(finding.what)
    assert "no files and no network" in str(finding.what)


async def test_doctor_asks_the_running_crawler_what_protects_its_browser() -> None:
    async def load(url: str) -> tuple[str, str]:
        return url, ""

    for protection, verdict in (
        ("Chromium's own sandbox, Landlock ABI 7", Severity.OK),
        ("without Chromium's own sandbox", Severity.WARNING),
    ):
        async with serving(load, "127.0.0.1:0", guard=Guard(), max_bytes=1000, protection=protection) as port:
            _, browser = await examine(read_group(CrawlSettings, {"CRAWLER_ADDRESS": f"127.0.0.1:{port}"}))
        assert (browser.verdict, str(browser.what)) == (verdict, protection)
    _, away = await examine(read_group(CrawlSettings, {"CRAWLER_ADDRESS": f"127.0.0.1:{port}"}))
    assert (away.verdict, "the browser is unreachable" in str(away.what)) == (Severity.WARNING, True)
