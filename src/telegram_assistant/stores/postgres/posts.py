"""Posts for the pipeline: as they are now, and what follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.post import Post
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.rows import POST_COLUMNS, StoredPost, stored_post


@dataclass(frozen=True, slots=True)
class Derived:
    """What follows from a post's text and header."""

    post: Post
    lang: str | None
    urls: tuple[str, ...]


class Posts:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load(self, post_ids: Sequence[PostId]) -> tuple[StoredPost, ...]:
        """Those that exist, in no particular order."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"""
                SELECT p.* FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
                CROSS JOIN LATERAL (SELECT {POST_COLUMNS} FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id LIMIT 1) p
                """,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        return tuple(stored_post(row) for row in rows)

    async def save_derived(self, derived: Sequence[Derived]) -> None:
        """Language, links, forwards and words, all of it replaceable: doing it again changes nothing."""
        channel_ids = [one.post.channel_id for one in derived]
        message_ids = [one.post.message_id for one in derived]
        links = [(one.post.channel_id, one.post.message_id, sha256(url.encode()).digest(), url) for one in derived for url in one.urls]
        forwards = [
            (one.post.channel_id, one.post.message_id, one.post.forwarded_from.channel_id, one.post.forwarded_from.message_id, one.post.posted_at)
            for one in derived
            if one.post.forwarded_from is not None
        ]
        async with self._transactions.begin() as connection:
            await connection.execute(SAVE_LANGUAGE, channel_ids, message_ids, [one.lang for one in derived])
            await connection.execute(
                SAVE_WORDS, channel_ids, message_ids, [one.post.posted_at for one in derived], [one.post.text for one in derived]
            )
            await connection.execute(FORGET_LINKS, channel_ids, message_ids)
            if links:
                await connection.execute(SAVE_LINKS, *(list(column) for column in zip(*links, strict=True)))
            if forwards:
                await connection.execute(SAVE_FORWARDS, *(list(column) for column in zip(*forwards, strict=True)))


SAVE_LANGUAGE = """
UPDATE posts p SET lang = n.lang FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS n(channel_id, message_id, lang)
WHERE p.channel_id = n.channel_id AND p.message_id = n.message_id AND p.lang IS DISTINCT FROM n.lang
"""

SAVE_WORDS = """
INSERT INTO post_search (channel_id, message_id, posted_at, words)
SELECT channel_id, message_id, posted_at, to_tsvector('russian', text)
FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::text[]) AS n(channel_id, message_id, posted_at, text)
ON CONFLICT (channel_id, message_id, posted_at) DO UPDATE SET words = excluded.words WHERE post_search.words <> excluded.words
"""

FORGET_LINKS = """
DELETE FROM post_links l USING unnest($1::bigint[], $2::bigint[]) AS n(channel_id, message_id)
WHERE l.channel_id = n.channel_id AND l.message_id = n.message_id
"""

SAVE_LINKS = """
WITH given AS (
    SELECT DISTINCT ON (channel_id, message_id, url_hash) *
    FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::text[]) AS n(channel_id, message_id, url_hash, url)
),
known AS (INSERT INTO links (url_hash, url) SELECT DISTINCT ON (url_hash) url_hash, url FROM given ORDER BY url_hash ON CONFLICT DO NOTHING)
INSERT INTO post_links (channel_id, message_id, url_hash, url) SELECT * FROM given ON CONFLICT DO NOTHING
"""

SAVE_FORWARDS = """
INSERT INTO forwards (channel_id, message_id, from_channel_id, from_message_id, posted_at)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[])
ON CONFLICT (channel_id, message_id) DO NOTHING
"""
