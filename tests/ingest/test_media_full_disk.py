"""A disk for files that runs full: downloads stop first, posts are stored,
and downloads go on by themselves.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.errors import NoRoom
from telegram_assistant.ingest.media import MediaFetcher
from telegram_assistant.ingest.spool import Spool
from telegram_assistant.settings import FilesSettings, Settings
from telegram_assistant.stores import disks
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.metrics import REGISTRY
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.post import FileKind
from testkit.shortages import MB, SmallDisk, small_disk
from tests.conftest import Admin
from tests.ingest.library import Library, count_spooled_bytes, in_folder, open_library


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", megabytes=8) as mounted:
        yield mounted


@pytest.fixture
async def library(
    installation: Settings, sim: Simulator, admin: Admin, disk: SmallDisk
) -> AsyncIterator[Library]:
    async with open_library(installation, sim, admin, in_folder(disk.path)) as opened:
        yield opened


async def test_downloads_stop_at_a_tenth_free_posts_are_stored_and_downloads_go_on_when_there_is_room(
    library: Library, disk: SmallDisk
) -> None:
    channel_id = await library.channel()
    for _ in range(3):
        library.control.post(channel_id, media=FileKind.JPEG)
    await library.read(channel_id)
    disk.fill(leave_bytes=MB // 2)
    with pytest.raises(NoRoom, match="10 % must stay free"):
        await library.fetcher.step()
    library.control.post(channel_id, "Пока диск полон.", media=FileKind.JPEG)
    await library.read(channel_id)
    assert [row["state"] for row in await library.rows(channel_id)] == ["wanted"] * 4
    assert (
        await library.office.admin.fetchval(
            "SELECT max(attempts) FROM media_jobs WHERE channel_id = $1", channel_id
        )
        == 0
    )
    assert library.sim.counters.file_bytes == 0
    disk.empty()
    await library.fetcher.step()
    rows = await library.rows(channel_id)
    assert [row["sha256"].hex() for row in rows] == [
        library.truth(channel_id, row["message_id"]) for row in rows
    ]


async def test_a_batch_stops_in_the_middle_when_the_disk_runs_full(library: Library, disk: SmallDisk) -> None:
    channel_id = await library.channel()
    for _ in range(10):
        library.control.post(channel_id, media=FileKind.MP4, size=MB)
    await library.read(channel_id)
    disk.fill(leave_bytes=4 * MB)
    await library.fetcher.step()
    stored = [row for row in await library.rows(channel_id) if row["state"] == "stored"]
    assert 1 <= len(stored) <= 3
    assert disk.free_bytes() >= 0.8 * MB
    library.control.post(channel_id, media=FileKind.JPEG, size=70_000)
    await library.read(channel_id)
    await library.fetcher.step()
    assert (await library.rows(channel_id))[-1][
        "state"
    ] == "stored"  # smaller ones do not wait for larger ones


async def always_room(_size_bytes: int) -> None:
    return None


async def test_a_disk_that_is_full_to_the_last_byte_loses_nothing(library: Library, disk: SmallDisk) -> None:
    """Somebody else fills it faster than we look."""
    health, stopping = Health(probes={}), asyncio.Event()
    fetcher = MediaFetcher(
        library.office.line,
        account_id=library.office.mine.account_id,
        media=library.office.app.system.media,
        files=library.files,
        spool=Spool(disk.path / "spool"),
        why_paused=always_room,
        health=health,
        stopping=stopping,
    )
    channel_id = await library.channel()
    library.control.post(channel_id, media=FileKind.MP4, size=2 * MB)
    await library.read(channel_id)
    disk.fill(leave_bytes=MB)
    running = asyncio.create_task(fetcher.run())
    await until_reported(health, "failing")
    assert "No space left on device" in str(health.parts()["downloads"]["detail"])
    assert REGISTRY.get_sample_value("media_paused") == 1.0
    disk.empty()
    await until_reported(health, "ok")
    stopping.set()
    await running
    assert REGISTRY.get_sample_value("media_paused") == 0.0
    assert [row["state"] for row in await library.rows(channel_id)] == ["stored"]
    assert count_spooled_bytes(disk.path) == 0


async def until_reported(health: Health, status: str) -> None:
    async with asyncio.timeout(60):
        while health.parts().get("downloads", {}).get("status") != status:
            await asyncio.sleep(0.02)


@pytest.mark.turns("MEDIA_MIN_FREE_PERCENT")
@pytest.mark.parametrize(("percent", "is_paused"), [(0, False), (10, False), (50, True)])
async def test_the_operator_decides_how_much_stays_free(
    installation: Settings, disk: SmallDisk, percent: int, *, is_paused: bool
) -> None:
    settings = installation.model_copy(
        update={"files": FilesSettings(folder=disk.path, min_free_percent=percent)}
    )
    disk.fill(leave_bytes=2 * MB)
    why = await disks.reason_to_pause_downloads(
        disks.download_folders(settings), min_free_percent=settings.files.min_free_percent
    )
    assert (why is not None) == is_paused


@pytest.mark.parametrize(("used", "verdict"), [(4, Severity.OK), (6, Severity.WARNING), (7.5, Severity.BAD)])
async def test_a_disk_is_yellow_at_70_and_red_at_90_percent(
    installation: Settings, disk: SmallDisk, used: float, verdict: Severity
) -> None:
    settings = installation.model_copy(update={"files": in_folder(disk.path)})
    disk.fill(leave_bytes=int((8 - used) * MB))
    findings = {finding.subject: finding for finding in await disks.examine(settings)}
    assert {findings[name].verdict for name in ("disk files", "disk spool")} == {verdict}
    assert ("downloads" in findings) == (verdict is Severity.BAD)


@pytest.mark.turns("DATABASE_DATA_DIR")
async def test_the_disk_of_postgresql_is_watched_where_the_operator_says_it_is(
    installation: Settings, disk: SmallDisk
) -> None:
    database = installation.database.model_copy(update={"data_folder": disk.path / "postgres" / "data"})
    disk.fill(leave_bytes=MB // 2)
    findings = {
        finding.subject: finding
        for finding in await disks.examine(installation.model_copy(update={"database": database}))
    }
    assert findings["disk postgres"].verdict is Severity.BAD
    assert "disk postgres" not in {finding.subject for finding in await disks.examine(installation)}


FULL = """
CREATE FUNCTION refuse_posts_of_{channel}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER refuse_posts_of_{channel} BEFORE INSERT ON posts FOR EACH ROW
    WHEN (NEW.channel_id = {channel}) EXECUTE FUNCTION refuse_posts_of_{channel}();
"""


async def test_a_full_postgresql_is_no_failure_of_the_channel_and_the_channel_is_read_when_there_is_room(
    library: Library,
) -> None:
    channel_id = await library.channel()
    library.control.post(channel_id, "Пока база полна.")
    admin = library.office.admin
    await admin.execute(FULL.format(channel=channel_id))
    with pytest.raises(NoRoom, match="the disk of PostgreSQL is full"):
        await library.office.poll(channel_id)
    schedule = await library.office.load_schedule(channel_id)
    assert (schedule["fail_count"], schedule["parked_until"], schedule["claimed"]) == (0, None, False)
    await admin.execute(f"DROP FUNCTION refuse_posts_of_{channel_id} CASCADE")
    await library.office.poll(channel_id)
    assert "Пока база полна." in (await library.office.load_texts(channel_id)).values()
