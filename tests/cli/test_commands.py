import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from telegram_assistant import __version__
from telegram_assistant.cli import app


def test_the_version_is_told(runner: CliRunner) -> None:
    assert runner.invoke(app, ["--version"]).stdout == f"tga {__version__}\n"


def test_without_a_command_help_lists_them(runner: CliRunner) -> None:
    output = runner.invoke(app, []).output
    assert all(command in output for command in ("run", "doctor", "migrate", "config"))


def test_config_shows_what_is_in_force_and_hides_secrets(runner: CliRunner) -> None:
    result = runner.invoke(app, ["config"], env={"OPERATOR_KEY": "k3y-of-operator", "API_PORT": "8123"})
    assert result.exit_code == 0
    assert "API_PORT=8123" in result.stdout
    assert "OPERATOR_KEY=********" in result.stdout
    assert "tga:tga@" not in result.stdout


def test_a_file_beside_the_command_gives_what_the_environment_does_not(
    runner: CliRunner, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("API_PORT=8123\nWORKER_PORT=8124\n", encoding="utf-8")
    output = runner.invoke(app, ["config"], env={"WORKER_PORT": "9999"}).stdout
    assert "API_PORT=8123" in output
    assert "WORKER_PORT=9999" in output


def test_wrong_settings_are_told_with_exit_code_2(runner: CliRunner) -> None:
    result = runner.invoke(app, ["config"], env={"API_PORT": "many"})
    assert result.exit_code == 2
    assert "API_PORT is wrong" in result.stderr


def test_migrating_a_migrated_database_says_where_it_is(runner: CliRunner) -> None:
    result = runner.invoke(app, ["migrate"])
    assert result.exit_code == 0
    assert re.fullmatch(r"the schema is at \d{4}\n", result.stdout)


def test_migrating_needs_the_database_settings_only(runner: CliRunner) -> None:
    assert runner.invoke(app, ["migrate", "--quiet"], env={"REDIS_URL": ""}).exit_code == 0


def test_a_server_that_is_away_is_told_in_words(runner: CliRunner) -> None:
    result = runner.invoke(
        app, ["migrate"], env={"DATABASE_ADMIN_URL": "postgresql://a:geheim@127.0.0.1:1/x"}
    )
    assert result.exit_code == 1
    assert "127.0.0.1:1/x cannot be used" in result.stderr
    assert "geheim" not in result.stderr


def test_errors_are_told_in_the_language_of_the_terminal(runner: CliRunner) -> None:
    result = runner.invoke(
        app,
        ["migrate"],
        env={"DATABASE_ADMIN_URL": "postgresql://a:geheim@127.0.0.1:1/x", "LC_ALL": "ru_RU.UTF-8"},
    )
    assert result.exit_code == 1
    assert "PostgreSQL по адресу 127.0.0.1:1/x использовать нельзя" in result.stderr
    assert "Запустите `tga doctor`" in result.stderr
    unknown = runner.invoke(
        app, ["channels", "list", "--tenant", "[nobody]"], env={"LC_ALL": "", "LANG": "ru_RU.UTF-8"}
    )
    assert unknown.exit_code == 1
    assert "пространства «[nobody]» нет; создайте его: tga tenants create '[nobody]'" in unknown.stderr


def test_an_unknown_role_is_told_with_the_known_ones(runner: CliRunner) -> None:
    result = runner.invoke(app, ["run", "--roles", "ingest,painter"])
    assert result.exit_code == 2
    assert "ingest, worker, api" in result.stderr


def test_a_role_that_cannot_start_is_told_in_words(runner: CliRunner) -> None:
    result = runner.invoke(app, ["run", "--roles", "api"], env={"REDIS_URL": "redis://127.0.0.1:1/0"})
    assert result.exit_code == 1
    assert "Redis at 127.0.0.1:1/0 cannot be used" in result.stderr


def test_a_session_that_cannot_be_kept_ends_the_program_in_words(runner: CliRunner) -> None:
    result = runner.invoke(
        app, ["run", "--roles", "ingest"], env={"TELEGRAM_SESSION_STRING": "1Ap", "INGEST_PORT": "0"}
    )
    assert (result.exit_code, result.exception.__class__) == (1, SystemExit)
    assert "sessions cannot be stored without a key" in result.stderr


def test_a_key_for_sessions_that_is_none_is_red_and_ends_the_program_in_words(runner: CliRunner) -> None:
    environ = {"SESSION_ENCRYPTION_KEY": "short"}
    seen = runner.invoke(app, ["doctor"], env=environ)
    assert seen.exit_code == 1
    assert re.search(r"^✘ settings +SESSION_ENCRYPTION_KEY is wrong", seen.stdout, re.MULTILINE)
    result = runner.invoke(app, ["run"], env=environ)
    assert (result.exit_code, result.exception.__class__) == (2, SystemExit)
    assert "SESSION_ENCRYPTION_KEY is wrong" in result.stderr


def test_the_doctor_reports_what_the_file_misspells_and_lines_that_say_nothing(
    runner: CliRunner, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(
        "TELEGRAM_API_HSH=geheim\ngeheim without a name\nAPI_PORT=8123\n", encoding="utf-8"
    )
    seen = runner.invoke(app, ["doctor"]).stdout
    assert (
        "! settings               TELEGRAM_API_HSH is unknown to this version and has no effect; "
        "did you mean TELEGRAM_API_HASH?" in seen
    )
    assert (
        "! settings               line 2 of .env has no effect: it does not have the form NAME=value" in seen
    )
    assert "geheim" not in seen
    assert "line 2 of .env has no effect" in runner.invoke(app, ["config"]).stderr


@pytest.mark.parametrize(
    ("command", "needless"),
    [
        ("migrate", ("fastapi", "telethon", "redis")),
        ("run", ("telegram_assistant.api.site", "telegram_assistant.web", "jinja2")),
    ],
)
def test_what_a_start_does_not_use_is_not_loaded(command: str, needless: tuple[str, ...]) -> None:
    """Servers migrate at every start, and of the roles only the api serves the API and the pages."""
    seen = f"print([name for name in {needless} if name in sys.modules])"
    begun = f"import atexit, sys; from telegram_assistant.cli import main; atexit.register(lambda: {seen})"
    program = f"{begun}; sys.argv[1:] = ['{command}', '--help']; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"
