"""Tombstones: a deleted post stays stored, marked with the time at which the deletion was seen.

Evidence is an update that names the channel, or absence from a page that proves the id. Too many deletions at
once are only marked as missed; they count when a second look, a while later, misses them too. A post that is
seen again is alive again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.posts.rechecking import MAX_GONE, MAX_GONE_SHARE, SECOND_LOOK
from telegram_assistant.stores.postgres.database import Connection


@dataclass(frozen=True, slots=True)
class ObservedPage:
    """All posts on a page, when the page was requested, and whether it is the newest one."""

    posts: tuple[Post, ...]
    asked_at: datetime
    is_newest: bool

    @property
    def ids(self) -> tuple[MessageId, ...]:
        return tuple(post.message_id for post in self.posts)


@dataclass(frozen=True, slots=True)
class RecordedDeletions:
    """The result of judging missing posts."""

    deleted: int = 0
    doubtful: int = 0
    """Posts that await a second look."""


# $1 channel, $2 now, $3 lane. `gone` holds the missing posts that were alive; `alive` counts the posts that
# could have been seen.
_JUDGE = f"""
guard AS (
    SELECT count(*) > {MAX_GONE} OR count(*) > {MAX_GONE_SHARE} * (SELECT posts FROM alive) AS waits
    FROM gone WHERE missed_at IS NULL
        OR missed_at > $2::timestamptz - interval '{SECOND_LOOK.total_seconds()} s'
),
verdict AS (
    SELECT message_id, NOT waits OR coalesce(missed_at <= $2 - interval '{SECOND_LOOK.total_seconds()} s',
        false) AS sure FROM gone, guard
),
judged AS (
    UPDATE posts p
    SET deleted_at = CASE WHEN v.sure THEN $2 END, missed_at = CASE WHEN NOT v.sure
        THEN coalesce(p.missed_at, $2) END,
        state_version = p.state_version + v.sure::int
    FROM verdict v WHERE p.channel_id = $1 AND p.message_id = v.message_id
    RETURNING p.message_id, p.revision, v.sure
),
"""


def _covered_by_page(low: str, high: str, asked_at: str, is_newest: str) -> str:
    """The SQL condition for posts whose absence from a page is evidence: stored before the request, and
    proven.

    No post lies above the newest page, except one so young that Telegram may not show it yet.
    """
    is_above_newest = f"{is_newest}::bool AND stored_at < {asked_at}::timestamptz - interval '1 minute'"
    return f"message_id >= {low} AND stored_at < {asked_at} AND (message_id <= {high} OR {is_above_newest})"


ABSENT = f"""
-- $1 channel, $2 now, $3 lane, $4 lowest and $5 highest proven id, $6 ids on the page, $7 when it was
-- requested, $8 whether it is the newest
WITH here AS MATERIALIZED (
    SELECT message_id, missed_at, deleted_at, message_id = ANY($6) AS shown FROM posts
    WHERE channel_id = $1 AND {_covered_by_page("$4", "$5", "$7", "$8")}
),
gone AS (SELECT * FROM here WHERE deleted_at IS NULL AND NOT shown),
alive AS (SELECT count(*) AS posts FROM here WHERE deleted_at IS NULL),
{_JUDGE}
returned AS (
    UPDATE posts p SET deleted_at = NULL, missed_at = NULL, state_version = p.state_version
        + (h.deleted_at IS NOT NULL)::int
    FROM here h
    WHERE p.channel_id = $1 AND p.message_id = h.message_id AND h.shown
        AND (h.deleted_at < $7 OR h.missed_at < $7)
    RETURNING p.message_id, p.revision, h.deleted_at IS NOT NULL AS was_deleted
),
queued AS (
    INSERT INTO outbox (channel_id, message_id, revision, lane)
    SELECT $1, message_id, revision, $3 FROM judged WHERE sure UNION ALL SELECT $1, message_id, revision, $3
    FROM returned WHERE was_deleted
)
SELECT count(*) FILTER (WHERE sure) AS deleted, count(*) FILTER (WHERE NOT sure) AS doubtful FROM judged
"""

REPORTED = f"""
-- $1 channel, $2 now, $3 lane, $4 ids that an update names
WITH gone AS MATERIALIZED (
    SELECT message_id, missed_at FROM posts WHERE channel_id = $1 AND message_id = ANY($4)
        AND deleted_at IS NULL
),
alive AS (SELECT 'infinity'::float8 AS posts),
{_JUDGE}
queued AS (
    INSERT INTO outbox (channel_id, message_id, revision, lane) SELECT $1, message_id, revision, $3
    FROM judged WHERE sure
)
SELECT count(*) FILTER (WHERE sure) AS deleted, count(*) FILTER (WHERE NOT sure) AS doubtful FROM judged
"""

DIFFERS = f"""
-- $1 channel, $2 lowest and $3 highest proven id, $4 ids on the page, $5 their content hashes, $6 when it was
-- requested, $7 whether it is the newest
SELECT EXISTS (
    SELECT 1 FROM (SELECT * FROM posts WHERE channel_id = $1 AND {_covered_by_page("$2", "$3", "$6", "$7")}) p
    LEFT JOIN unnest($4::bigint[], $5::bytea[]) AS n(message_id, content_hash) ON n.message_id = p.message_id
    WHERE CASE WHEN n.message_id IS NULL THEN p.deleted_at IS NULL
             ELSE p.deleted_at IS NOT NULL OR p.missed_at IS NOT NULL OR p.content_hash <> n.content_hash END)
"""


async def mark_absent(
    connection: Connection,
    channel_id: ChannelId,
    proven_range: IdRange,
    page: ObservedPage,
    *,
    now: datetime,
    lane: Lane,
) -> RecordedDeletions:
    """Judges the stored posts that a page proving these ids does not show.

    Runs in the reader's transaction, under its fence.
    """
    judging = (proven_range.low, proven_range.high, page.ids, page.asked_at, page.is_newest)
    return _recorded_deletions(await connection.fetchrow(ABSENT, channel_id, now, lane.value, *judging))


async def differs(
    connection: Connection, channel_id: ChannelId, proven_range: IdRange, page: ObservedPage
) -> bool:
    """Whether the page lacks a stored post, shows it changed, or shows one marked as gone."""
    hashes = [post.content_hash for post in page.posts]
    judging = (proven_range.low, proven_range.high, page.ids, hashes, page.asked_at, page.is_newest)
    return bool(await connection.fetchval(DIFFERS, channel_id, *judging))


async def mark_deleted(
    connection: Connection, channel_id: ChannelId, deleted_message_ids: Sequence[MessageId], *, now: datetime
) -> RecordedDeletions:
    """Judges the posts that an update reports as deleted."""
    return _recorded_deletions(
        await connection.fetchrow(REPORTED, channel_id, now, Lane.LIVE.value, deleted_message_ids)
    )


def _recorded_deletions(row: asyncpg.Record | None) -> RecordedDeletions:
    assert row is not None  # an aggregate always returns a row
    return RecordedDeletions(**dict(row))
