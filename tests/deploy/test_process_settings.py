"""Each service of compose.yaml gets the settings and secrets that its process uses, and no others."""

import re
from pathlib import Path

import pytest

from telegram_assistant.features.operations.preparing import COMMANDS, LOGINS, NEEDS, PASSWORD
from telegram_assistant.features.operations.process_settings import (
    OWN_NAME,
    format_compose_value,
    variables_of,
)
from telegram_assistant.settings import read_settings, variables
from testkit.checkouts import CHECKOUT
from tests.deploy.composing import PLACES, ROLES, environment, reaching, volumes, whole

PROGRAM = CHECKOUT / "src/telegram_assistant"


@pytest.mark.parametrize("name", [*ROLES, "tga"])
def test_a_service_gets_the_settings_that_its_process_uses_and_no_others(name: str) -> None:
    """A secret that `tga prepare` makes arrives as a file, everything else by its name."""
    place, expected = (
        PLACES[name],
        {variable: format_compose_value(variable) for variable in variables_of(PLACES[name])},
    )
    expected |= {
        f"{secret}_FILE": f"/secrets/{secret.lower()}" for secret in NEEDS[place] if secret != PASSWORD
    }
    assert environment(whole()[name]) == expected


def test_the_commands_get_every_setting() -> None:
    assert {*variables_of(COMMANDS), *NEEDS[COMMANDS], OWN_NAME} >= {
        variable.name for variable in variables()
    }


def test_migrations_get_the_database_alone() -> None:
    assert environment(whole()["migrate"]) == {
        f"{login}_FILE": f"/secrets/{login.lower()}" for login in LOGINS
    }


def test_no_service_but_the_one_that_makes_secrets_sees_all_of_env_and_it_reaches_nobody() -> None:
    seeing = {name: service for name, service in whole().items() if service.get("env_file")}
    assert set(seeing) == {"prepare"}
    assert {service["network_mode"] for service in seeing.values()} == {"none"}
    assert not environment(seeing["prepare"])


SECRETS = {variable.name for variable in variables() if variable.secret} - {"REDIS_URL"}


@pytest.mark.parametrize(
    ("name", "kept_away"),
    [
        (
            "telethon-ingest",
            {
                "SMTP_PASSWORD",
                "OPENAI_API_KEY",
                "GIGACHAT_CREDENTIALS",
                "QDRANT_API_KEY",
                "NEO4J_PASSWORD",
                "SECRET_KEY",
            },
        ),
        (
            "worker",
            {
                "TELEGRAM_API_HASH",
                "TELEGRAM_SESSION_STRING",
                "TELEGRAM_PROXY_PASSWORD",
                "SESSION_ENCRYPTION_KEY",
            },
        ),
        (
            "api",
            {
                "TELEGRAM_API_HASH",
                "TELEGRAM_SESSION_STRING",
                "TELEGRAM_PROXY_PASSWORD",
                "SESSION_ENCRYPTION_KEY",
                "SMTP_PASSWORD",
            },
        ),
        ("migrate", {*SECRETS} - {*LOGINS}),
        ("demo", {*SECRETS} - {"DATABASE_URL", "DATABASE_ADMIN_URL"}),
    ],
)
def test_secrets_of_others_are_kept_away(name: str, kept_away: set[str]) -> None:
    reached = {
        key.removesuffix("_FILE") if key.removesuffix("_FILE") in SECRETS else key
        for key in environment(whole()[name])
    }
    assert kept_away <= SECRETS
    assert not reached & kept_away


USES = re.compile(r"settings\.(?P<group>[a-z]+)\b(?:\.(?P<field>[a-z_]+))?")
MODULES = {
    "ingest": ("ingest_role.py", "ingest", "api/ingest_endpoints.py"),
    "worker": ("worker_role.py", "jobs.py", "clock.py", "pipeline.py", "stages", "understanding"),
    "api": (
        "api",
        "web",
        "features/accounts",
        "features/operations/process_secret.py",
        "features/ask",
        "features/stories",
    ),
}
"""The code that runs in one process only. assembly.py builds more than each of them uses."""


@pytest.mark.parametrize("place", MODULES)
def test_the_code_of_a_process_uses_no_other_settings(place: str) -> None:
    given, by_field = (
        {*variables_of(place), *NEEDS[place]},
        {(variable.group, variable.field): variable.name for variable in variables()},
    )
    files = [
        file
        for part in MODULES[place]
        for file in ((PROGRAM / part).rglob("*.py") if (PROGRAM / part).is_dir() else [PROGRAM / part])
    ]
    files = [file for file in files if place == "ingest" or file != PROGRAM / "api/ingest_endpoints.py"]
    used: dict[str, str] = {}
    for file in files:
        for use in USES.finditer(file.read_text(encoding="utf-8")):
            names = (
                [by_field[use["group"], use["field"]]]
                if (use["group"], use["field"]) in by_field
                else _names_of(use["group"])
            )
            used |= dict.fromkeys(names, f"{file.relative_to(PROGRAM)}: {use[0]}")
    assert used
    assert {name: where for name, where in used.items() if name not in given and name != OWN_NAME} == {}


def _names_of(group: str) -> list[str]:
    """Every variable of a group: the whole group is passed on.

    Of PostgreSQL a process has its own logins only.
    """
    return [variable.name for variable in variables() if variable.group == group and group != "database"]


@pytest.mark.parametrize("name", PLACES)
def test_a_container_sees_the_secrets_that_its_settings_name(name: str) -> None:
    service = whole()[name]
    assert volumes(service)["/secrets"] == f"secrets-{PLACES[name]}"
    named = {
        value.removeprefix("/secrets/").upper()
        for key, value in environment(service).items()
        if value.startswith("/secrets/")
    }
    assert named == {*NEEDS[PLACES[name]]} - {PASSWORD}


def test_without_env_the_settings_of_a_role_are_valid(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    for secret in NEEDS["api"]:
        (tmp_path / "api" / secret.lower()).write_text(
            "postgresql://tga:secret@postgres:5432/tga", encoding="utf-8"
        )
    settings = read_settings(reaching("api", whole()["api"], {}, tmp_path))
    assert settings.redis.url.get_secret_value() == "redis://redis:6379/0"
    assert settings.database.url.get_secret_value().endswith("@postgres:5432/tga")
