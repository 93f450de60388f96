"""`tga tags` and `tga retag`."""

import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from typer.testing import CliRunner

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from telegram_assistant.stores.postgres.understanding.tenant_tags import TagChoice
from tests.cli.understanding.test_ai import make_named_tenant, tell
from tests.conftest import Admin
from tests.stages.tagged import follow, land, rows, tag


async def test_a_tenant_hides_renames_and_shows_tags(
    runner: CliRunner, system: SystemStores, pool: Pool
) -> None:
    name, tenant_id = await make_named_tenant(system)
    tags = tenant_stores(pool, tenant_id).tags
    assert "погода is hidden" in (await tell(runner, ["tags", "hide", "Погода", "--tenant", name])).output
    assert (
        "is shown as метео сводка"
        in (await tell(runner, ["tags", "rename", "спорт", "Метео_Сводка", "--tenant", name])).output
    )
    assert await tags.choices() == (
        TagChoice("ru", "погода", hidden=True),
        TagChoice("ru", "спорт", shown_as="метео сводка"),
    )
    listed = (await tell(runner, ["tags", "list", "--tenant", name, "--language", "ru"])).output
    assert "hidden" in listed
    assert "метео сводка" in listed
    assert (
        "is shown under its own name"
        in (await tell(runner, ["tags", "show", "погода", "--tenant", name])).output
    )
    assert await tags.choices() == (TagChoice("ru", "спорт", shown_as="метео сводка"),)
    assert "there is no tag" in (await tell(runner, ["tags", "hide", "взлом", "--tenant", name])).output
    assert (
        "is not a valid name for a tag"
        in (await tell(runner, ["tags", "rename", "спорт", "https://x", "--tenant", name])).output
    )
    assert "there is no tenant" in (await tell(runner, ["tags", "list", "--tenant", "nobody"])).output


async def test_the_state_of_every_tag_is_listed_with_those_that_channels_proposed(
    runner: CliRunner, system: SystemStores
) -> None:
    name, _ = await make_named_tenant(system)
    command = ["tags", "list", "--tenant", name, "--language", "ru", "--proposed"]
    items = json.loads((await tell(runner, [*command, "--json"])).stdout)["items"]
    assert {"state", "channels"} <= items[0].keys()
    output = (await tell(runner, command)).output
    assert all(item["tag"] in output and item["state"] in output for item in items)


async def history(app: App, policy: AiPolicy) -> tuple[ChannelId, TenantId, list[PostId]]:
    """Posts of three days ago that have passed the pipeline without tags."""
    channel_id, (tenant_id,) = await follow(app, policy)
    old = datetime.now(UTC) - timedelta(days=3)
    posts = await land(app, channel_id, *[f"Цены выросли на {uuid4()}" for _ in range(5)], posted_at=old)
    await app.system.outbox.mark_finished([(post, 1) for post in posts])
    return channel_id, tenant_id, posts


async def waiting(admin: Admin, table: str, channel_id: ChannelId) -> int:
    return int(await admin.fetchval(f"SELECT count(*) FROM {table} WHERE channel_id = $1", channel_id))


async def test_history_goes_through_the_bulk_lane_again_once_and_only_what_is_outdated(
    runner: CliRunner, database: dict[str, str], admin: Admin
) -> None:
    async with assemble(read_settings(database)) as app:
        channel_id, _, posts = await history(app, AiPolicy.LOCAL)
        command = ["retag", "--channel", str(channel_id)]
        assert "5 posts go through the pipeline again" in (await tell(runner, command)).output
        assert "0 posts go through the pipeline again" in (await tell(runner, command)).output
        assert (
            await admin.fetchval(
                "SELECT count(*) FROM outbox WHERE channel_id = $1 AND lane = 'bulk'", channel_id
            )
            == 5
        )
        await tag(app, posts)
        await app.system.outbox.mark_finished([(post, 1) for post in posts])
        assert "have tags of the current version" in (await tell(runner, command)).output
        await admin.execute(
            "UPDATE post_enrichment SET model = 'words/0' WHERE channel_id = $1 AND message_id <= 2",
            channel_id,
        )
        assert "2 posts go through the pipeline again" in (await tell(runner, command)).output
        assert len(await rows(app, posts)) == 5
        assert "have tags of the current version" in (await tell(runner, [*command, "--days", "1"])).output


async def test_nothing_is_paid_for_without_a_yes_and_the_price_is_shown_before(
    runner: CliRunner, database: dict[str, str], admin: Admin
) -> None:
    async with assemble(read_settings(database)) as app:
        channel_id, _, _ = await history(app, AiPolicy.PROVIDER)
    command = ["retag", "--channel", str(channel_id)]
    result = await tell(runner, command)
    assert "No paid calls are made" in result.output
    assert "at most" in result.output
    assert await waiting(admin, "provider_wanted", channel_id) == 0
    assert "5 posts wait for a provider" in (await tell(runner, [*command, "--yes"])).output
    assert await waiting(admin, "provider_wanted", channel_id) == 5


async def test_channels_that_nobody_wants_understood_are_left_out(
    runner: CliRunner, database: dict[str, str]
) -> None:
    async with assemble(read_settings(database)) as app:
        channel_id, _, _ = await history(app, AiPolicy.OFF)
    assert (
        "have tags of the current version"
        in (await tell(runner, ["retag", "--channel", str(channel_id), "--yes"])).output
    )
