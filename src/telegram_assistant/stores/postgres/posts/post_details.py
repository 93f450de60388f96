"""One post with all its details: earlier texts, counts over time, files, understanding, links, album,
forwards.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.files import MediaKind, MediaState, SkipReason
from telegram_assistant.domain.posts.differences import Difference
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.reasons import Reason, load_reason
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.posts.rows import OWN_POST_COLUMNS, StoredPost, stored_post

MAX_VERSIONS = 50
MAX_COUNTS = 500
MAX_FORWARDS = 100


@dataclass(frozen=True, slots=True)
class PostVersion:
    """A text of the post, earlier or current; nothing has replaced the current one."""

    revision: int
    text: str
    edited_at: datetime | None
    seen_at: datetime
    replaced_at: datetime | None
    difference: Difference | None
    """The difference to the text that replaced it; None until the pipeline has compared them."""


@dataclass(frozen=True, slots=True)
class CountsSeen:
    """The counts of the post at one moment."""

    seen_at: datetime
    views: int | None
    forwards: int | None
    replies: int | None
    reactions: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class PostMediaDetails:
    """A file of the post and its state here. The sender chose `file_name`."""

    ordinal: int
    kind: MediaKind
    mime: str | None
    size_bytes: int
    file_name: str | None
    width: int | None
    height: int | None
    duration_seconds: float | None
    state: MediaState
    skipped: SkipReason | None
    why: Reason | None
    """Why it is not stored here."""
    sha256: str | None


@dataclass(frozen=True, slots=True)
class NamedPost:
    """Another post, with the title of its channel if the tenant follows it."""

    post_id: PostId
    title: str | None = None
    posted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PostDetail:
    """Everything about one post, as one tenant may see it."""

    stored: StoredPost
    title: str
    username: str | None
    counts: tuple[CountsSeen, ...]
    media: tuple[PostMediaDetails, ...]
    links: tuple[str, ...]
    crawled: Mapping[str, Json]
    """The decisions about its links, and the content of the pages."""
    album: tuple[MessageId, ...]
    """All items of its album, itself included; empty if it belongs to none."""
    forwarded_title: str | None
    """Title of the channel that it was forwarded from, if the tenant follows that channel too."""
    forwarded_by: tuple[NamedPost, ...]
    """Posts of followed channels that forward it, the oldest first."""
    earlier_versions: int


MEDIA_ROW = (
    "ROW(ordinal, kind, mime, size_bytes, file_name, width, height, duration_seconds, state, reason, "
    "encode(sha256, 'hex'))"
)
"""The columns of `post_media` that `media_details` reads."""

# Every subquery names the post by its whole key, so each costs one index probe. Row-level security decides
# which rows exist.
DETAIL = f"""
SELECT p.*, c.title, c.username,
       ARRAY(SELECT ROW(seen_at, views, forwards, replies, reactions) FROM (
           SELECT * FROM post_counts WHERE channel_id = $1 AND message_id = $2
           ORDER BY seen_at DESC LIMIT {MAX_COUNTS}) n
           ORDER BY seen_at) AS counts,
       ARRAY(SELECT {MEDIA_ROW}
             FROM post_media WHERE channel_id = $1 AND message_id = $2 ORDER BY ordinal) AS media,
       ARRAY(SELECT url FROM post_links WHERE channel_id = $1 AND message_id = $2 ORDER BY url) AS links,
       (SELECT data FROM post_enrichment WHERE channel_id = $1 AND message_id = $2 AND kind = 'crawl'
           AND tier = 'local') AS crawled,
       ARRAY(SELECT i.message_id FROM media_groups g CROSS
           JOIN LATERAL unnest(g.message_ids) WITH ORDINALITY AS i(message_id, place)
             WHERE g.channel_id = $1 AND g.grouped_id = p.grouped_id
               AND EXISTS (SELECT 1 FROM posts o WHERE o.channel_id = $1 AND o.message_id = i.message_id)
                   ORDER BY i.place) AS album,
       (SELECT title FROM channels WHERE channel_id = p.fwd_channel_id) AS forwarded_title,
       ARRAY(SELECT ROW(f.channel_id, f.message_id, f.title, f.posted_at) FROM (
           SELECT f.*, o.title FROM forwards f JOIN channels o ON o.channel_id = f.channel_id
           WHERE f.from_channel_id = $1 AND f.from_message_id = $2
           ORDER BY f.posted_at, f.channel_id, f.message_id LIMIT {MAX_FORWARDS}) f) AS forwarded_by,
       (SELECT count(*) FROM post_versions WHERE channel_id = $1 AND message_id = $2)::int AS earlier_versions
FROM (SELECT {OWN_POST_COLUMNS} FROM posts WHERE channel_id = $1 AND message_id = $2) p
JOIN channels c ON c.channel_id = p.channel_id
"""

VERSIONS = f"""
SELECT revision - b.revisions AS revision, text, edited_at,
    greatest(coalesce(seen_at, stored_at), s.created_at) AS seen_at, replaced_at,
       difference
FROM (
    SELECT v.revision, v.text, v.edited_at, v.seen_at, v.replaced_at, v.difference, p.stored_at
    FROM posts p JOIN post_versions v ON v.channel_id = p.channel_id AND v.message_id = p.message_id
    WHERE p.channel_id = $1 AND p.message_id = $2
    UNION ALL
    SELECT revision, text, edited_at, seen_at, NULL, NULL, stored_at FROM posts
    WHERE channel_id = $1 AND message_id = $2
) known CROSS JOIN revisions_before($1, $2) AS b(revisions) JOIN subscriptions s ON s.channel_id = $1
ORDER BY revision DESC LIMIT {MAX_VERSIONS}
"""


class PostDetails:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def load_detail(self, post_id: PostId) -> PostDetail | None:
        """Returns None if the post does not exist for this tenant."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(DETAIL, post_id.channel_id, post_id.message_id)
        return _detail(row) if row else None

    async def versions(self, post_id: PostId) -> tuple[PostVersion, ...]:
        """The newest texts in the order in which they were written, the current one last;
        empty if the post does not exist for this tenant.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(VERSIONS, post_id.channel_id, post_id.message_id)
        return tuple(PostVersion(**dict(row)) for row in reversed(rows))


def _detail(row: asyncpg.Record) -> PostDetail:
    return PostDetail(
        stored=stored_post(row),
        title=row["title"],
        username=row["username"],
        counts=tuple(_counts(count) for count in row["counts"]),
        media=tuple(media_details(file) for file in row["media"]),
        links=tuple(row["links"]),
        crawled=json.loads(row["crawled"]) if row["crawled"] else {},
        album=tuple(row["album"]),
        forwarded_title=row["forwarded_title"],
        forwarded_by=tuple(
            NamedPost(PostId(ChannelId(channel_id), MessageId(message_id)), title, at)
            for channel_id, message_id, title, at in row["forwarded_by"]
        ),
        earlier_versions=row["earlier_versions"],
    )


def _counts(row: tuple[Any, ...]) -> CountsSeen:
    seen_at, views, forwards, replies, reactions = row
    return CountsSeen(seen_at, views, forwards, replies, json.loads(reactions) if reactions else {})


def media_details(row: tuple[Any, ...]) -> PostMediaDetails:
    ordinal, kind, *about, state, reason, sha256 = row
    mime, size_bytes, file_name, width, height, duration_seconds = about
    skipped_reason = SkipReason(reason) if state == MediaState.SKIPPED and reason else None
    why = skipped_reason.words if skipped_reason else load_reason(reason)
    return PostMediaDetails(
        ordinal,
        MediaKind(kind),
        mime,
        size_bytes,
        file_name,
        width,
        height,
        duration_seconds,
        MediaState(state),
        skipped_reason,
        why,
        sha256,
    )
