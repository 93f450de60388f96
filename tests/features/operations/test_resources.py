"""Memory and disks, as processes measure them and the operator sees them."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.domain.operations.fullness import Fullness
from telegram_assistant.features.operations.heartbeats import collect_metrics
from telegram_assistant.features.operations.resources import measure_resources
from telegram_assistant.settings import Settings
from telegram_assistant.stores.disks import DiskUse, WatchedFolder, folders_of, measure_folder
from testkit.shortages import MB, SmallDisk, small_disk

NOBODY = 65534


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", megabytes=8) as mounted:
        yield mounted


@pytest.mark.parametrize(
    ("used", "severity"),
    [
        (0, Severity.OK),
        (69, Severity.OK),
        (70, Severity.WARNING),
        (89, Severity.WARNING),
        (90, Severity.BAD),
        (120, Severity.BAD),
    ],
)
def test_70_percent_are_yellow_and_90_are_red(used: int, severity: Severity) -> None:
    assert Fullness(used, 100).severity is severity


def test_nothing_is_never_full() -> None:
    assert (Fullness(0, 0).share, Fullness(5, 0).severity, Fullness(7, 5).free_bytes) == (0.0, Severity.OK, 0)


def test_a_folder_that_does_not_exist_yet_is_on_the_disk_of_its_parent(disk: SmallDisk) -> None:
    disk.fill(leave_bytes=2 * MB)
    assert measure_folder(disk.path / "files" / "of" / "posts") == Fullness(6 * MB, 8 * MB)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may look as another user does")
def test_a_folder_that_another_user_hides_is_on_the_disk_of_its_parent() -> None:
    with tempfile.TemporaryDirectory() as hidden:
        os.seteuid(NOBODY)
        try:
            seen = measure_folder(Path(hidden) / "data")
        finally:
            os.seteuid(0)
        assert seen is not None
        assert seen.size_bytes > 0


async def test_what_is_measured_is_a_metric_and_goes_with_every_heartbeat(
    installation: Settings, disk: SmallDisk
) -> None:
    disk.fill(leave_bytes=2 * MB)
    async with Redis.from_url(installation.redis.url.get_secret_value()) as redis:
        await measure_resources(redis, [WatchedFolder(DiskUse.FILES, disk.path)])
    reported = collect_metrics()
    assert (
        reported.largest("disk_size_bytes", disk="files"),
        reported.largest("disk_free_bytes", disk="files"),
    ) == (8 * MB, 2 * MB)
    assert (reported.largest("redis_memory_bytes", kind="used") or 0) > 0


async def test_a_redis_that_is_away_has_no_memory_rather_than_an_old_one(installation: Settings) -> None:
    async with Redis.from_url(installation.redis.url.get_secret_value()) as redis:
        await measure_resources(redis, [])
    async with Redis.from_url("redis://127.0.0.1:1/0") as nowhere:
        await measure_resources(nowhere, [])
    assert collect_metrics().largest("redis_memory_bytes") is None


def test_files_in_s3_and_vectors_in_qdrant_are_on_no_disk_of_ours(installation: Settings) -> None:
    files = installation.files.model_copy(
        update={"endpoint": "http://127.0.0.1:1", "bucket": "media", "folder": Path("/data/files")}
    )
    vectors = installation.vectors.model_copy(
        update={"url": "http://127.0.0.1:2", "folder": Path("/data/vectors")}
    )
    away = installation.model_copy(update={"files": files, "vectors": vectors})
    assert {folder.use for folder in folders_of(away)} == {DiskUse.SPOOL, DiskUse.TEMPORARY}
