"""`tga stories --as` and `tga links`."""

import json

from typer.testing import CliRunner

from telegram_assistant.cli import app
from tests.cli.channels.test_channels import make_tenant_name
from tests.cli.stories.test_stories import tell_story


def test_a_story_is_copied_and_shown_by_a_link_until_it_is_revoked(
    runner: CliRunner, database: dict[str, str]
) -> None:
    tenant = make_tenant_name(database)
    story = str(tell_story(tenant, database)[0])
    of_tenant = ["--tenant", tenant]
    copied = runner.invoke(app, ["stories", story, "--as", "markdown", *of_tenant]).stdout
    assert copied.startswith("# Мост в Самаре")
    assert "SHA-256" in copied
    assert runner.invoke(app, ["stories", "--as", "csv", *of_tenant]).exit_code == 2
    created = runner.invoke(app, ["links", "create", "story", story, "--days", "3", *of_tenant])
    assert "/s/share_" in created.stdout
    assert created.stderr == "", "no private channel"
    listed = json.loads(runner.invoke(app, ["links", "list", "--json", *of_tenant]).stdout)
    assert [(link["kind"], link["subject"]) for link in listed["items"]] == [("story", story)]
    link_id = listed["items"][0]["link_id"]
    assert runner.invoke(app, ["links", "revoke", link_id, *of_tenant]).exit_code == 0
    assert "There are no public links" in runner.invoke(app, ["links", "list", *of_tenant]).stdout
