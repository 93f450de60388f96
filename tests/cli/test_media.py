"""`tga media`."""

import asyncio
import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from telegram_assistant.assembly import App, assemble
from telegram_assistant.cli import app
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.settings import read_settings
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.streams.stage import bind
from testkit.factories import fresh_number, make_channel, make_page, make_post, make_subscription
from testkit.shortages import MB, small_disk
from tests.streams.conftest import parsed_event


def photo(size_bytes: int) -> dict[str, Any]:
    return {"media": {"kind": "photo", "id": fresh_number(), "size_bytes": size_bytes, "dc_id": 2}}


async def publish(assembled: App, tenant: str) -> ChannelId:
    """A photo that is wanted and had trouble, and one that is too large."""
    channel_id = await make_channel(assembled.system)
    tenant_id = (await assembled.system.tenants.ensure(tenant)).tenant_id
    await assembled.system.channels.subscribe(tenant_id, make_subscription(channel_id))
    posts = [
        make_post(channel_id=channel_id, message_id=number, facts=photo(size))
        for number, size in ((1, 1_500_000), (2, 10**9))
    ]
    await assembled.system.landing.land(make_page(*posts), Claim(channel_id, 0))
    await post_persistence(
        [parsed_event(number, channel_id=channel_id) for number in (1, 2)],
        **bind(post_persistence, assembled.collaborators),
    )
    return channel_id


def test_status_says_what_is_kept_by_whom_and_what_went_wrong(
    runner: CliRunner, database: dict[str, str], tmp_path: Path
) -> None:
    environ, tenant = (
        {**database, "S3_ENDPOINT": "", "FILES_DIR": str(tmp_path / "files")},
        f"media {fresh_number()}",
    )

    async def prepare() -> None:
        async with assemble(read_settings(environ)) as assembled:
            await publish(assembled, tenant)

    asyncio.run(prepare())
    result = runner.invoke(
        app,
        ["media", "status", "--limit", "1000"],
        env={"S3_ENDPOINT": "", "FILES_DIR": str(tmp_path / "files")},
    )
    assert result.exit_code == 0
    output = " ".join(result.stdout.split())
    assert f"{tenant} 1.5 MB" in output
    assert "larger than this server stores" in output
    assert "wanted" in output


def test_status_says_that_downloads_wait_for_room(runner: CliRunner, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes=8) as disk:
        disk.fill(leave_bytes=MB // 2)
        environ = {"S3_ENDPOINT": "", "FILES_DIR": str(disk.path / "files"), "NO_COLOR": "1"}
        output = runner.invoke(app, ["media", "status"], env=environ).stdout
        data = json.loads(runner.invoke(app, ["media", "status", "--json"], env=environ).stdout)
    assert "10 % must stay free" in " ".join(output.split())
    assert "10 % must stay free" in data["downloads_paused"]


def test_without_a_place_for_files_the_sweep_says_what_to_set(runner: CliRunner) -> None:
    result = runner.invoke(app, ["media", "sweep"], env={"S3_ENDPOINT": "", "FILES_DIR": ""})
    assert result.exit_code == 1
    assert "set S3_ENDPOINT or FILES_DIR" in result.stderr


def test_a_sweep_says_what_it_did(runner: CliRunner, tmp_path: Path) -> None:
    result = runner.invoke(
        app, ["media", "sweep", "--force"], env={"S3_ENDPOINT": "", "FILES_DIR": str(tmp_path / "files")}
    )
    assert result.exit_code == 0
    assert "0 files checked" in result.stdout
