"""The records of a tenant's channels: the facts they are counted from, and what was counted."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from telegram_assistant.domain.channels.record import STORED_FACTS, ChannelRecord, RecordedPost, RecordFact
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.posts.rows import UNSEEN_REVISIONS

MAX_STORIES = 3_000
"""Of one tenant, the newest."""
MAX_CORRECTIONS = 500
"""Posts of one channel that look like corrections."""
SHOWN_LETTERS = 600
CHANGED_MEANING = 2
"""The least weight of an edit that changed a number, a name, a date, a negation or how certain a post is."""
COPIES = """
SELECT l.other_channel_id, l.other_message_id FROM story_links l
JOIN subscriptions o ON o.channel_id = l.other_channel_id
WHERE l.channel_id = p.channel_id AND l.message_id = p.message_id AND l.kind = 'copy'
    AND l.other_channel_id <> p.channel_id AND o.network IS DISTINCT FROM coalesce(s.network, -1)
"""
"""The posts that `p` copies, without those of the same owner; `s` is the subscription of its channel."""
FORWARDS = "p.fwd_channel_id IS NOT NULL AND p.fwd_channel_id <> p.channel_id"


@dataclass(frozen=True, slots=True)
class CountedPosts:
    """Counts of one channel's posts, made without reading its texts."""

    channel_id: ChannelId
    since: datetime
    posts: int
    forwarded: int
    copied: int
    deleted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PostBehindNumber:
    """A post that a number of a record counts, as the tenant sees it now.

    `other` is the post that the fact also names: the next channel's, the source, or the one with the denial;
    its title is empty if the tenant does not see it.
    """

    post: PostId
    happened_at: datetime
    """When it was posted, edited or deleted."""
    posted_at: datetime
    text: str
    deleted_at: datetime | None
    revision: int | None
    """The replaced revision of an edit."""
    other: PostId | None
    other_title: str
    other_at: datetime | None


STORIES = f"""
WITH recent AS MATERIALIZED (
    SELECT r.* FROM subscriptions f CROSS JOIN LATERAL (
        SELECT story_id, channel_id, posted_at FROM story_posts
        WHERE channel_id = f.channel_id AND posted_at >= $1 AND posted_at <= $2
    ) r WHERE f.active
)
SELECT story_id FROM recent GROUP BY story_id HAVING count(DISTINCT channel_id) > 1
ORDER BY max(posted_at) DESC, story_id LIMIT {MAX_STORIES}
"""

COUNTS = f"""
SELECT s.channel_id, greatest(s.visible_from, $1) AS since, c.*,
    (SELECT count(*) FROM posts d WHERE d.channel_id = s.channel_id AND d.deleted_at >= $1
        AND d.deleted_at <= $2)::int AS deleted
FROM unnest($3::bigint[]) AS f(channel_id)
JOIN subscriptions s ON s.channel_id = f.channel_id
CROSS JOIN LATERAL (
    SELECT count(*)::int AS posts, (count(*) FILTER (WHERE is_forward))::int AS forwarded,
        (count(*) FILTER (WHERE is_copy AND NOT is_forward))::int AS copied
    FROM (
        SELECT bool_or({FORWARDS}) AS is_forward, bool_or(EXISTS ({COPIES})) AS is_copy
        FROM posts p WHERE p.channel_id = s.channel_id AND p.posted_at >= $1 AND p.posted_at <= $2
            AND p.kind <> 'service'
        GROUP BY p.grouped_id, CASE WHEN p.grouped_id IS NULL THEN p.message_id END
    ) entries
) c
"""
"""$1 since, $2 until, $3 channels"""

MAYBE_CORRECTIONS = f"""
SELECT p.channel_id, p.message_id, p.text FROM unnest($3::bigint[]) AS f(channel_id)
JOIN subscriptions s ON s.channel_id = f.channel_id
CROSS JOIN LATERAL (
    SELECT * FROM posts p WHERE p.channel_id = s.channel_id AND p.posted_at >= $1 AND p.posted_at <= $2
        AND p.fwd_channel_id IS NULL AND p.text ~* 'исправл|уточн|поправк|correct|clarif|erratum'
    ORDER BY p.posted_at DESC LIMIT {MAX_CORRECTIONS}
) p WHERE NOT EXISTS ({COPIES})
"""

EDITS = f"""
SELECT v.channel_id, v.message_id FROM unnest($3::bigint[]) AS f(channel_id)
JOIN post_versions v ON v.channel_id = f.channel_id AND v.replaced_at >= $1 AND v.replaced_at <= $2
    AND v.weight >= {CHANGED_MEANING}
"""

BEHIND = f"""
SELECT n.message_id, n.happened_at, p.posted_at, left(p.text, {SHOWN_LETTERS}) AS text, p.deleted_at,
    n.revision, n.other_channel_id, n.other_message_id, c.title AS other_title, o.posted_at AS other_at
FROM ({{numbered}}) n
CROSS JOIN LATERAL (SELECT * FROM posts WHERE channel_id = $1 AND message_id = n.message_id LIMIT 1) p
LEFT JOIN LATERAL (SELECT * FROM posts WHERE channel_id = n.other_channel_id
    AND message_id = n.other_message_id LIMIT 1) o ON true
LEFT JOIN LATERAL (SELECT title FROM channels WHERE channel_id = n.other_channel_id) c ON true
ORDER BY n.happened_at DESC, n.message_id DESC LIMIT $4
"""

STORED = """
SELECT r.message_id, p.posted_at AS happened_at, NULL::int AS revision, r.other_channel_id, r.other_message_id
FROM channel_record_posts r
CROSS JOIN LATERAL (SELECT posted_at FROM posts WHERE channel_id = $1 AND message_id = r.message_id LIMIT 1) p
WHERE r.channel_id = $1 AND r.fact = $5 AND $2::timestamptz <= $3::timestamptz
"""

TAKEN = f"""
SELECT DISTINCT ON (p.grouped_id, CASE WHEN p.grouped_id IS NULL THEN p.message_id END)
    p.message_id, p.posted_at AS happened_at, NULL::int AS revision,
    CASE WHEN {FORWARDS} THEN p.fwd_channel_id ELSE copied.other_channel_id END AS other_channel_id,
    CASE WHEN {FORWARDS} THEN p.fwd_message_id ELSE copied.other_message_id END AS other_message_id
FROM subscriptions s JOIN posts p ON p.channel_id = s.channel_id
LEFT JOIN LATERAL ({COPIES} ORDER BY 1, 2 LIMIT 1) copied ON true
WHERE s.channel_id = $1 AND p.posted_at >= $2 AND p.posted_at <= $3 AND p.kind <> 'service'
    AND ({FORWARDS} OR copied.other_channel_id IS NOT NULL) AND $5 <> ''
ORDER BY p.grouped_id, CASE WHEN p.grouped_id IS NULL THEN p.message_id END, p.message_id
"""

EDITED = f"""
SELECT v.message_id, v.replaced_at AS happened_at,
    v.revision - {UNSEEN_REVISIONS.format(post="p")} AS revision,
    NULL::bigint AS other_channel_id, NULL::bigint AS other_message_id
FROM post_versions v
CROSS JOIN LATERAL (SELECT * FROM posts WHERE channel_id = $1 AND message_id = v.message_id LIMIT 1) p
WHERE v.channel_id = $1 AND v.replaced_at >= $2 AND v.replaced_at <= $3 AND v.weight >= {CHANGED_MEANING}
    AND NOT EXISTS (SELECT 1 FROM channel_record_posts r
        WHERE r.channel_id = $1 AND r.fact = 'corrected' AND r.message_id = v.message_id) AND $5 <> ''
"""

DELETED = """
SELECT message_id, deleted_at AS happened_at, NULL::int AS revision, NULL::bigint AS other_channel_id,
    NULL::bigint AS other_message_id
FROM posts WHERE channel_id = $1 AND deleted_at >= $2 AND deleted_at <= $3 AND $5 <> ''
"""

RECORDS = """
SELECT r.* FROM channel_records r JOIN subscriptions s USING (tenant_id, channel_id)
WHERE s.active AND r.counted_at >= s.created_at AND ($1::bigint[] IS NULL OR r.channel_id = ANY($1))
"""
"""A record from before the tenant followed the channel anew was counted from other posts."""

KEEP = """
INSERT INTO channel_records (channel_id, since, counted_at, posts, stories, first, forwarded, copied,
    corrected, edited, deleted, denied)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""

KEEP_POSTS = """
INSERT INTO channel_record_posts (channel_id, fact, message_id, other_channel_id, other_message_id)
SELECT r.* FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
    AS r(channel_id, fact, message_id, other_channel_id, other_message_id)
WHERE EXISTS (SELECT 1 FROM posts p WHERE p.channel_id = r.channel_id AND p.message_id = r.message_id)
ON CONFLICT DO NOTHING
"""


class ChannelRecords:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def find_stories(self, since: datetime, until: datetime) -> tuple[UUID, ...]:
        """Stories of several channels with a post between these moments."""
        async with self._transactions.begin() as connection:
            return tuple(row["story_id"] for row in await connection.fetch(STORIES, since, until))

    async def count_posts(
        self, since: datetime, until: datetime, channel_ids: Sequence[ChannelId]
    ) -> tuple[CountedPosts, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(COUNTS, since, until, list(channel_ids))
        return tuple(CountedPosts(**row) for row in rows)

    async def find_corrections(
        self, since: datetime, until: datetime, channel_ids: Sequence[ChannelId]
    ) -> tuple[tuple[PostId, str], ...]:
        """Own posts with a word of a correction, and their texts."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(MAYBE_CORRECTIONS, since, until, list(channel_ids))
        return tuple((_post_id(row), row["text"]) for row in rows)

    async def find_edits(
        self, since: datetime, until: datetime, channel_ids: Sequence[ChannelId]
    ) -> tuple[PostId, ...]:
        """The posts of edits that changed what a post says, one for each edit."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(EDITS, since, until, list(channel_ids))
        return tuple(map(_post_id, rows))

    async def keep(self, records: Sequence[ChannelRecord], posts: Sequence[RecordedPost]) -> None:
        """Replaces all records of the tenant."""
        async with self._transactions.begin() as connection:
            await connection.execute("DELETE FROM channel_records")
            await connection.execute("DELETE FROM channel_record_posts")
            await connection.executemany(KEEP, [tuple(asdict(record).values()) for record in records])
            await connection.execute(
                KEEP_POSTS,
                [post.post.channel_id for post in posts],
                [post.fact.value for post in posts],
                [post.post.message_id for post in posts],
                [post.other and post.other.channel_id for post in posts],
                [post.other and post.other.message_id for post in posts],
            )

    async def some(self, channel_ids: Collection[ChannelId] | None = None) -> dict[ChannelId, ChannelRecord]:
        """The records of these channels, or of all; channels that were not counted yet have none."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(RECORDS, None if channel_ids is None else list(channel_ids))
        return {ChannelId(row["channel_id"]): _record(row) for row in rows}

    async def with_posts(
        self, channel_id: ChannelId, fact: RecordFact, *, limit: int
    ) -> tuple[ChannelRecord | None, tuple[PostBehindNumber, ...]]:
        """The record of a channel, and the posts that a number of it counts, newest first; no record and no
        posts if it was not counted yet.
        """
        numbered_text = STORED if fact in STORED_FACTS else NUMBERED[fact]
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(RECORDS, [channel_id])
            if row is None:
                return None, ()
            record = _record(row)
            window = record.since, record.counted_at
            rows = await connection.fetch(
                BEHIND.format(numbered=numbered_text), channel_id, *window, limit, fact.value
            )
        return record, tuple(_behind(channel_id, row) for row in rows)


NUMBERED = {RecordFact.TAKEN: TAKEN, RecordFact.EDITED: EDITED, RecordFact.DELETED: DELETED}


def _post_id(row: asyncpg.Record) -> PostId:
    return PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))


def _record(row: asyncpg.Record) -> ChannelRecord:
    return ChannelRecord(**{name: value for name, value in row.items() if name != "tenant_id"})


def _behind(channel_id: ChannelId, row: asyncpg.Record) -> PostBehindNumber:
    return PostBehindNumber(
        post=PostId(channel_id, MessageId(row["message_id"])),
        happened_at=row["happened_at"],
        posted_at=row["posted_at"],
        text=row["text"],
        deleted_at=row["deleted_at"],
        revision=row["revision"],
        other=PostId(ChannelId(row["other_channel_id"]), MessageId(row["other_message_id"]))
        if row["other_channel_id"] and row["other_message_id"]
        else None,
        other_title=row["other_title"] or "",
        other_at=row["other_at"],
    )
