"""Posts as they are compared: what they say, what is written in their pictures,
and what Telegram says about them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.media.vision_results import stored_look


@dataclass(frozen=True, slots=True)
class StorySource:
    """A post before it is compared. `certain` names the posts to which Telegram itself links it."""

    post: PostId
    revision: int
    posted_at: datetime
    text: str
    addresses: tuple[str, ...]
    username: str
    is_private: bool
    looks: tuple[Look, ...]
    seen: str
    forwarded_from: PostId | None
    reply_to: PostId | None
    album: PostId | None
    """Another post of the same album."""


class StorySources:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load(self, posts: Sequence[PostId]) -> list[StorySource]:
        """The posts that exist, except service messages."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                LOAD, [post.channel_id for post in posts], [post.message_id for post in posts]
            )
        return [_source(row) for row in rows]


def _source(row: asyncpg.Record) -> StorySource:
    channel_id = ChannelId(row["channel_id"])
    forwarded = (
        (ChannelId(row["fwd_channel_id"]), row["fwd_message_id"])
        if row["fwd_channel_id"] and row["fwd_message_id"]
        else None
    )
    return StorySource(
        post=PostId(channel_id, MessageId(row["message_id"])),
        revision=row["revision"],
        posted_at=row["posted_at"],
        text=row["text"],
        addresses=tuple(row["addresses"] or ()),
        username=row["username"] or "",
        is_private=bool(row["is_private"]),
        looks=tuple(
            stored_look(coarse, fine)
            for coarse, fine in zip(row["coarse"] or (), row["fine"] or (), strict=True)
        ),
        seen=row["seen"] or "",
        forwarded_from=PostId(forwarded[0], MessageId(forwarded[1])) if forwarded else None,
        reply_to=PostId(channel_id, MessageId(row["reply_to"])) if row["reply_to"] else None,
        album=PostId(channel_id, MessageId(row["album"])) if row["album"] else None,
    )


LOAD = """
SELECT p.channel_id, p.message_id, p.revision, p.posted_at, p.text, p.reply_to, p.fwd_channel_id,
    p.fwd_message_id, c.username, c.is_private,
       CASE WHEN p.entities IS NOT NULL
            THEN ARRAY(SELECT e->>'url' FROM jsonb_array_elements(p.entities) e
                WHERE e->>'url' IS NOT NULL) END AS addresses,
       m.coarse, m.fine, m.seen, a.album
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (SELECT * FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) p
LEFT JOIN channels c ON c.channel_id = p.channel_id
LEFT JOIN LATERAL (
    SELECT array_agg(o.phash ORDER BY f.ordinal) AS coarse,
        array_agg(o.phash_fine ORDER BY f.ordinal) AS fine,
           string_agg(r.data->>'text', E'\\n' ORDER BY f.ordinal) AS seen
    FROM post_media f JOIN media_objects o ON o.sha256 = f.sha256 AND o.phash IS NOT NULL
        AND o.phash_fine IS NOT NULL
    LEFT JOIN media_results r ON r.sha256 = f.sha256 AND r.tier = 'local'
    WHERE f.channel_id = p.channel_id AND f.message_id = p.message_id
) m ON p.kind NOT IN ('text', 'poll')
LEFT JOIN LATERAL (
    SELECT q.message_id AS album FROM posts q
    WHERE q.channel_id = p.channel_id AND q.message_id BETWEEN p.message_id - 10 AND p.message_id + 10
      AND q.message_id <> p.message_id AND q.grouped_id = p.grouped_id
    ORDER BY q.message_id LIMIT 1
) a ON p.grouped_id IS NOT NULL
WHERE p.kind NOT IN ('service', 'unreadable')
"""
