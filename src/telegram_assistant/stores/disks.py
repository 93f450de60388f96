"""The disks that the program writes to: how full they are, and whether downloads have room on them."""

import asyncio
import errno
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from telegram_assistant.domain.operations.diagnosis import Finding, bad
from telegram_assistant.domain.operations.fullness import Fullness, fullness_finding, size_in_words
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import FilesSettings, Settings

SUBJECT = "disk"
BEHIND = {errno.ENOENT, errno.ENOTDIR, errno.EACCES}
"""Errors after which the parent of a folder may tell: any other one is the disk's own."""
FREE_DISK = Reason(
    "free_disk",
    "free space or enlarge the disk; `tga media status` shows the use by tenant, `tga tenants quota` "
    "limits a tenant's files",
)


class DiskUse(StrEnum):
    """The use of a folder."""

    FILES = "files"
    SPOOL = "spool"
    VECTORS = "vectors"
    TEMPORARY = "temporary"
    POSTGRES = "postgres"


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """A folder on this machine that the program, or PostgreSQL for it, writes to."""

    use: DiskUse
    path: Path


def spool_folder(settings: FilesSettings) -> Path:
    """The folder of unfinished downloads."""
    return settings.spool or Path(tempfile.gettempdir()) / f"tga-spool-{os.getuid()}"


def folders_of(settings: Settings) -> tuple[WatchedFolder, ...]:
    """The folders of an installation. Media in S3 and vectors in Qdrant are on no disk of ours."""
    files, vectors = settings.files, settings.vectors
    folders = {
        DiskUse.FILES: None if files.endpoint else files.folder,
        DiskUse.SPOOL: spool_folder(files) if files.endpoint or files.folder else None,
        DiskUse.VECTORS: None if vectors.url else vectors.folder,
        DiskUse.TEMPORARY: Path(tempfile.gettempdir()),
        DiskUse.POSTGRES: settings.database.data_folder,
    }
    return tuple(WatchedFolder(use, path) for use, path in folders.items() if path is not None)


def measure_folder(path: Path) -> Fullness | None:
    """How full the disk of a folder is, as `df` says it; of a folder that does not exist yet, that of its
    nearest parent.

    Returns None if the disk does not tell. Blocks while a network file system does not answer, so call it in
    a thread.
    """
    try:
        disk = next(
            (
                statistics
                for folder in (path, *path.parents)
                if (statistics := _statistics_of(folder)) is not None
            ),
            None,
        )
    except OSError:
        return None
    if disk is None:
        return None
    used_blocks = disk.f_blocks - disk.f_bfree
    # Space that is reserved for root is nobody's: neither free nor in use.
    return Fullness(used_blocks * disk.f_frsize, (used_blocks + disk.f_bavail) * disk.f_frsize)


def _statistics_of(folder: Path) -> os.statvfs_result | None:
    """Returns None of a folder that does not exist yet, or that is hidden in one of another user."""
    try:
        return os.statvfs(folder)
    except OSError as error:
        if error.errno in BEHIND:
            return None
        raise


async def measure_folders(folders: Sequence[WatchedFolder]) -> dict[DiskUse, Fullness]:
    """How full the disks of these folders are, those that tell."""
    measured_folders = await asyncio.to_thread(
        lambda: [(folder.use, measure_folder(folder.path)) for folder in folders]
    )
    return {use: fullness for use, fullness in measured_folders if fullness is not None}


async def reason_to_pause_downloads(
    folders: Sequence[WatchedFolder], size_bytes: int = 0, *, min_free_percent: int
) -> Reason | None:
    """Why a file of so many bytes may not be downloaded now: a disk would have too little room for what is
    more important.

    For a moment a file is in all of these folders, which may be on one disk.
    """
    measured_folders, needed_bytes = await measure_folders(folders), size_bytes * len(folders)
    for folder in folders:
        fullness = measured_folders.get(folder.use)
        if (
            fullness is not None
            and fullness.free_bytes - needed_bytes < fullness.size_bytes * min_free_percent / 100
        ):
            return _lack_of_room(folder, fullness, size_bytes, min_free_percent)
    return None


def _lack_of_room(
    folder: WatchedFolder, fullness: Fullness, size_bytes: int, min_free_percent: int
) -> Reason:
    free, size_text = size_in_words(fullness.free_bytes), size_in_words(fullness.size_bytes)
    if size_bytes:
        return Reason(
            "file_has_no_room",
            "the disk of {folder} has no space for this file: {free} of {size} are free, and {percent} % "
            "must stay free",
            folder=str(folder.path),
            free=free,
            size=size_text,
            percent=min_free_percent,
        )
    return Reason(
        "downloads_paused",
        "file downloads are paused: the disk of {folder} has {free} of {size} free, and {percent} % must "
        "stay free; posts are stored, and downloads continue when there is space",
        folder=str(folder.path),
        free=free,
        size=size_text,
        percent=min_free_percent,
    )


def download_folders(settings: Settings) -> tuple[WatchedFolder, ...]:
    """The folders that downloads fill."""
    return tuple(folder for folder in folders_of(settings) if folder.use in {DiskUse.FILES, DiskUse.SPOOL})


async def examine(settings: Settings) -> list[Finding]:
    """One finding for each folder, and one if downloads are paused."""
    folders = folders_of(settings)
    measured_folders = await measure_folders(folders)
    findings = [
        _finding(folder, measured_folders[folder.use]) for folder in folders if folder.use in measured_folders
    ]
    if (
        paused_reason := await reason_to_pause_downloads(
            download_folders(settings), min_free_percent=settings.files.min_free_percent
        )
    ) is not None:
        findings.append(bad("downloads", paused_reason, remedy=FREE_DISK))
    return findings


def _finding(folder: WatchedFolder, fullness: Fullness) -> Finding:
    reason = Reason(
        "disk_used",
        "{folder}: {free} of {size} free ({share:.0%} used)",
        folder=str(folder.path),
        free=size_in_words(fullness.free_bytes),
        size=size_in_words(fullness.size_bytes),
        share=fullness.share,
    )
    return fullness_finding(f"{SUBJECT} {folder.use}", reason, fullness, remedy=FREE_DISK)
