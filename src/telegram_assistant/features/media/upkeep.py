"""Upkeep of the media store: deletes orphans, downloads missing files again,
and reconsiders skipped files.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from telegram_assistant.domain.media.files import CLOSED_TERMS, MediaRules, decide
from telegram_assistant.domain.media.showing import ThumbnailKey
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.files import Files
from telegram_assistant.stores.postgres.media.files import FoundFile, MediaQueue
from telegram_assistant.stores.postgres.media.upkeep import SETTLED_HOURS, MediaSurvey, MediaUpkeep
from telegram_assistant.telemetry.metrics import MEDIA_SWEPT

FEW, SHARE = 20, 0.2
"""If more than FEW files and more than SHARE of all are wrong, the settings are wrong, not the store."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The number of files that were checked, deleted, and found missing,
    and of thumbnails that were deleted.
    """

    files: int
    orphans: int
    unused: int
    missing: int
    thumbnails: int = 0


@dataclass(slots=True)
class _Differences:
    """The differences between the store and the rows."""

    seen: int = 0
    orphans: list[bytes] = field(default_factory=list)
    missing: list[bytes] = field(default_factory=list)
    thumbnails: list[ThumbnailKey] = field(default_factory=list)
    """Those of files that are gone."""


async def sweep(*, files: Files, upkeep: MediaUpkeep, now: datetime, force: bool = False) -> SweepResult:
    """Raises Rejected if very many files are missing or unknown: then the bucket,
    the folder or the database is the wrong one.
    """
    unused_count = await _remove_unused(files, upkeep)
    differences = await _compare(files, upkeep, now)
    total = differences.seen + len(differences.missing)
    if _is_suspicious(len(differences.orphans), total) and not force:
        raise Rejected(
            Reason(
                "files_unknown_to_database",
                "the database does not know {count} of {total} files; check S3_BUCKET or FILES_DIR, then "
                "run `tga media sweep --force`",
                count=len(differences.orphans),
                total=total,
            )
        )
    if _is_suspicious(len(differences.missing), total) and not force:
        raise Rejected(
            Reason(
                "files_missing_in_store",
                "{count} of {total} files are missing in the store; check S3_BUCKET or FILES_DIR, then "
                "run `tga media sweep --force`",
                count=len(differences.missing),
                total=total,
            )
        )
    await files.delete(differences.orphans)
    await files.delete_thumbnails(differences.thumbnails)
    await upkeep.requeue_lost(differences.missing)
    swept = SweepResult(
        differences.seen,
        len(differences.orphans),
        unused_count,
        len(differences.missing),
        len(differences.thumbnails),
    )
    for description, count in (
        ("orphan", swept.orphans),
        ("unused", unused_count),
        ("missing", swept.missing),
        ("thumbnail", swept.thumbnails),
    ):
        MEDIA_SWEPT.labels(description).inc(count)
    return swept


def _is_suspicious(count: int, total: int) -> bool:
    return count > FEW and count > SHARE * total


async def _remove_unused(files: Files, upkeep: MediaUpkeep) -> int:
    """Deletes files that no post uses: first it blocks new references, then it deletes the files,
    then their rows.
    """
    removed_count = 0
    while unused_hashes := await upkeep.begin_removing():
        await files.delete(unused_hashes)
        await upkeep.delete_objects(unused_hashes)
        removed_count += len(unused_hashes)
    return removed_count


async def _compare(files: Files, upkeep: MediaUpkeep, now: datetime) -> _Differences:
    """It compares a 256th of all at a time, to limit memory.

    A file has its row before it has a thumbnail, so no thumbnail is too young.
    """
    differences = _Differences()
    for first_byte in range(256):
        thumbnails = [thumbnail async for thumbnail in files.list_thumbnails(first_byte)]
        stored_files = {file.sha256: file async for file in files.list_files(first_byte)}
        known_objects = await upkeep.list_objects(first_byte)
        settled_at = now - timedelta(hours=SETTLED_HOURS)
        differences.orphans += [
            sha256
            for sha256, file in stored_files.items()
            if sha256 not in known_objects and file.modified_at < settled_at
        ]
        differences.missing += [
            sha256
            for sha256, is_settled in known_objects.items()
            if is_settled and sha256 not in stored_files
        ]
        differences.thumbnails += [
            thumbnail for thumbnail in thumbnails if thumbnail.sha256 not in known_objects
        ]
        differences.seen += len(stored_files)
    return differences


async def reconsider(*, media: MediaQueue, upkeep: MediaUpkeep, rules: MediaRules) -> int:
    """Decides again about files skipped because of size, quota, subscriptions or settings.

    Returns how many are wanted now.
    """
    skipped_files = await upkeep.list_skipped(rules)
    terms = await media.terms(
        list({skipped_file.post_id.channel_id for skipped_file in skipped_files}),
        quota_bytes=rules.quota_bytes,
    )
    wanted_files = [
        FoundFile(skipped_file.post_id, skipped_file.revision, skipped_file.file, None)
        for skipped_file in skipped_files
        if decide(
            skipped_file.file,
            is_protected=skipped_file.is_protected,
            terms=terms.get(skipped_file.post_id.channel_id, CLOSED_TERMS),
            rules=rules,
        )
        is None
    ]
    if wanted_files:
        await media.keep([], wanted_files)
    return len(wanted_files)


async def survey_media(*, upkeep: MediaUpkeep, limit: int) -> MediaSurvey:
    """Numbers and sizes of all files; of tenants and of errors at most `limit`."""
    return await upkeep.survey(max_files=limit)
