"""The posts that a feed lists, each with the pictures of its album, as the tenant sees them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind

MAX_ALBUM = 10


@dataclass(frozen=True, slots=True)
class FeedPicture:
    """A stored picture of a post."""

    post_id: PostId
    ordinal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PostWithAlbum:
    """A post that is not deleted, or the album that it belongs to."""

    parts: tuple[PostId, ...]
    """All posts of the album, the first one first."""
    channel: str
    username: str | None
    text: str
    """Of the first part that has one."""
    entities: tuple[TextEntity, ...]
    posted_at: datetime
    changed_at: datetime
    pictures: tuple[FeedPicture, ...]
    """Without those that their author has covered."""

    @property
    def post_id(self) -> PostId:
        return self.parts[0]


class FeedPosts:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def load(self, post_ids: Sequence[PostId]) -> Mapping[PostId, PostWithAlbum]:
        """Those of these posts that the tenant sees and that are not deleted."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                LOAD,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        rows_by_post = groupby(
            rows, key=lambda row: PostId(ChannelId(row["channel_id"]), MessageId(row["wanted"]))
        )
        return {post_id: _post(list(parts)) for post_id, parts in rows_by_post}

    async def is_covered(self, post: PostWithAlbum, *, kind: FeedKind, subject: str) -> bool:
        """Whether a post that a feed of a watch, folder or saved search has listed still belongs there,
        be it behind newer ones.
        """
        message_ids = [part.message_id for part in post.parts]
        async with self._transactions.begin() as connection:
            is_covered: bool = await connection.fetchval(
                IS_COVERED, kind.value, subject, post.post_id.channel_id, message_ids
            )
        return is_covered


def _post(rows: Sequence[asyncpg.Record]) -> PostWithAlbum:
    captioned_row = next((row for row in rows if row["text"]), rows[0])
    return PostWithAlbum(
        parts=tuple(PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])) for row in rows),
        channel=captioned_row["title"],
        username=captioned_row["username"],
        text=captioned_row["text"],
        entities=tuple(TextEntity(**entity) for entity in json.loads(captioned_row["entities"]))
        if captioned_row["entities"]
        else (),
        posted_at=rows[0]["posted_at"],
        changed_at=max(
            moment for row in rows for moment in (row["posted_at"], row["edited_at"]) if moment is not None
        ),
        pictures=tuple(
            FeedPicture(PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])), ordinal)
            for row in rows
            for ordinal in row["pictures"]
        ),
    )


# The items of an album have neighbouring ids. Each post costs a probe of the index by its whole key, an album
# a short range of it: without its LIMIT the subquery would be joined before it knows its range, and read
# whole channels.
LOAD = f"""
SELECT w.channel_id, w.message_id AS wanted, p.*, c.title, c.username,
       ARRAY(SELECT m.ordinal FROM post_media m
             WHERE m.channel_id = w.channel_id AND m.message_id = p.message_id AND m.kind = 'photo'
                 AND m.state = 'stored' AND NOT p.is_covered
             ORDER BY m.ordinal) AS pictures
FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS w(channel_id, message_id, place)
CROSS JOIN LATERAL (
    SELECT grouped_id, CASE WHEN grouped_id IS NULL THEN 0 ELSE {MAX_ALBUM - 1} END AS reach FROM posts
    WHERE channel_id = w.channel_id AND message_id = w.message_id AND deleted_at IS NULL LIMIT 1) o
CROSS JOIN LATERAL (
    SELECT message_id, text, entities, posted_at, edited_at,
        coalesce(facts #>> '{{media,spoiler}}' = 'true', false) AS is_covered FROM posts
    WHERE channel_id = w.channel_id AND message_id BETWEEN w.message_id - o.reach AND w.message_id
        + o.reach AND deleted_at IS NULL
      AND (message_id = w.message_id OR grouped_id = o.grouped_id) ORDER BY message_id LIMIT {MAX_ALBUM}) p
CROSS JOIN LATERAL (SELECT title, username FROM channels WHERE channel_id = w.channel_id LIMIT 1) c
ORDER BY w.place, p.message_id
"""

# $1 the kind of the feed, $2 its subject, $3 the channel, $4 the items of the album
IS_COVERED = f"""
SELECT CASE $1
    WHEN '{FeedKind.WATCH}' THEN EXISTS (SELECT 1 FROM alerts
        WHERE watch_id::text = $2 AND channel_id = $3 AND message = ANY ($4::bigint[]))
    WHEN '{FeedKind.FOLDER}' THEN EXISTS (SELECT 1 FROM subscriptions
        WHERE folder = $2 AND channel_id = $3 AND active)
    WHEN '{FeedKind.SEARCH}' THEN EXISTS (SELECT 1 FROM saved_searches WHERE search_id::text = $2)
    ELSE false END
"""
