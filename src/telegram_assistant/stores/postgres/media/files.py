"""Files of posts: their metadata, the jobs that fetch them, and the event that all files of a post are
settled.

A job belongs to an account, and an account to one process at a time, so a job needs no lease of its own.
Settling a job twice changes nothing, because stored bytes are named by their hash.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from telegram_assistant.domain.ids import AccountId, ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.media.files import MAX_ATTEMPTS, MediaFile, MediaSubscriber, SkipReason, Terms
from telegram_assistant.errors import Busy
from telegram_assistant.reasons import Reason, dump_reason
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.media.post_files import to_columns, write_settled_notices
from telegram_assistant.telemetry.metrics import SHARE_FILES


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a post's revision; `skipped` says why it is not wanted."""

    post_id: PostId
    revision: int
    file: MediaFile
    skipped: SkipReason | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaJob:
    """A file to fetch now. `access_hash` is the channel's, for the account that fetches."""

    channel_id: ChannelId
    message_id: MessageId
    ordinal: int
    media_id: int
    is_photo: bool
    size_bytes: int
    mime: str | None
    attempts: int
    access_hash: int


# The account that fetches for a channel: its reader; for a private channel, an account of a tenant that keeps
# its media.
READER = """
LEFT JOIN LATERAL (
    SELECT a.account_id FROM account_channels r
    JOIN telegram_accounts a USING (account_id) JOIN channels c USING (channel_id)
        JOIN poll_schedule p USING (channel_id)
    WHERE r.channel_id = {channel_id} AND r.lost_at IS NULL AND a.state = 'active' AND CASE WHEN c.is_private
        THEN EXISTS (
        SELECT 1 FROM subscriptions s
        WHERE s.channel_id = c.channel_id AND s.tenant_id = a.tenant_id AND s.active AND s.wants_media
            AND s.keeps_protected)
      ELSE a.account_id = p.account_id END
    ORDER BY a.account_id = p.account_id DESC, r.joined DESC LIMIT 1) reader ON true
"""

TERMS = """
SELECT c.channel_id, c.is_private OR c.protected AS is_closed, s.tenant_id, s.keeps_protected,
       coalesce(q.media_bytes_limit, nullif($2::bigint, 0)) - coalesce(q.media_bytes, 0) AS room_bytes
FROM channels c LEFT JOIN subscriptions s ON s.channel_id = c.channel_id AND s.active AND s.wants_media
LEFT JOIN quotas q ON q.tenant_id = s.tenant_id
WHERE c.channel_id = ANY($1)
"""

# Writes only if the post is still at the revision that was processed. Bytes that are stored already are not
# fetched again; their row stays locked until the post refers to them, so that the cleanup does not take them
# for unused meanwhile.
KEEP = f"""
-- arrays, one element per file: $1 channel, $2 message, $3 revision, $4 ordinal, $5 Telegram's id, $6 kind,
-- $7 MIME type, $8 bytes, $9 file name, $10 width, $11 height, $12 duration in seconds, $13 data center, $14
-- reason to skip it (NULL: wanted)
WITH given AS MATERIALIZED (
    SELECT n.* FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::smallint[], $5::bigint[], $6::text[],
        $7::text[], $8::bigint[],
                           $9::text[], $10::int[], $11::int[], $12::float8[], $13::int[], $14::text[])
        AS n(channel_id, message_id, revision, ordinal, media_id, kind, mime, size_bytes, file_name, width,
            height, duration_seconds, dc_id, reason)
    JOIN posts p ON p.channel_id = n.channel_id AND p.message_id = n.message_id AND p.revision = n.revision
),
known AS MATERIALIZED (
    SELECT s.media_id, s.is_photo, o.sha256, o.size_bytes FROM media_sources s
    JOIN media_objects o USING (sha256)
    WHERE (s.media_id, s.is_photo) IN (SELECT media_id, kind = 'photo' FROM given WHERE reason IS NULL)
        AND o.removing_at IS NULL
    FOR SHARE OF o
),
saved AS (
    INSERT INTO post_media AS m (channel_id, message_id, ordinal, media_id, kind, mime, size_bytes, file_name,
        width, height, duration_seconds,
                                 dc_id, state, reason, sha256, settled_at)
    SELECT g.channel_id, g.message_id, g.ordinal, g.media_id, g.kind, g.mime,
        coalesce(k.size_bytes, g.size_bytes), g.file_name, g.width,
           g.height, g.duration_seconds, g.dc_id,
           CASE WHEN g.reason IS NOT NULL THEN 'skipped' WHEN k.sha256 IS NULL THEN 'wanted'
               ELSE 'stored' END,
           g.reason, k.sha256, CASE WHEN g.reason IS NOT NULL OR k.sha256 IS NOT NULL THEN now() END
    FROM given g LEFT JOIN known k ON k.media_id = g.media_id AND k.is_photo = (g.kind = 'photo')
    ON CONFLICT (channel_id, message_id, ordinal) DO UPDATE
    SET media_id = excluded.media_id, kind = excluded.kind, mime = excluded.mime,
        size_bytes = excluded.size_bytes,
        file_name = excluded.file_name, width = excluded.width, height = excluded.height,
        duration_seconds = excluded.duration_seconds,
        dc_id = excluded.dc_id, state = excluded.state, reason = excluded.reason, sha256 = excluded.sha256,
        settled_at = excluded.settled_at
    WHERE m.media_id <> excluded.media_id OR (m.kind = 'photo') <> (excluded.kind = 'photo')
       OR (m.state = 'skipped' AND m.reason IS DISTINCT FROM excluded.reason)
    RETURNING m.*
),
queued AS (
    INSERT INTO media_jobs (channel_id, message_id, ordinal, media_id, is_photo, size_bytes, mime, lane,
        account_id)
    SELECT s.channel_id, s.message_id, s.ordinal, s.media_id, s.kind = 'photo', s.size_bytes, s.mime,
           coalesce((SELECT o.lane FROM outbox o WHERE o.channel_id = s.channel_id
               AND o.message_id = s.message_id
                     ORDER BY o.revision DESC LIMIT 1), 'bulk'), reader.account_id
    FROM saved s {READER.format(channel_id="s.channel_id")} WHERE s.state = 'wanted'
    ON CONFLICT (channel_id, message_id, ordinal) DO UPDATE
    SET media_id = excluded.media_id, is_photo = excluded.is_photo, size_bytes = excluded.size_bytes,
        mime = excluded.mime,
        attempts = 0, next_try_at = now(), error = NULL
),
unqueued AS (
    DELETE FROM media_jobs j USING saved s
    WHERE j.channel_id = s.channel_id AND j.message_id = s.message_id AND j.ordinal = s.ordinal
        AND s.state <> 'wanted'
)
INSERT INTO quotas AS q (tenant_id, media_bytes)
SELECT b.tenant_id, sum(s.size_bytes) FROM saved s
JOIN subscriptions b ON b.channel_id = s.channel_id AND b.active AND b.wants_media
WHERE s.state IN ('wanted', 'stored') GROUP BY b.tenant_id ORDER BY b.tenant_id
ON CONFLICT (tenant_id) DO UPDATE SET media_bytes = q.media_bytes + excluded.media_bytes
"""

# Files that an edit has removed.
FORGET = """
WITH gone AS (
    DELETE FROM post_media m USING unnest($1::bigint[], $2::bigint[], $3::int[]) AS n(channel_id, message_id,
        files)
    WHERE m.channel_id = n.channel_id AND m.message_id = n.message_id AND m.ordinal >= n.files RETURNING m.*
)
DELETE FROM media_jobs j USING gone g WHERE j.channel_id = g.channel_id AND j.message_id = g.message_id
    AND j.ordinal = g.ordinal
"""

# If several posts have the same file, the first one fetches it; the others wait unless that fails.
DUE = """
SELECT j.channel_id, j.message_id, j.ordinal, j.media_id, j.is_photo, j.size_bytes, j.mime, j.attempts,
    a.access_hash
FROM media_jobs j JOIN account_channels a ON a.account_id = j.account_id AND a.channel_id = j.channel_id
WHERE j.account_id = $1 AND j.next_try_at <= now() AND NOT EXISTS (
    SELECT 1 FROM media_jobs o WHERE o.media_id = j.media_id AND o.is_photo = j.is_photo AND o.attempts = 0
        AND o.account_id IS NOT NULL
    AND (o.channel_id, o.message_id, o.ordinal) < (j.channel_id, j.message_id, j.ordinal))
ORDER BY j.lane = 'bulk', NOT j.is_photo, j.next_try_at, j.channel_id, j.message_id LIMIT $2
"""

RESERVE = """
INSERT INTO media_objects AS o (sha256, size_bytes, mime) VALUES ($1, $2, $3)
ON CONFLICT (sha256) DO UPDATE SET reserved_at = now() WHERE o.removing_at IS NULL
RETURNING sha256
"""

STORED = """
WITH source AS (
    INSERT INTO media_sources (media_id, is_photo, sha256) VALUES ($1, $2, $3)
    ON CONFLICT (media_id, is_photo) DO UPDATE SET sha256 = excluded.sha256
),
done AS (DELETE FROM media_jobs WHERE media_id = $1 AND is_photo = $2 RETURNING *)
UPDATE post_media m SET state = 'stored', reason = NULL, sha256 = $3, size_bytes = $4, settled_at = now()
FROM done d WHERE m.channel_id = d.channel_id AND m.message_id = d.message_id AND m.ordinal = d.ordinal
RETURNING m.channel_id, m.message_id, d.lane
"""

GIVE_UP = """
WITH done AS (DELETE FROM media_jobs WHERE channel_id = $1 AND message_id = $2 AND ordinal = $3
    AND media_id = $4 RETURNING *),
unpromised AS (
    UPDATE quotas q SET media_bytes = greatest(0, q.media_bytes - d.size_bytes)
    FROM done d JOIN subscriptions s ON s.channel_id = d.channel_id AND s.active AND s.wants_media
    WHERE q.tenant_id = s.tenant_id
)
UPDATE post_media m SET state = 'given_up', reason = $5, settled_at = now()
FROM done d WHERE m.channel_id = d.channel_id AND m.message_id = d.message_id AND m.ordinal = d.ordinal
RETURNING m.channel_id, m.message_id, d.lane
"""


class MediaQueue:
    """A system store: the queue of files from post to stored bytes."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def terms(self, channel_ids: Sequence[ChannelId], *, quota_bytes: int) -> Mapping[ChannelId, Terms]:
        """The tenants that want the media of these channels, and the bytes left in their quotas."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(TERMS, list(channel_ids), quota_bytes)
        closed = {ChannelId(row["channel_id"]): row["is_closed"] for row in rows}
        subscribers_by_channel: dict[ChannelId, list[MediaSubscriber]] = {
            channel_id: [] for channel_id in closed
        }
        for row in rows:
            if row["tenant_id"] is not None:
                subscribers_by_channel[row["channel_id"]].append(
                    MediaSubscriber(TenantId(row["tenant_id"]), row["keeps_protected"], row["room_bytes"])
                )
        return {
            channel_id: Terms(is_closed, tuple(subscribers_by_channel[channel_id]))
            for channel_id, is_closed in closed.items()
        }

    async def keep(self, posts: Sequence[tuple[PostId, int]], found_files: Sequence[FoundFile]) -> None:
        """Stores the files of these posts, with the number of files of each: queues wanted files,
        links known ones, deletes others.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                FORGET,
                *to_columns(
                    [(post_id.channel_id, post_id.message_id, file_count) for post_id, file_count in posts], 3
                ),
            )
            await connection.execute(KEEP, *to_columns([_row(found_file) for found_file in found_files], 14))
            await write_settled_notices(
                connection,
                [
                    (post_id.channel_id, post_id.message_id, None)
                    for post_id in {found_file.post_id for found_file in found_files}
                ],
            )

    async def due(self, account_id: AccountId, *, max_jobs: int) -> tuple[MediaJob, ...]:
        """Jobs that are due: live posts before history, photos before other kinds."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(DUE, account_id, max_jobs)
        return tuple(MediaJob(**dict(row)) for row in rows)

    async def waiting(self, account_id: AccountId) -> int:
        async with self._transactions.begin() as connection:
            return int(
                await connection.fetchval("SELECT count(*) FROM media_jobs WHERE account_id = $1", account_id)
            )

    async def reserve(self, sha256: bytes, size_bytes: int, mime: str | None) -> None:
        """Reserves the object before its bytes are written, so that the cleanup keeps them.

        Raises Busy while they are being removed.
        """
        async with self._transactions.begin() as connection:
            if await connection.fetchval(RESERVE, sha256, size_bytes, mime) is None:
                raise Busy(
                    Reason("file_being_removed", "the same file is being removed"),
                    retry_after_seconds=30,
                )

    async def mark_stored(self, job: MediaJob, sha256: bytes, size_bytes: int) -> None:
        """Marks the file as stored, for this post and for every other post that waits for it."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(STORED, job.media_id, job.is_photo, sha256, size_bytes)
            await write_settled_notices(connection, rows)
        SHARE_FILES.labels("stored").inc(len(rows))

    async def fail(self, job: MediaJob, reason: Reason) -> bool:
        """Uses up an attempt. Returns True if it was the last one and the file is given up."""
        if job.attempts + 1 < MAX_ATTEMPTS:
            pause = timedelta(minutes=1) * 5**job.attempts
            await self._update(
                [job],
                "attempts = attempts + 1, error = $4, next_try_at = now() + $5",
                dump_reason(reason),
                pause,
            )
            SHARE_FILES.labels("failed").inc()
            return False
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                GIVE_UP, job.channel_id, job.message_id, job.ordinal, job.media_id, dump_reason(reason)
            )
            await write_settled_notices(connection, rows)
        SHARE_FILES.labels("given_up").inc(len(rows))
        return True

    async def postpone(self, jobs: Sequence[MediaJob], reason: Reason, *, seconds: float) -> None:
        """Delays jobs without using up an attempt."""
        await self._update(
            jobs, "error = $4, next_try_at = now() + make_interval(secs => $5)", dump_reason(reason), seconds
        )

    async def _update(self, jobs: Iterable[MediaJob], change: str, *values: object) -> None:
        keys = to_columns([(job.channel_id, job.message_id, job.ordinal) for job in jobs], 3)
        async with self._transactions.begin() as connection:
            await connection.execute(
                f"""
                UPDATE media_jobs j SET {change}
                FROM unnest($1::bigint[], $2::bigint[], $3::smallint[]) AS n(channel_id, message_id, ordinal)
                WHERE j.channel_id = n.channel_id AND j.message_id = n.message_id AND j.ordinal = n.ordinal
                """,
                *keys,
                *values,
            )


def _row(found_file: FoundFile) -> tuple[object, ...]:
    file, at_post_id = found_file.file, found_file.post_id
    return (
        *(
            at_post_id.channel_id,
            at_post_id.message_id,
            found_file.revision,
            file.ordinal,
            file.media_id,
            file.kind.value,
            file.mime,
            file.size_bytes,
            file.file_name,
        ),
        *(
            file.width,
            file.height,
            file.duration_seconds,
            file.dc_id,
            found_file.skipped.value if found_file.skipped else None,
        ),
    )
