"""Upkeep of the media store: deletes orphans, downloads missing files again, and reconsiders skipped files."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.media.files import NOBODY, MediaRules, decide
from telegram_assistant.errors import Rejected
from telegram_assistant.stores.files import Files
from telegram_assistant.stores.postgres.media.files import FoundFile, MediaQueue
from telegram_assistant.stores.postgres.media.upkeep import SETTLED_HOURS, MediaUpkeep
from telegram_assistant.telemetry.metrics import MEDIA_SWEPT

FEW, SHARE = 20, 0.2
"""If more than FEW files and more than SHARE of all are wrong, the settings are wrong, not the store."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The number of files that were checked, deleted, and found missing."""

    files: int
    orphans: int
    unused: int
    missing: int


async def sweep(*, files: Files, upkeep: MediaUpkeep, now: datetime, force: bool = False) -> SweepResult:
    """Raises Rejected if very many files are missing or unknown: then the bucket, the folder or the database is the wrong one."""
    unused = await _remove_unused(files, upkeep)
    orphans, missing, seen = await _compare(files, upkeep, now)
    for what, count in (("unknown to the database", len(orphans)), ("missing in the store", len(missing))):
        if count > FEW and count > SHARE * (seen + len(missing)) and not force:
            raise Rejected(f"{count} of {seen + len(missing)} files are {what}; check S3_BUCKET or FILES_DIR, then `tga media sweep --force`")
    await files.delete(orphans)
    await upkeep.lost(missing)
    for what, count in (("orphan", len(orphans)), ("unused", unused), ("missing", len(missing))):
        MEDIA_SWEPT.labels(what).inc(count)
    return SweepResult(seen, len(orphans), unused, len(missing))


async def _remove_unused(files: Files, upkeep: MediaUpkeep) -> int:
    """Deletes files that no post uses: first it blocks new references, then it deletes the files, then their rows."""
    removed = 0
    while unused := await upkeep.begin_removing():
        await files.delete(unused)
        await upkeep.removed(unused)
        removed += len(unused)
    return removed


async def _compare(files: Files, upkeep: MediaUpkeep, now: datetime) -> tuple[Sequence[bytes], Sequence[bytes], int]:
    """Returns orphans, missing files, and the number of files seen. It compares a 256th of all at a time, to limit memory."""
    orphans: list[bytes] = []
    missing: list[bytes] = []
    seen = 0
    for first_byte in range(256):
        here = {one.sha256: one async for one in files.listed(first_byte)}
        known = await upkeep.known(first_byte)
        settled_at = now - timedelta(hours=SETTLED_HOURS)
        orphans += [sha256 for sha256, one in here.items() if sha256 not in known and one.modified_at < settled_at]
        missing += [sha256 for sha256, settled in known.items() if settled and sha256 not in here]
        seen += len(here)
    return orphans, missing, seen


async def reconsider(*, media: MediaQueue, upkeep: MediaUpkeep, rules: MediaRules) -> int:
    """Decides again about files skipped because of size, quota, subscriptions or settings. Returns how many are wanted now."""
    skipped = await upkeep.reconsidered(rules)
    terms = await media.terms(list({one.post_id.channel_id for one in skipped}), quota_bytes=rules.quota_bytes)
    wanted = [
        FoundFile(one.post_id, one.revision, one.file, None)
        for one in skipped
        if decide(one.file, is_protected=one.is_protected, terms=terms.get(one.post_id.channel_id, NOBODY), rules=rules) is None
    ]
    if wanted:
        await media.keep([], wanted)
    return len(wanted)
