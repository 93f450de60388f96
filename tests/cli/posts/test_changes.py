"""`tga changes`."""

from datetime import UTC, datetime, timedelta

import asyncpg
from typer.testing import CliRunner

from telegram_assistant.assembly import App
from telegram_assistant.cli import app
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.posts.landing import Claim
from testkit.factories import follow_long_ago, make_deleted, make_page, make_post
from tests.cli.channels.test_channels import make_known_channel, make_tenant_name, run_in_app


def test_edits_and_deletions_are_shown_with_what_exactly_changed(
    runner: CliRunner, database: dict[str, str]
) -> None:
    name, tenant = make_known_channel(database), make_tenant_name(database)
    now = datetime.now(UTC)

    async def live(assembled: App) -> None:
        channel_id, known = (
            ChannelId(int(name.removeprefix("name"))),
            await assembled.system.tenants.ensure(tenant),
        )
        admin = await asyncpg.connect(database["DATABASE_ADMIN_URL"])
        await follow_long_ago(assembled.system, admin, known.tenant_id, channel_id)
        await admin.close()
        for text, at in (
            ("Погибли 12 человек", now - timedelta(hours=2)),
            ("Погибли 15 человек", now - timedelta(hours=1)),
        ):
            post = make_post(
                channel_id=channel_id, text=text, posted_at=now - timedelta(hours=2), edited_at=at
            )
            await assembled.system.landing.land(make_page(post, read_at=at), Claim(channel_id, 0))
        await make_deleted(assembled.system, channel_id, at=now)

    run_in_app(database, live)
    output = runner.invoke(app, ["changes", "--tenant", tenant]).stdout
    assert "Погибли [-12-]{+15+} человек" in output
    assert "[-12-]{+15+}" in runner.invoke(app, ["changes", "--tenant", tenant], env={"NO_COLOR": "1"}).stdout
    assert output.index("deleted") < output.index("edited")
    assert f"https://t.me/{name}/1" in output
    only = runner.invoke(
        app, ["changes", "--tenant", tenant, "--only", "edited", "--channel", f"@{name}"]
    ).stdout
    assert "deleted" not in only
    caught = runner.invoke(app, ["changes", "--tenant", tenant, "--caught"]).stdout
    assert "deleted" in caught
    copy = runner.invoke(app, ["changes", "--tenant", tenant, "--caught", "--as", "markdown"]).stdout
    assert copy.startswith("# Caught changing: ")
    assert "SHA-256" in copy
    assert runner.invoke(app, ["changes", "--as", "markdown"]).exit_code == 2
    assert (
        "No edits or deletions" in runner.invoke(app, ["changes", "--tenant", tenant, "--days", "0"]).stdout
    )
