"""Upkeep of stored files: unused and missing objects, each tenant's usage,
and skipped files that may be fetched after all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.media.files import MediaFile, MediaKind, MediaRules, MediaState, SkipReason
from telegram_assistant.reasons import Reason, load_reason
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.media.files import READER

SETTLED_HOURS = 1
"""A younger object may still be on its way."""
MAX_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was skipped and may be wanted by now. `is_protected` means protected by its own message."""

    post_id: PostId
    revision: int
    file: MediaFile
    reason: SkipReason
    is_protected: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """The media bytes of a tenant. `limit_bytes` None: it has no limit of its own."""

    tenant_id: TenantId
    name: str
    media_bytes: int
    limit_bytes: int | None


@dataclass(frozen=True, slots=True)
class MediaTrouble:
    """A file that could not be fetched so far, or was given up."""

    post_id: PostId
    state: MediaState
    attempts: int
    why: Reason


@dataclass(frozen=True, slots=True)
class MediaSurvey:
    """Totals over all files."""

    files: Mapping[tuple[MediaState, str], tuple[int, int]]
    """(files, bytes) by state and reason."""
    objects: int
    object_bytes: int
    usage: tuple[Usage, ...]
    troubles: tuple[MediaTrouble, ...]


UNUSED = f"""
SELECT sha256 FROM media_objects o
WHERE removing_at IS NULL AND reserved_at < now() - interval '{SETTLED_HOURS} hour'
  AND NOT EXISTS (SELECT 1 FROM post_media m WHERE m.sha256 = o.sha256)
LIMIT $1 FOR UPDATE SKIP LOCKED
"""

# A separate statement after the rows are locked, so that it sees every reference made until then.
REMOVE = """
UPDATE media_objects o SET removing_at = now()
WHERE sha256 = ANY($1) AND NOT EXISTS (SELECT 1 FROM post_media m WHERE m.sha256 = o.sha256)
"""

REMOVED = """
WITH gone AS (DELETE FROM media_objects WHERE removing_at IS NOT NULL AND sha256 = ANY($1) RETURNING sha256)
DELETE FROM media_sources s USING gone g WHERE s.sha256 = g.sha256
"""

LOST = f"""
WITH gone AS (DELETE FROM media_objects WHERE sha256 = ANY($1) AND removing_at IS NULL RETURNING sha256),
unknown AS (DELETE FROM media_sources s USING gone g WHERE s.sha256 = g.sha256),
wanted AS (
    UPDATE post_media m SET state = 'wanted', sha256 = NULL, settled_at = NULL FROM gone g
    WHERE m.sha256 = g.sha256 RETURNING m.*
)
INSERT INTO media_jobs (channel_id, message_id, ordinal, media_id, is_photo, size_bytes, mime, lane,
    account_id)
SELECT w.channel_id, w.message_id, w.ordinal, w.media_id, w.kind = 'photo', w.size_bytes, w.mime, 'bulk',
    reader.account_id
FROM wanted w {READER.format(channel_id="w.channel_id")}
ON CONFLICT DO NOTHING
"""

COUNT = """
INSERT INTO quotas AS q (tenant_id, media_bytes, counted_at)
SELECT t.tenant_id, coalesce(sum(m.size_bytes), 0), now() FROM tenants t
LEFT JOIN subscriptions s ON s.tenant_id = t.tenant_id AND s.active AND s.wants_media
LEFT JOIN post_media m ON m.channel_id = s.channel_id AND m.state IN ('wanted', 'stored')
GROUP BY t.tenant_id ORDER BY t.tenant_id
ON CONFLICT (tenant_id) DO UPDATE SET media_bytes = excluded.media_bytes, counted_at = excluded.counted_at
"""

# Selects only files whose decision may have changed; the other skipped files may be many.
# $1 whether a media store is set, $2 most bytes of a file, $3 default quota in bytes, $4 most rows.
RECONSIDERED = """
SELECT m.*, p.revision, coalesce((p.facts->>'noforwards')::boolean, false) AS is_protected
FROM post_media m JOIN posts p USING (channel_id, message_id) JOIN channels c USING (channel_id)
WHERE m.state = 'skipped' AND CASE m.reason
    WHEN 'size' THEN m.size_bytes <= $2 WHEN 'no_place' THEN $1
    ELSE $1 AND m.size_bytes <= $2 AND EXISTS (
        SELECT 1 FROM subscriptions s LEFT JOIN quotas q USING (tenant_id)
        WHERE s.channel_id = m.channel_id AND s.active AND s.wants_media
        AND (s.keeps_protected OR NOT (c.is_private OR c.protected
            OR coalesce((p.facts->>'noforwards')::boolean, false)))
        AND coalesce(coalesce(q.media_bytes_limit, nullif($3::bigint, 0)) - coalesce(q.media_bytes,
            0) >= m.size_bytes, true)) END
  AND m.reason IN ('size', 'no_place', 'not_wanted', 'protected', 'quota')
ORDER BY p.posted_at DESC LIMIT $4
"""

SURVEY = """
SELECT state, CASE WHEN state = 'skipped' THEN coalesce(reason, '') ELSE '' END AS why, count(*) AS files,
    sum(size_bytes)::bigint AS bytes
FROM post_media GROUP BY 1, 2 ORDER BY 1, 2
"""

USAGE = """
SELECT t.tenant_id, t.name, coalesce(q.media_bytes, 0) AS media_bytes, q.media_bytes_limit AS limit_bytes
FROM tenants t LEFT JOIN quotas q USING (tenant_id) ORDER BY media_bytes DESC, t.name LIMIT $1
"""

TROUBLES = """
(SELECT channel_id, message_id, 'wanted' AS state, attempts, error AS why FROM media_jobs
    WHERE error IS NOT NULL ORDER BY next_try_at DESC LIMIT $1)
UNION ALL
(SELECT channel_id, message_id, state, 0, coalesce(reason, '') FROM post_media WHERE state = 'given_up'
    ORDER BY settled_at DESC LIMIT $1)
"""


class MediaUpkeep:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def begin_removing(self) -> list[bytes]:
        """Marks objects that no post refers to; returns all objects marked for removal.

        No post may refer to them any more.
        """
        async with self._transactions.begin() as connection:
            unused_hashes = [row["sha256"] for row in await connection.fetch(UNUSED, MAX_AT_ONCE)]
            await connection.execute(REMOVE, unused_hashes)
            rows = await connection.fetch(
                "SELECT sha256 FROM media_objects WHERE removing_at IS NOT NULL LIMIT $1", 2 * MAX_AT_ONCE
            )
        return [row["sha256"] for row in rows]

    async def delete_objects(self, object_hashes: Sequence[bytes]) -> None:
        """Deletes the rows of objects whose bytes are deleted."""
        async with self._transactions.begin() as connection:
            await connection.execute(REMOVED, list(object_hashes))

    async def list_objects(self, first_byte: int) -> Mapping[bytes, bool]:
        """Every object whose hash begins with this byte, and whether it must be in the store by now."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"""
                SELECT sha256, removing_at IS NULL
                    AND reserved_at < now() - interval '{SETTLED_HOURS} hour' AS settled
                FROM media_objects WHERE sha256 >= $1 AND sha256 <= $2
                """,
                bytes([first_byte]),
                bytes([first_byte]) + b"\xff" * 32,
            )
        return {row["sha256"]: row["settled"] for row in rows}

    async def requeue_lost(self, objects: Sequence[bytes]) -> None:
        """Queues the files of objects whose bytes are missing to be fetched again."""
        async with self._transactions.begin() as connection:
            await connection.execute(LOST, list(objects))

    async def count(self) -> int:
        """Recounts the exact media bytes of every tenant; returns how many tenants."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(COUNT)
        return int(status.rpartition(" ")[2])

    async def list_skipped(
        self, rules: MediaRules, *, max_files: int = MAX_AT_ONCE
    ) -> tuple[SkippedFile, ...]:
        """Files skipped for a reason that may no longer hold, the newest first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                RECONSIDERED, rules.has_place, rules.max_bytes, rules.quota_bytes, max_files
            )
        return tuple(_skipped_file_of(dict(row)) for row in rows)

    async def survey(self, *, max_files: int) -> MediaSurvey:
        async with self._transactions.begin() as connection:
            files = await connection.fetch(SURVEY)
            objects = await connection.fetchrow(
                "SELECT count(*), coalesce(sum(size_bytes), 0)::bigint FROM media_objects "
                "WHERE removing_at IS NULL"
            )
            usage = await connection.fetch(USAGE, max_files)
            troubles = await connection.fetch(TROUBLES, max_files)
        assert objects is not None  # an aggregate always returns a row
        return MediaSurvey(
            {(MediaState(row["state"]), row["why"]): (row["files"], row["bytes"]) for row in files},
            objects[0],
            objects[1],
            tuple(Usage(**dict(row)) for row in usage),
            tuple(_trouble(row) for row in troubles),
        )


def _trouble(row: asyncpg.Record) -> MediaTrouble:
    return MediaTrouble(
        PostId(row["channel_id"], row["message_id"]),
        MediaState(row["state"]),
        row["attempts"],
        load_reason(row["why"]),
    )


def _skipped_file_of(row: dict[str, Any]) -> SkippedFile:
    file = MediaFile(
        **{
            name: row[name]
            for name in (
                "ordinal",
                "media_id",
                "size_bytes",
                "mime",
                "file_name",
                "width",
                "height",
                "duration_seconds",
                "dc_id",
            )
        },
        kind=MediaKind(row["kind"]),
    )
    post_id = PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))
    return SkippedFile(post_id, row["revision"], file, SkipReason(row["reason"]), row["is_protected"])
