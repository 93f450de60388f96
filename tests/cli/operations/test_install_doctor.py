"""`tga doctor` on servers of its own, each stopped in turn."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.servers import OwnServers, own_servers

NAMES = ("postgres", "redis", "s3", "neo4j")
LINES = {"postgres": "postgres", "redis": "redis", "s3": "files", "neo4j": "neo4j"}

pytestmark = pytest.mark.serial


@pytest.fixture(scope="module")
def servers() -> Iterator[OwnServers]:
    with own_servers(*NAMES) as running:
        yield running


def doctor(environ: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "telegram_assistant", "doctor"],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def red_lines(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("✘")]


def test_with_every_server_up_all_is_green(servers: OwnServers, tmp_path: Path) -> None:
    seen = doctor(servers.environ(), tmp_path)
    assert (seen.returncode, red_lines(seen.stdout), seen.stderr) == (0, [], "")
    assert [line[0] for line in seen.stdout.splitlines()[:7]] == ["✔"] * 7
    assert "All checks passed." in seen.stdout


@pytest.mark.parametrize("name", NAMES)
def test_with_one_server_stopped_exactly_its_line_is_red(
    servers: OwnServers, tmp_path: Path, name: str
) -> None:
    environ = servers.environ()
    servers.run("down", name)
    try:
        seen = doctor(environ, tmp_path)
    finally:
        servers.run("up", name)
    red = red_lines(seen.stdout)
    assert len(red) == 1, seen.stdout
    assert re.match(rf"✘ {LINES[name]} .* → .*start", red[0])
    assert seen.returncode == 1
    assert "Traceback" not in seen.stdout + seen.stderr


def test_servers_are_started_once_and_only_our_own_are_stopped(servers: OwnServers, tmp_path: Path) -> None:
    assert servers.run("up", "redis").split() == [
        "redis",
        "runs",
        "already",
        "on",
        "port",
        port_of(servers, "redis"),
    ]
    stranger = OwnServers(tmp_path)
    assert "was not running" in stranger.run("down", "redis")
    assert "redis       runs on port" in servers.run("status")


def port_of(servers: OwnServers, name: str) -> str:
    return (servers.folder / name / "port").read_text()


def test_missing_settings_are_lines_too(tmp_path: Path) -> None:
    seen = doctor({"PATH": "", "PARSER_SPEED": "9"}, tmp_path)
    assert seen.returncode == 1
    assert [line.split("→")[0].split() for line in red_lines(seen.stdout)] == [
        ["✘", "settings", "DATABASE_URL", "is", "required"],
        ["✘", "settings", "REDIS_URL", "is", "required"],
    ]
    assert "! settings               PARSER_SPEED is unknown" in seen.stdout
    assert "Traceback" not in seen.stdout + seen.stderr
