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
    assert "a name must have 1 to 60 characters" in refused.stderr


def test_a_person_is_removed_with_their_keys_and_the_last_owner_stays(runner: CliRunner) -> None:
    tenant = ["--tenant", "removals"]
    runner.invoke(app, ["tenants", "create", "removals"])
    for name in ("Первый", "Второй"):
        assert runner.invoke(app, ["people", "link", name, "--role", "owner", *tenant]).exit_code == 0
    assert runner.invoke(app, ["keys", "create", "robot", "--user", "Второй", *tenant]).exit_code == 0
    assert runner.invoke(app, ["people", "remove", "Второй", *tenant]).stdout == "Removed.\n"
    assert "revoked" in runner.invoke(app, ["keys", "list", *tenant]).stdout
    assert "Второй" not in runner.invoke(app, ["people", "list", *tenant]).stdout
    for name, why in (("Первый", "a tenant needs an owner"), ("Второй", "there is no such member")):
        refused = runner.invoke(app, ["people", "remove", name, *tenant])
        assert refused.exit_code == 1
        assert why in refused.stderr
