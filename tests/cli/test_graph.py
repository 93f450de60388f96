"""`tga graph` and `tga rebuild graph`, without Neo4j and with it."""

import json
from datetime import UTC, datetime, timedelta

from typer.testing import CliRunner

from telegram_assistant.assembly import App
from telegram_assistant.cli import app
from telegram_assistant.domain.ids import ChannelId
from testkit.factories import make_channel, make_subscription
from testkit.graphs import land, make_linked
from tests.cli.channels.test_channels import run_in_app

NOW = datetime.now(UTC)
URL = "https://page.example/story"


async def tell(assembled: App) -> list[ChannelId]:
    """Three channels: the first is forwarded by the second, a stranger by the third."""
    tenant = await assembled.system.tenants.ensure("default")
    first, second, third = channels = [
        await make_channel(assembled.system, username=f"name{number}") for number in range(3)
    ]
    for channel_id in channels:
        await assembled.system.channels.subscribe(tenant.tenant_id, make_subscription(channel_id))
    await land(
        assembled.system,
        make_linked(first, 1, url=URL, posted_at=NOW - timedelta(hours=1)),
        make_linked(second, 1, source=(first, 1), url=URL, posted_at=NOW),
        make_linked(third, 1, source=(77, 5), posted_at=NOW),
    )
    return channels


def test_questions_are_answered_with_the_graph_and_forwards_without_it(
    runner: CliRunner, migrated_database: dict[str, str], environ: dict[str, str]
) -> None:
    off = {**migrated_database, "NEO4J_URI": ""}
    on = {**migrated_database, "NEO4J_URI": environ["NEO4J_URI"]}
    first, second, _third = run_in_app(off, tell)

    result = runner.invoke(app, ["graph", "forwards"], env=off)
    assert f"Channel {second}" in result.stdout
    assert "channel 77 (not followed)" in result.stdout
    assert "Answered by PostgreSQL: similar channels and links to pages need the graph" in result.stderr
    assert "is switched off" in runner.invoke(app, ["graph", "links", URL], env=off).stderr
    assert "the graph is off: set NEO4J_URI" in runner.invoke(app, ["rebuild", "graph"], env=off).stderr

    assert (
        runner.invoke(app, ["rebuild", "graph"], env=on).stdout
        == "3 posts are in the new graph, and queries use it.\n"
    )
    for question in (["forwards"], ["spread", "t.me/name0/1"], ["first", f"https://t.me/c/{second}/1"]):
        by_graph, by_postgres = [
            json.loads(runner.invoke(app, ["graph", *question, "--json"], env=env).stdout)
            for env in (on, off)
        ]
        assert (by_graph.pop("answered_by"), by_postgres.pop("answered_by")) == ("graph", "postgres")
        assert (by_graph.pop("notice"), "switched off" in by_postgres.pop("notice")) == ("", True)
        assert by_graph == by_postgres

    spread = runner.invoke(app, ["graph", "spread", "@name0/1"], env=on).stdout.splitlines()
    assert [("written" in line, "forwarded" in line) for line in spread] == [(True, False), (False, True)]
    assert "https://t.me/name1/1" in spread[1]
    links = runner.invoke(app, ["graph", "links", URL], env=on).stdout.splitlines()
    assert [line.split()[-1] for line in links] == ["https://t.me/name0/1", "https://t.me/name1/1"]
    assert "https://t.me/name0/1" in runner.invoke(app, ["graph", "first", URL], env=on).stdout
    assert URL in runner.invoke(app, ["graph", "similar", str(first)], env=on).stdout
    refused = runner.invoke(app, ["graph", "spread", "nonsense"], env=on)
    assert refused.exit_code == 1
    assert "is not a post" in refused.stderr


def test_a_graph_that_is_away_is_told_in_words(runner: CliRunner, database: dict[str, str]) -> None:
    run_in_app(database, lambda assembled: assembled.system.tenants.ensure("default"))
    result = runner.invoke(app, ["graph", "links", URL], env={"NEO4J_URI": "bolt://127.0.0.1:1"})
    assert result.exit_code == 1
    assert "Neo4j does not answer" in result.stderr
