"""`tga prepare`: the secrets of an installation in containers."""

import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from telegram_assistant.cli import app
from telegram_assistant.domain.tenants.access import weakness_of_secret
from telegram_assistant.features.operations.preparing import COMMANDS, LOGINS, NEEDS, prepare_secrets
from telegram_assistant.settings import DatabaseLogin, read_settings

DATABASE = "postgres:5432/tga"


def contents(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): file.read_text(encoding="utf-8")
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_the_first_start_makes_every_secret_and_the_second_keeps_them(tmp_path: Path) -> None:
    assert set(prepare_secrets(tmp_path, database=DATABASE, environ={})) == set(NEEDS[COMMANDS])
    made = contents(tmp_path)
    assert prepare_secrets(tmp_path, database=DATABASE, environ={}) == []
    assert contents(tmp_path) == made
    assert set(made) == {f"{place}/{name.lower()}" for place, names in NEEDS.items() for name in names}
    assert all(made.values())


def test_the_secrets_are_settings_that_the_program_accepts(tmp_path: Path) -> None:
    prepare_secrets(tmp_path, database=DATABASE, environ={})
    files = {f"{name}_FILE": str(tmp_path / COMMANDS / name.lower()) for name in NEEDS[COMMANDS]}
    settings = read_settings({**files, "REDIS_URL": "redis://redis:6379/0"})
    logins = [settings.database.name_of(login) for login in DatabaseLogin]
    assert len(set(logins)) == len(logins)
    assert settings.database.admin_url is not None
    assert (tmp_path / "postgres/postgres_password").read_text(
        encoding="utf-8"
    ) in settings.database.admin_url.get_secret_value()
    assert weakness_of_secret(settings.http.operator_key.get_secret_value(), variable="OPERATOR_KEY") is None
    assert len(settings.web.secret_key.get_secret_value()) >= 32


def test_a_process_gets_what_it_needs_and_no_more(tmp_path: Path) -> None:
    prepare_secrets(tmp_path, database=DATABASE, environ={})
    made = contents(tmp_path)
    system = made["worker/database_system_url"]
    assert system not in {text for file, text in made.items() if file.startswith("api/")}
    assert {file for file in made if file.endswith("session_encryption_key")} == {
        "commands/session_encryption_key",
        "ingest/session_encryption_key",
    }
    assert {file for file in made if file.endswith("database_admin_url")} == {
        "commands/database_admin_url",
        "migrate/database_admin_url",
    }
    assert {file for file in made if file.startswith("migrate/")} == {
        f"migrate/{name.lower()}" for name in LOGINS
    }


def test_a_value_of_the_environment_takes_the_place_of_a_made_one(tmp_path: Path) -> None:
    prepare_secrets(tmp_path, database=DATABASE, environ={})
    assert prepare_secrets(
        tmp_path, database=DATABASE, environ={"SECRET_KEY": "s" * 40, "OPERATOR_KEY": ""}
    ) == ["SECRET_KEY"]
    assert contents(tmp_path)["api/secret_key"] == "s" * 40
    assert prepare_secrets(tmp_path, database=DATABASE, environ={}) == []
    assert contents(tmp_path)["api/secret_key"] == "s" * 40


def test_no_login_is_made_up_for_a_server_of_ones_own(tmp_path: Path) -> None:
    prepare_secrets(tmp_path, database=DATABASE, environ={})
    prepare_secrets(
        tmp_path, database=DATABASE, environ={"DATABASE_URL": "postgresql://me:secret@db.example/news"}
    )
    made = contents(tmp_path)
    assert made["worker/database_url"] == "postgresql://me:secret@db.example/news"
    assert (
        made["worker/database_system_url"]
        == made["ingest/database_ingest_url"]
        == made["commands/database_admin_url"]
        == ""
    )


def test_servers_with_a_user_of_their_own_can_read_their_secret(tmp_path: Path) -> None:
    prepare_secrets(tmp_path, database=DATABASE, environ={})
    assert stat.S_IMODE((tmp_path / "postgres/postgres_password").stat().st_mode) == 0o444


def test_the_command_prints_names_and_no_values(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["prepare", str(tmp_path)])
    assert result.exit_code == 0
    assert "SESSION_ENCRYPTION_KEY" in result.stdout
    assert not [text for text in contents(tmp_path).values() if text in result.stdout]
    assert CliRunner().invoke(app, ["prepare", str(tmp_path)]).stdout == "all secrets exist\n"


def test_a_misspelt_name_is_said_because_no_other_container_sees_it(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["prepare", str(tmp_path)], env={"PARSER_MODE_OVERIDE": "auto", "SMTP_HOSTT": "mail.example"}
    )
    assert result.exit_code == 0
    assert (
        "PARSER_MODE_OVERIDE is unknown to this version and has no effect; did you mean PARSER_MODE_OVERRIDE?"
        in result.stderr
    )
    assert "SMTP_HOSTT is unknown" in result.stderr
    assert "mail.example" not in result.output


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_written_is_explained(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = CliRunner().invoke(app, ["prepare", str(tmp_path / place)])
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr
