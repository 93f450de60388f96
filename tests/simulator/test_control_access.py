"""The control port obeys its own key only, and no web page: every other request is refused with a reason."""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from telegram_simulator.world.tiny import CITY
from testkit.checkouts import CHECKOUT
from testkit.engines import free_port
from tests.simulator.serving import Process, tga_sim

PAGE = (CHECKOUT / "docs/simulator.md").read_text(encoding="utf-8")
WALK = [
    line.partition("   #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", PAGE.partition("## Worlds")[0], re.DOTALL)
    for line in block.splitlines()
    if not line.startswith(("tga-sim", "export "))
]
DEFINITION = next(line for line in WALK if line.startswith("control()"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with tga_sim(tmp_path_factory.mktemp("sim"), "tiny", "--limits", "off") as process:
        yield process


def send(
    process: Process, method: str, path: str, *, content: bytes | None = None, **headers: str
) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.request(method, process.where["control"] + path, headers=named, content=content)


def key_of(process: Process) -> str:
    return f"Bearer {process.where['control_key']}"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/state"),
        ("GET", "/truth"),
        ("GET", "/channels"),
        ("POST", f"/channels/{CITY}/posts"),
        ("DELETE", "/limits"),
        ("GET", "/nowhere"),
    ],
)
def test_a_request_without_the_key_is_refused_and_changes_nothing(
    tiny: Process, method: str, path: str
) -> None:
    before = tiny.control.ask("GET", "/channels")
    for wrong in (
        {},
        {"Authorization": "Bearer guessed"},
        {"Authorization": f"Basic {tiny.where['control_key']}"},
    ):
        refused = send(tiny, method, path, content=b'{"text": "?"}', Content_Type="application/json", **wrong)
        assert refused.status_code == 401
        assert "Authorization: Bearer" in refused.text
    assert tiny.control.ask("GET", "/channels") == before


@pytest.mark.parametrize("path", ["/", "/key"])
def test_help_and_the_public_key_are_open_to_programs_of_this_machine(tiny: Process, path: str) -> None:
    assert send(tiny, "GET", path).status_code == 200


@pytest.mark.parametrize("path", ["/", "/key", "/state"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8445", "127.0.0.1.evil.example", "localhost.evil.example", ""]
)
def test_a_web_page_that_calls_itself_by_another_name_is_refused(tiny: Process, path: str, host: str) -> None:
    refused = send(tiny, "GET", path, Host=host, Authorization=key_of(tiny))
    assert refused.status_code == 421
    assert "127.0.0.1" in refused.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8445", "127.0.0.1:1", "[::1]:8445", "10.0.0.7"])
def test_localhost_and_addresses_are_names_that_no_web_page_can_take(tiny: Process, host: str) -> None:
    assert send(tiny, "GET", "/state", Host=host, Authorization=key_of(tiny)).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_a_change_that_a_form_could_send_is_refused(tiny: Process, kind: str) -> None:
    refused = send(
        tiny,
        "POST",
        f"/channels/{CITY}/posts",
        content=b'{"text": "?"}',
        Authorization=key_of(tiny),
        Content_Type=kind,
    )
    assert refused.status_code == 415
    assert "application/json" in refused.text


def test_json_with_a_character_set_is_json(tiny: Process) -> None:
    kind = "application/json; charset=utf-8"
    assert (
        send(
            tiny, "POST", "/files/expire", content=b"{}", Authorization=key_of(tiny), Content_Type=kind
        ).status_code
        == 200
    )


def test_the_key_is_another_at_every_start_and_only_its_owner_reads_the_file(
    tiny: Process, tmp_path: Path
) -> None:
    with tga_sim(tmp_path, "tiny") as other:
        assert other.where["control_key"] != tiny.where["control_key"]
        assert len(other.where["control_key"]) >= 32
        assert stat.S_IMODE((tmp_path / "where.json").stat().st_mode) == 0o600
        assert other.where["control_key"] not in other.output.read_text(encoding="utf-8")


def test_a_start_without_a_file_prints_the_key(tmp_path: Path) -> None:
    ports = [word for name in ("", "second-", "web-") for word in (f"--{name}port", "0")]
    port, key = free_port(), str(tmp_path.parent.parent / "simulator-key.pem")
    command = [
        sys.executable,
        "-m",
        "telegram_simulator",
        "tiny",
        *ports,
        "--control-port",
        str(port),
        "--key",
        key,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if "SIM_KEY=" in line)
            key = line.rpartition("=")[2].strip()
            answer = httpx.get(f"http://127.0.0.1:{port}/state", headers={"Authorization": f"Bearer {key}"})
            assert answer.status_code == 200
        finally:
            process.terminate()


def test_each_line_of_the_walk_works(tiny: Process) -> None:
    """In their order: a later one edits what an earlier one has posted."""
    port = tiny.where["control"].rpartition(":")[2]
    assert len(WALK) >= 9
    for line in WALK:
        script = f"set -eo pipefail; {DEFINITION.replace('8445', port)}; {line.replace('8445', port)}"
        environ = {**os.environ, "SIM_KEY": tiny.where["control_key"]}
        done = subprocess.run(
            ["bash", "-c", script], env=environ, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert "login-tokens" in line or not re.search(r"wrong|missing|refused", done.stdout), (
            f"{line}\n{done.stdout}"
        )
