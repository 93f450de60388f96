"""The commands of docs/operations/check-status.md for an installation in containers, against compose.yaml and
the Dockerfile.

tests/journeys/test_operations.py runs those for an installation without, and these with a stand-in for
Docker.
"""

import re
import shlex

import pytest

from telegram_assistant.features.operations.preparing import NEEDS
from testkit.checkouts import CHECKOUT
from tests.deploy.composing import DEFAULT, PLACES, environment, volumes, whole
from tests.deploy.known_commands import FETCHES_KEY, ROWS, KnownCommand

PROGRAMS = {"postgres": {"psql"}, "redis": {"redis-cli"}}
"""The programs in the images of servers. Our image has those that the Dockerfile installs, and coreutils."""
OF_OUR_IMAGE = {"curl", "cat"}
LONG_RUNNING = DEFAULT - {"prepare", "migrate"}
WITHOUT = {
    "docker compose run --rm tga ": "tga ",
    "docker compose exec redis redis-cli ": 'redis-cli -u "$REDIS_URL" ',
    "docker compose exec postgres psql -U postgres -d tga ": 'psql "$DATABASE_ADMIN_URL" ',
    "docker compose exec telethon-ingest curl ": "curl ",
}
"""The beginning of a command with containers, and the same without them."""
OF_CONTAINERS_ONLY = {"which containers run", "inter-arrival statistics", "to start"}
"""Rows whose two commands are different ones: they ask Docker itself."""


def commands() -> list[str]:
    """Each command with containers, up to the first pipe, and the one that fetches the key."""
    inside = re.search(r"\$\((docker .*)\)", FETCHES_KEY)
    assert inside is not None
    return [inside[1], *(row.with_containers.partition(" | ")[0] for row in ROWS)]


def test_there_is_a_row_for_each_command_that_operators_know() -> None:
    assert len(ROWS) >= 20
    assert {row.to_see for row in ROWS} >= {
        "that the Telegram client and the scheduler have started",
        "the periodic jobs",
        *OF_CONTAINERS_ONLY,
    }


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.to_see not in OF_CONTAINERS_ONLY], ids=lambda row: row.to_see
)
def test_with_and_without_containers_the_same_is_asked(row: KnownCommand) -> None:
    """The command without is run for real, so the other one is right, too,
    if its way into the container is.
    """
    command = row.with_containers
    for inside, outside in WITHOUT.items():
        command = command.replace(inside, outside)
    assert command == row.without


@pytest.mark.parametrize(
    "command", [command for command in commands() if command.startswith("docker compose exec")]
)
def test_a_command_inside_a_container_finds_its_service_and_its_program(command: str) -> None:
    words = [word for word in shlex.split(command)[3:] if word != "-T"]
    service, program, *arguments = words
    assert service in LONG_RUNNING
    assert program in PROGRAMS.get(service, OF_OUR_IMAGE)
    if service == "postgres":
        made = environment(whole()["postgres"])
        assert arguments[:4] == ["-U", made.get("POSTGRES_USER", "postgres"), "-d", made["POSTGRES_DB"]]
    for path in (argument for argument in arguments if argument.startswith("/secrets/")):
        assert volumes(whole()[service])["/secrets"] == f"secrets-{PLACES[service]}"
        assert path.removeprefix("/secrets/").upper() in NEEDS[PLACES[service]]


def test_our_image_holds_the_programs_that_the_commands_need() -> None:
    dockerfile = (CHECKOUT / "Dockerfile").read_text(encoding="utf-8")
    program = dockerfile.partition("FROM base AS program")[2]
    assert re.search(r"apt-get install .* curl ", program)


@pytest.mark.parametrize(
    "command", [command for command in commands() if re.match(r"docker compose (?!exec)", command)]
)
def test_other_commands_name_services_that_exist(command: str) -> None:
    action, *words = shlex.split(command)[2:]
    named = [word for word in words if not word.startswith("-")][:1]
    assert action in {"run", "logs", "ps", "up"}
    assert action != "run" or (words[:2] == ["--rm", "tga"] and whole()["tga"]["profiles"] == ["commands"])
    assert set(named) <= set(whole())
    assert action != "logs" or whole()[named[0]]["logging"]["driver"] == "json-file"


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "localhost" in row.with_containers], ids=lambda row: row.to_see
)
def test_addresses_of_the_host_are_published_and_the_key_is_sent_to_them(row: KnownCommand) -> None:
    """A request of the host comes from elsewhere, so even /health asks for the key;
    inside the container it does not.
    """
    (port,) = re.findall(r"localhost:(\d+)/", row.with_containers)
    published = {
        re.sub(r"\$\{\w+:-(\d+)\}", r"\1", mapping)
        for service in LONG_RUNNING
        for mapping in whole()[service].get("ports", [])
    }
    assert f"127.0.0.1:{port}:{port}" in published
    is_inside = row.with_containers.startswith("docker compose exec")
    assert is_inside or '-H "Authorization: Bearer $OPERATOR_KEY"' in row.with_containers


def test_the_command_of_the_first_block_names_the_services_of_the_roles() -> None:
    page = (CHECKOUT / "docs/operations/check-status.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^docker compose run --rm tga doctor --production (.*?)  ", page, re.MULTILINE)
    named = dict(word.split("=") for word in line.split() if word != "--at")
    assert named == {PLACES[service]: service for service in ("telethon-ingest", "worker", "api")}
