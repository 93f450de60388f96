"""`tga people`."""

from typer.testing import CliRunner

from telegram_assistant.cli import app


def test_a_person_gets_a_link_and_is_listed(runner: CliRunner) -> None:
    made = runner.invoke(app, ["people", "link", "Вера", "--role", "viewer"])
    assert made.exit_code == 0, made.output
    assert made.stdout.splitlines()[-1].startswith("http://127.0.0.1:8000/link/")
    listed = runner.invoke(app, ["people", "list"]).stdout
    assert "Вера" in listed
    assert "viewer" in listed


def test_a_name_that_nobody_could_have_is_refused(runner: CliRunner) -> None:
    refused = runner.invoke(app, ["people", "link", " "])
    assert refused.exit_code == 1
    assert "a name has 1 to 60 letters" in refused.stderr
