"""The sweep: orphans go, what is missing comes back, and a wrong bucket is not emptied."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from telegram_assistant.domain.media.showing import ThumbnailKey, ThumbnailSize
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.features.media.upkeep import SweepResult, sweep
from telegram_assistant.ingest.spool import Spool
from telegram_assistant.settings import Settings
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.post import FileKind
from tests.conftest import Admin
from tests.ingest.conftest import (
    account,
    account_id,
    control,
    fresh_config,
    rsa_key,
    sim,
    skipping,
    telethons_config,
)
from tests.ingest.library import Library, in_folder, open_library

__all__ = [
    "account",
    "account_id",
    "control",
    "fresh_config",
    "rsa_key",
    "sim",
    "skipping",
    "telethons_config",
]


async def sweep_library(library: Library, *, force: bool = False) -> SweepResult:
    return await sweep(
        files=library.files,
        upkeep=library.office.app.system.media_upkeep,
        now=datetime.now(UTC) + timedelta(hours=2),
        force=force,
    )


async def test_the_store_is_put_right(
    installation: Settings, sim: Simulator, admin: Admin, tmp_path: Path
) -> None:
    await admin.execute(
        "DELETE FROM media_objects; DELETE FROM media_sources; DELETE FROM post_media; DELETE FROM media_jobs"
    )
    async with open_library(installation, sim, admin, in_folder(tmp_path)) as library:
        channel_id = await library.channel()
        for number in range(3):
            library.control.post(channel_id, media=FileKind.JPEG, size=60_000 + number)
        await library.read(channel_id)
        await library.fetcher.step()
        used, unused, missing = [row["sha256"] for row in await library.rows(channel_id)]
        await admin.execute("UPDATE media_objects SET reserved_at = now() - interval '2 hours'")
        await admin.execute("DELETE FROM post_media WHERE sha256 = $1", unused)
        await library.files.delete([missing])
        (tmp_path / "orphan").write_bytes(b"nobody knows me")
        await library.files.put(bytes(32), tmp_path / "orphan")
        thumbnails = {
            sha256: [ThumbnailKey(sha256, size) for size in ThumbnailSize]
            for sha256 in (used, unused, missing, bytes(32), b"\1" * 32)
        }
        for key in (key for keys in thumbnails.values() for key in keys):
            await library.files.put_thumbnail(key, b"small")

        assert await sweep_library(library) == SweepResult(
            files=2, orphans=1, unused=1, missing=1, thumbnails=6
        )
        assert {
            thumbnail.sha256 for byte in range(256) async for thumbnail in library.files.list_thumbnails(byte)
        } == {
            used,
            missing,
        }
        assert [
            await library.files.load_size(sha256) is not None for sha256 in (used, unused, missing, bytes(32))
        ] == [True, False, False, False]
        assert [row["state"] for row in await library.rows(channel_id)] == ["stored", "wanted"]
        await library.fetcher.step()
        assert [row["state"] for row in await library.rows(channel_id)] == ["stored", "stored"]
        assert await library.files.load_size(missing) is not None
        assert await sweep_library(library) == SweepResult(files=2, orphans=0, unused=0, missing=0)


async def test_what_is_young_is_left_alone(
    installation: Settings, sim: Simulator, admin: Admin, tmp_path: Path
) -> None:
    async with open_library(installation, sim, admin, in_folder(tmp_path)) as library:
        (tmp_path / "new").write_bytes(b"on its way")
        await library.files.put(bytes(32), tmp_path / "new")
        await sweep(
            files=library.files,
            upkeep=library.office.app.system.media_upkeep,
            now=datetime.now(UTC),
            force=True,
        )
        assert await library.files.load_size(bytes(32)) is not None


async def test_a_store_that_knows_nothing_of_us_is_not_touched(
    installation: Settings, sim: Simulator, admin: Admin, tmp_path: Path
) -> None:
    async with open_library(installation, sim, admin, in_folder(tmp_path)) as library:
        (tmp_path / "theirs").write_bytes(b"somebody else's")
        for _ in range(30):
            await library.files.put(os.urandom(32), tmp_path / "theirs")
        theirs = ThumbnailKey(os.urandom(32), ThumbnailSize.SMALL)
        await library.files.put_thumbnail(theirs, b"small")
        with pytest.raises(Rejected, match="--force"):
            await sweep_library(library)
        assert sum([1 for byte in range(256) async for _ in library.files.list_files(byte)]) == 30
        assert await library.files.thumbnail(theirs) == b"small"
        assert (await sweep_library(library, force=True)).orphans == 30


async def test_bytes_that_are_being_removed_are_not_referred_to(
    installation: Settings, sim: Simulator, admin: Admin, tmp_path: Path
) -> None:
    async with open_library(installation, sim, admin, in_folder(tmp_path)) as library:
        channel_id = await library.channel()
        post = library.control.post(channel_id, media=FileKind.JPEG)
        await library.read(channel_id)
        await library.fetcher.step()
        await admin.execute(
            "UPDATE media_objects SET removing_at = now() WHERE sha256 = $1",
            (await library.rows(channel_id))[0]["sha256"],
        )
        again = await library.channel()
        library.control.post(again, same_file=(channel_id, post.message_id))
        await library.read(again)
        assert [row["state"] for row in await library.rows(again)] == ["wanted"]
        with pytest.raises(Busy, match="being removed"):
            await library.fetcher.step()


def test_a_spool_forgets_what_nobody_comes_back_for(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for number in (1, 2):
        with spool.open_file(number, is_photo=True) as file:
            file.append(b"half")
    os.utime(tmp_path / "p1.part", (0, 0))
    assert spool.tidy() == 1
    assert [spool.size_of(number, is_photo=True) for number in (1, 2)] == [0, 4]


def test_a_spooled_file_belongs_to_one_at_a_time(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    with (
        spool.open_file(1, is_photo=False),
        pytest.raises(Busy, match="another process"),
        spool.open_file(1, is_photo=False),
    ):
        pass
