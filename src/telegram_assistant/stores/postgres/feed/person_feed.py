"""The feed as one person reads it: what is read and saved, page by page in either order,
and how many posts came since.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.people.person import FeedOrder
from telegram_assistant.reasons import Reason, load_reason
from telegram_assistant.stores.postgres.database import PersonTransactions
from telegram_assistant.stores.postgres.feed.tenant_feed import BEFORE_ALL, Cursor
from telegram_assistant.stores.postgres.posts.post_details import MEDIA_ROW, PostMediaDetails, media_details
from telegram_assistant.stores.postgres.posts.rows import OWN_POST_COLUMNS, StoredPost, stored_post

FIRST_OF_ALL = Cursor(datetime.min.replace(tzinfo=UTC), ChannelId(0), MessageId(0))
MAX_NEW = 100
MAX_TALLIED = 2000
"""Posts that are told apart; beyond that nobody minds the exact number."""


@dataclass(frozen=True, slots=True)
class ReadingScope:
    """Which posts of the feed: of one folder or of all channels, muted ones left out; of one channel,
    muted or not.
    """

    folder: str | None = None
    channel_id: ChannelId | None = None
    unread_only: bool = False


@dataclass(frozen=True, slots=True)
class ReadingPost:
    """A post with its channel and files, and what the person did with it."""

    stored: StoredPost
    channel: str
    username: str | None
    media: tuple[PostMediaDetails, ...]
    is_read: bool
    saved_at: datetime | None
    is_private: bool = False
    """Nobody can read its channel without an invitation."""


# $1 folder, $2 channel
SCOPE = """
scope AS MATERIALIZED (
    SELECT s.channel_id, s.created_at, coalesce(l.read, '{}') AS read
    FROM subscriptions s LEFT JOIN read_ledger l ON l.channel_id = s.channel_id
    WHERE s.active AND ($1::text IS NULL OR s.folder = $1)
      AND CASE WHEN $2::bigint IS NULL THEN NOT EXISTS (SELECT 1 FROM mutes m
          WHERE m.channel_id = s.channel_id) ELSE s.channel_id = $2 END
)
"""
MARKED = f"""
SELECT p.*, c.title, c.username, c.is_private, m.is_read,
       (SELECT v.saved_at FROM saved_posts v WHERE v.channel_id = p.channel_id
           AND v.message_id = p.message_id) AS saved_at,
       ARRAY(SELECT {MEDIA_ROW} FROM post_media f WHERE f.channel_id = p.channel_id
           AND f.message_id = p.message_id ORDER BY ordinal) AS media
FROM marked m CROSS JOIN LATERAL (
    SELECT {OWN_POST_COLUMNS} FROM posts WHERE channel_id = m.channel_id AND message_id = m.message_id
) p JOIN channels c ON c.channel_id = p.channel_id
"""
"""Posts of `marked` (channel_id, message_id, is_read) with everything that a page shows of them."""


def _page(order: FeedOrder) -> str:
    """Exact in two steps, as the feed of a tenant: the N first posts lie in the N channels with the first
    heads.

    $3 unread only, $4 limit, $5-$7 the cursor
    """
    before, direction, extreme, comparison = (
        ("<", "DESC", "min", ">=") if order is FeedOrder.NEWEST else (">", "ASC", "max", "<=")
    )
    unbounded_text = "-infinity" if order is FeedOrder.NEWEST else "infinity"
    after_cursor = (
        f"posted_at {before}= $5 AND (posted_at, channel_id, message_id) {before} ($5, $6, "
        "$7) AND NOT ($3 AND message_id <@ h.read)"
    )
    return f"""
    WITH {SCOPE},
    heads AS MATERIALIZED (
        SELECT h.channel_id, h.read, f.posted_at FROM scope h CROSS JOIN LATERAL (
            SELECT posted_at FROM posts WHERE channel_id = h.channel_id AND {after_cursor}
            ORDER BY posted_at {direction}, message_id {direction} LIMIT 1
        ) f
        ORDER BY f.posted_at {direction}, h.channel_id {direction} LIMIT $4
    ),
    bound AS MATERIALIZED (SELECT CASE WHEN count(*) = $4 THEN {extreme}(posted_at)
        ELSE '{unbounded_text}' END AS last FROM heads),
    marked AS MATERIALIZED (
        SELECT f.*, f.message_id <@ h.read AS is_read FROM heads h CROSS JOIN LATERAL (
            SELECT channel_id, message_id, posted_at FROM posts
            WHERE channel_id = h.channel_id AND posted_at {comparison} (SELECT last FROM bound)
                AND {after_cursor}
            ORDER BY posted_at {direction}, message_id {direction} LIMIT $4
        ) f
        ORDER BY posted_at {direction}, channel_id {direction}, message_id {direction} LIMIT $4
    )
    {MARKED}
    ORDER BY m.posted_at {direction}, m.channel_id {direction}, m.message_id {direction}
    """


PAGES = {order: _page(order) for order in FeedOrder}

SAVED = f"""
WITH marked AS MATERIALIZED (
    SELECT v.channel_id, v.message_id, v.saved_at, coalesce(v.message_id <@ l.read, false) AS is_read
    FROM saved_posts v LEFT JOIN read_ledger l ON l.channel_id = v.channel_id
    WHERE v.saved_at < $2 ORDER BY v.saved_at DESC LIMIT $1
)
{MARKED} ORDER BY m.saved_at DESC
"""
"""$1 limit, $2 saved before"""

NEW_SINCE = f"""
WITH {SCOPE}
SELECT count(*) FROM scope h JOIN channels c ON c.channel_id = h.channel_id
    AND c.newest_posted_at > $3::timestamptz - interval '1 hour'
CROSS JOIN LATERAL (
    SELECT 1 FROM posts WHERE channel_id = h.channel_id AND posted_at > $3::timestamptz - interval '1 hour'
        AND stored_at > $3 LIMIT {MAX_NEW}
) n
"""
"""$3 since"""

TALLY = f"""
WITH {SCOPE},
fresh AS MATERIALIZED (
    SELECT n.* FROM scope h JOIN channels c ON c.channel_id = h.channel_id
        AND c.newest_posted_at > $3::timestamptz - interval '1 hour'
    CROSS JOIN LATERAL (
        SELECT channel_id, message_id FROM posts
        WHERE channel_id = h.channel_id AND posted_at > $3::timestamptz - interval '1 hour'
            AND greatest(stored_at, h.created_at) > $3
        OFFSET 0
    ) n LIMIT {MAX_TALLIED} + 1
)
SELECT count(*)::int AS posts,
    (count(*) FILTER (WHERE EXISTS (SELECT 1 FROM story_links l
        WHERE l.channel_id = f.channel_id AND l.message_id = f.message_id
            AND l.kind IN ('forward', 'copy'))))::int AS copies,
    (count(*) FILTER (WHERE EXISTS (SELECT 1 FROM post_enrichment e
        WHERE e.channel_id = f.channel_id AND e.message_id = f.message_id AND e.kind = 'tags'
            AND (e.data ->> 'is_ad')::boolean)))::int AS ads
FROM fresh f
"""
"""$3 since. A copy counts if the tenant sees the post that it repeats."""

SOME = f"""
WITH marked AS MATERIALIZED (
    SELECT w.channel_id, w.message_id, w.place, coalesce(w.message_id <@ l.read, false) AS is_read
    FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS w(channel_id, message_id, place) LEFT
    JOIN read_ledger l ON l.channel_id = w.channel_id
)
{MARKED} ORDER BY m.place
"""

AROUND = """
SELECT ARRAY(SELECT DISTINCT folder FROM subscriptions WHERE active AND folder IS NOT NULL
    ORDER BY folder) AS folders,
       (SELECT count(*) FROM subscriptions WHERE active)::int AS channels,
       ARRAY(SELECT ROW(c.channel_id, c.title, coalesce(c.parked_reason, ''), c.parked_until)
           FROM subscriptions s
             JOIN channels c ON c.channel_id = s.channel_id WHERE s.active AND c.parked_until IS NOT NULL
                 ORDER BY c.parked_until) AS broken
"""


@dataclass(frozen=True, slots=True)
class BrokenSource:
    """A followed channel that cannot be read at the moment, why, and when it is tried again."""

    channel_id: ChannelId
    title: str
    reason: Reason
    until: datetime


@dataclass(frozen=True, slots=True)
class FeedSurroundings:
    """The data beside the feed: folders to choose from, the number of followed channels, and the channels
    that cannot be read.
    """

    folders: tuple[str, ...]
    channels: int
    broken: tuple[BrokenSource, ...]


@dataclass(frozen=True, slots=True)
class PostTally:
    """Posts that were stored for a person since a moment, and how many of them repeat others or advertise."""

    posts: int
    copies: int
    ads: int
    is_partial: bool
    """There are more; the figures are those of the first of them."""


class Reading:
    """A store of one person in one tenant."""

    def __init__(self, transactions: PersonTransactions) -> None:
        self._transactions = transactions

    async def page(
        self, scope: ReadingScope, *, order: FeedOrder, limit: int, after: Cursor | None = None
    ) -> tuple[ReadingPost, ...]:
        """The next posts after the cursor in this order, deleted ones included and marked."""
        after_position = after or (BEFORE_ALL if order is FeedOrder.NEWEST else FIRST_OF_ALL)
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                PAGES[order],
                scope.folder,
                scope.channel_id,
                scope.unread_only,
                limit,
                after_position.posted_at,
                after_position.channel_id,
                after_position.message_id,
            )
        return tuple(_reading_post(row) for row in rows)

    async def list_saved(self, *, limit: int, before: datetime | None = None) -> tuple[ReadingPost, ...]:
        """The saved posts that the tenant still sees, the last saved first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(SAVED, limit, before or datetime.max.replace(tzinfo=UTC))
        return tuple(_reading_post(row) for row in rows)

    async def count_new(self, scope: ReadingScope, *, since: datetime) -> int:
        """How many recent posts were stored since then, as far as it is worth counting."""
        async with self._transactions.begin() as connection:
            new_count: int = await connection.fetchval(NEW_SINCE, scope.folder, scope.channel_id, since)
        return new_count

    async def tally(self, scope: ReadingScope, *, since: datetime) -> PostTally:
        """The posts that were stored since then in channels that the person does not mute."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(TALLY, scope.folder, scope.channel_id, since)
        assert row is not None  # an aggregate
        return PostTally(
            min(row["posts"], MAX_TALLIED), row["copies"], row["ads"], is_partial=row["posts"] > MAX_TALLIED
        )

    async def some(self, post_ids: Sequence[PostId]) -> tuple[ReadingPost, ...]:
        """Those of these posts that the tenant sees, in this order."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                SOME,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        return tuple(_reading_post(row) for row in rows)

    async def surroundings(self) -> FeedSurroundings:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(AROUND)
        assert row is not None  # it has no FROM
        return FeedSurroundings(
            tuple(row["folders"]),
            row["channels"],
            tuple(_make_broken_source(*broken) for broken in row["broken"]),
        )


def _make_broken_source(channel_id: int, title: str, reason: str, until: datetime) -> BrokenSource:
    return BrokenSource(ChannelId(channel_id), title, load_reason(reason), until)


def _reading_post(row: asyncpg.Record) -> ReadingPost:
    media = tuple(media_details(file) for file in row["media"])
    return ReadingPost(
        stored_post(row),
        row["title"],
        row["username"],
        media,
        row["is_read"],
        row["saved_at"],
        row["is_private"],
    )
