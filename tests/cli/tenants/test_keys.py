"""`tga keys`."""

import re

from typer.testing import CliRunner

from telegram_assistant.cli import app
from telegram_assistant.domain.tenants.access import weakness_of_secret


def test_a_key_is_made_listed_and_revoked(runner: CliRunner) -> None:
    made = runner.invoke(app, ["keys", "create", "dashboard", "--scopes", "read,operate", "--days", "30"])
    assert made.exit_code == 0, made.output
    key_id, secret = re.findall(r"Key ([0-9a-f-]{36})", made.stdout)[0], made.stdout.split()[-1]
    assert secret.startswith("tga_")
    listed = runner.invoke(app, ["keys", "list"]).stdout
    assert "dashboard" in listed
    assert secret not in listed
    assert runner.invoke(app, ["keys", "revoke", key_id]).stdout == "The key is revoked.\n"
    again = runner.invoke(app, ["keys", "revoke", key_id])
    assert (again.exit_code, "already revoked" in again.stderr) == (1, True)


def test_a_key_cannot_open_more_than_its_person_may(runner: CliRunner) -> None:
    for name, role in (("anna", "owner"), ("boris", "viewer")):
        assert runner.invoke(app, ["keys", "create", "first", "--user", name, "--role", role]).exit_code == 0
    refused = runner.invoke(app, ["keys", "create", "more", "--user", "boris", "--scopes", "read,write"])
    assert refused.exit_code == 1
    assert "leave out: write" in refused.stderr


def test_what_does_not_exist_is_told(runner: CliRunner) -> None:
    assert "there is no tenant 'X'" in runner.invoke(app, ["keys", "list", "--tenant", "X"]).stderr
    wrong = runner.invoke(app, ["keys", "create", "one", "--scopes", "everything"])
    assert wrong.exit_code == 2
    assert "known scopes: read, write, admin, operate" in wrong.stderr


def test_a_key_for_the_operator_is_printed_that_nobody_guesses(runner: CliRunner) -> None:
    made = [runner.invoke(app, ["keys", "operator"]).stdout.strip() for _ in range(2)]
    assert made[0] != made[1]
    assert [weakness_of_secret(key, variable="OPERATOR_KEY") for key in made] == [None, None]
