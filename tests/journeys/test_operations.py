"""The pages for newcomers and operators: what they say is done as written, and the installation that comes of
it is asked as written.

docs/try-it.md builds the installation, docs/operations/check-status.md looks at it.
"""

import os
import re
import subprocess
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from redis.asyncio import Redis

from telegram_simulator.world.demo.packs import packs
from testkit.engines import free_port
from testkit.forked_commands import forked_commands
from testkit.programs import program
from testkit.simulators import simulator
from tests.conftest import redis_url, scratch_database
from tests.deploy.known_commands import FETCHES_KEY, ROWS

DOCS = Path(__file__).parent.parent.parent / "docs"
WHOLE_PAGE = (DOCS / "try-it.md").read_text(encoding="utf-8")
TRY_IT = WHOLE_PAGE.partition("## Search by meaning")[0]
"""Without the section that downloads a model of 490 MB: tests/demo has a small one."""
STARTED_HERE = ("scripts/servers up", "eval ", "tga-sim demo", "tga run")
"""How lines begin that start what the test has started in its own way."""
OPERATOR_KEY = "9f86d081884c7d659a2feaa0c55ad015"
WITHOUT_CONTAINERS = {row.without for row in ROWS} - {"tga run"}
WITH_CONTAINERS = {
    row.with_containers
    for row in ROWS
    if row.with_containers.startswith(("docker compose exec", "docker compose logs"))
}
"""Of commands of `tga`, tests/deploy/test_commands_in_compose.py knows that they are those without
containers.
"""
DOCKER = """
docker() {  # stands in for Docker: the same command beside the servers and processes of this test
  shift; local action=$1; shift; [ "$1" != -T ] || shift
  case "$action $1" in
    "exec redis") shift 2; redis-cli -u "$REDIS_URL" "$@" ;;
    "exec postgres") shift; local program=$1; shift 5; "$program" "$DATABASE_ADMIN_URL" "$@" ;;
    "exec "*) shift; if [ "$1" = cat ]; then cat "$SECRETS/${2#/secrets/}"; else "$@"; fi ;;
    "logs "*) cat tga.log ;;
    *) echo "not known: $action $*" >&2; return 1 ;;
  esac
}
"""

pytestmark = [pytest.mark.serial, pytest.mark.long]


@dataclass(frozen=True)
class Shell:
    """Runs lines of the documentation as they are written; only the ports are others,
    so that several can run on one machine.
    """

    folder: Path
    environ: dict[str, str]
    ports: dict[str, str]
    tga: str

    def replace_ports(self, text: str) -> str:
        for there, here in self.ports.items():
            text = (
                text.replace(f"localhost:{there}", f"127.0.0.1:{here}")
                .replace(f":{there}", f":{here}")
                .replace(f"={there}", f"={here}")
            )
        return text

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        command = f'tga() {{ {self.tga} "$@"; }}; {DOCKER}\nset -o pipefail; {self.replace_ports(line)}'
        return subprocess.run(
            ["bash", "-c", command],
            env=self.environ,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def must(self, line: str, *, tries: int = 1) -> str:
        done = self.run(line)
        while done.returncode and tries > 1:
            time.sleep(2)
            done, tries = self.run(line), tries - 1
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout


def lines_of(page: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    return [
        line.partition("  #")[0].strip()
        for block in blocks
        for line in block.splitlines()
        if not line.startswith(STARTED_HERE)
    ]


BEFORE, AFTER = lines_of(TRY_IT.partition("The third one")[0]), lines_of(TRY_IT.partition("The third one")[2])


@pytest.fixture(scope="module")
async def shell(environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shell]:
    folder = tmp_path_factory.mktemp("try-it")
    with simulator("demo", limits="telegram") as telegram, forked_commands() as tga:
        without_s3 = {name: value for name, value in environ.items() if not name.startswith("S3_")}
        async with scratch_database(without_s3 | {"FILES_DIR": str(folder / "files")}, "tga_try_it") as own:
            own |= {
                "REDIS_URL": redis_url(own, -3),
                "PARSER_SCHEDULER_INTERVAL_SEC": "5",
                "PATH": os.environ["PATH"],
            }
            own |= {f"{role}_PORT": str(free_port()) for role in ("INGEST", "WORKER", "API")}
            own |= {"OPERATOR_KEY": OPERATOR_KEY, "SECRETS": str(folder / "secrets")}
            (folder / "secrets").mkdir()
            (folder / "secrets/operator_key").write_text(OPERATOR_KEY, encoding="ascii")
            ports = {"8011": own["INGEST_PORT"], "8012": own["WORKER_PORT"], "8000": own["API_PORT"]}
            ports |= {"8443": str(telegram.where["ports"]["2"])}
            ports |= {
                there: telegram.where[name].rpartition(":")[2].strip("/")
                for there, name in (("8445", "control"), ("8446", "web"))
            }
            redis = Redis.from_url(own["REDIS_URL"])
            await redis.flushdb()
            await redis.aclose()
            made = Shell(folder, own, ports, tga)
            settings = re.findall(r"```ini\n(.*?)```", TRY_IT, re.DOTALL)[0]
            (folder / ".env").write_text(made.replace_ports(settings), encoding="utf-8")
            for line in BEFORE:
                made.must(line)
            values = dict(
                line.split("=", 1) for line in (folder / ".env").read_text(encoding="utf-8").splitlines()
            )
            values["TELEGRAM_DC_PUBLIC_KEY_FILE"] = str(folder / "simulator.pem")
            with program("telegram_assistant", "run", environ={**own, **values}, log=folder / "tga.log"):
                for line in AFTER[:2]:
                    made.must(line)
                deadline = time.monotonic() + 120
                while made.run("tga search склад").returncode:
                    assert time.monotonic() < deadline, (folder / "tga.log").read_text(encoding="utf-8")[
                        -2000:
                    ]
                yield made


def test_the_channels_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"@(\w+)", WHOLE_PAGE))
    assert named <= {channel.name for channel in packs().channels}
    assert len(named) > 20


@pytest.mark.parametrize("line", AFTER[2:])
def test_each_line_for_newcomers_works(shell: Shell, line: str) -> None:
    assert shell.must(line)


@pytest.mark.parametrize("line", sorted(WITHOUT_CONTAINERS - {*AFTER}))
def test_each_line_for_operators_works_without_containers(shell: Shell, line: str) -> None:
    tries = 5 if line == "tga scheduler status" else 1  # after a reset it is down until the next tick
    assert shell.must(line, tries=tries) or "--scan" in line


@pytest.mark.parametrize("line", sorted(WITH_CONTAINERS))
def test_each_line_for_operators_means_the_same_with_containers(shell: Shell, line: str) -> None:
    """Docker is stood in for; tests/deploy/test_commands_in_compose.py
    compares what the line names with compose.yaml.
    """
    assert shell.must(line) or "--scan" in line


def test_the_operators_key_lies_where_the_page_fetches_it(shell: Shell) -> None:
    asking = (
        'curl -s -o /dev/null -w "%{http_code}" -H "Authorization: '
        'Bearer $OPERATOR_KEY" http://localhost:8011/metrics'
    )
    assert shell.must(f"unset OPERATOR_KEY; {FETCHES_KEY}; {asking}") == "200"
    assert shell.must(f"unset OPERATOR_KEY; {asking}") == "401"


def test_inter_arrival_statistics_are_logged_at_the_usual_level(shell: Shell) -> None:
    assert "LOG_LEVEL" not in shell.environ
    assert shell.must('grep "interarrival stats" tga.log')


def test_a_running_installation_is_ready_for_production(shell: Shell) -> None:
    output = shell.must("tga doctor --production").partition("The running installation:")[2]
    assert re.findall(r"^. (\d [a-z ]+?)  ", output, re.MULTILINE) == [
        "1 scheduler",
        "2 tick",
        "3 news",
        "4 no duplicates",
        "5 crash recovery",
        "6 dashboard",
        "7 alerts",
        "8 stale channels",
    ]
    assert "✘" not in output


def test_a_role_that_does_not_run_ends_the_check_with_1(shell: Shell) -> None:
    away = replace(shell, environ={**shell.environ, "WORKER_PORT": str(free_port())})
    done = away.run("tga doctor --production")
    assert done.returncode == 1
    assert re.search(r"✘ role worker .* → start it: tga run --roles worker", done.stdout)
