"""`tga tenants`, and that no other command creates one."""

import json

from typer.testing import CliRunner

from telegram_assistant.cli import app
from testkit.factories import fresh_number


def name_of_new(runner: CliRunner) -> str:
    name = f"acme {fresh_number()}"
    made = runner.invoke(app, ["tenants", "create", name])
    assert made.exit_code == 0, made.stderr
    assert f"tga channels add @name --tenant '{name}'" in made.stdout
    return name


def test_following_for_a_tenant_that_does_not_exist_is_refused_with_how_to_create_it(
    runner: CliRunner,
) -> None:
    name = f"nobody {fresh_number()}"
    for words in (
        ["channels", "add", "@name"],
        ["channels", "add", "--joined"],
        ["folders", "add", "News"],
        ["keys", "create", "key"],
    ):
        result = runner.invoke(app, [*words, "--tenant", name])
        assert (result.exit_code, result.stderr) == (
            1,
            f"there is no tenant '{name}'; create it with: tga tenants create '{name}'.\n",
        )


def test_a_tenant_is_suspended_and_resumed(runner: CliRunner) -> None:
    name = name_of_new(runner)
    assert "is suspended" in runner.invoke(app, ["tenants", "suspend", name, "--why", "the bill"]).stdout
    listed = runner.invoke(app, ["tenants", "list"]).stdout
    assert next(line for line in listed.splitlines() if name in line).count("the bill") == 1
    assert "is resumed" in runner.invoke(app, ["tenants", "resume", name]).stdout
    assert (
        "own tenant cannot be suspended"
        in runner.invoke(app, ["tenants", "suspend", "default", "--why", "x"]).stderr
    )
    assert "already" in runner.invoke(app, ["tenants", "create", name]).stderr


def test_quota_and_budget_are_set_and_shown_by_name(runner: CliRunner) -> None:
    name = name_of_new(runner)
    assert (
        runner.invoke(app, ["tenants", "quota", name]).stdout
        == f"{name} stores 0 bytes of media; quota: no limit.\n"
    )
    assert "quota: 20.0 GB." in runner.invoke(app, ["tenants", "quota", name, "20GB"]).stdout
    assert runner.invoke(app, ["tenants", "quota", name], env={"MEDIA_QUOTA_BYTES": "5000"}).stdout.endswith(
        "quota: 20.0 GB.\n"
    )
    assert runner.invoke(
        app, ["tenants", "quota", name, "default"], env={"MEDIA_QUOTA_BYTES": "5000"}
    ).stdout.endswith("quota: 5.0 kB.\n")
    assert "is not a size" in runner.invoke(app, ["tenants", "quota", name, "much"]).stderr
    assert "No budget is set" in runner.invoke(app, ["tenants", "budget", name]).stdout
    assert "12.5000" in runner.invoke(app, ["tenants", "budget", name, "--money", "12.50"]).stdout
    output = runner.invoke(app, ["ai", "budget"]).stdout
    assert next(line for line in output.splitlines() if name in line).count("12.5000") == 1


def test_programs_get_what_the_api_answers(runner: CliRunner) -> None:
    name = name_of_new(runner)
    listed = json.loads(runner.invoke(app, ["tenants", "list", "--json"]).stdout)
    assert listed["next"] is None
    tenant = next(item for item in listed["items"] if item["name"] == name)
    assert json.loads(runner.invoke(app, ["tenants", "quota", name, "--json"]).stdout) == tenant
