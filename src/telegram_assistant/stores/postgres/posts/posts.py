"""Posts for the pipeline: their current state, and the data derived from them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.media.files import files_of
from telegram_assistant.domain.posts.language import language_of
from telegram_assistant.domain.posts.links import urls_of
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.search.query import Has, bits_of
from telegram_assistant.domain.understanding.embedding_text import has_of
from telegram_assistant.language.capitals import keys_in
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.posts.rows import POST_COLUMNS, StoredPost, stored_post


@dataclass(frozen=True, slots=True)
class Derived:
    """The data derived from a post's text and header."""

    post: Post
    revision: int
    lang: str | None
    urls: tuple[str, ...]
    has: tuple[Has, ...] = ()
    names: frozenset[str] = frozenset()
    """The keys of what may be names in the text, the same in both alphabets."""


def derived_of(stored_post: StoredPost) -> Derived:
    """Everything that the word index keeps. Names take most of the time."""
    return replace(derived_without_names(stored_post), names=keys_in(stored_post.post.text))


def derived_without_names(stored_post: StoredPost) -> Derived:
    post = stored_post.post
    urls = urls_of(post.text, post.entities)
    return Derived(post, stored_post.revision, language_of(post.text), urls, has_of(files_of(post), urls))


class Posts:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load(self, post_ids: Sequence[PostId]) -> tuple[StoredPost, ...]:
        """The posts that exist, in no particular order."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"""
                SELECT p.* FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
                CROSS JOIN LATERAL (SELECT {POST_COLUMNS} FROM posts
                    WHERE channel_id = w.channel_id AND message_id = w.message_id LIMIT 1) p
                """,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        return tuple(stored_post(row) for row in rows)

    async def save_derived(self, derived: Sequence[Derived]) -> None:
        """Stores language, links, forwards and search words. Idempotent."""
        posts = [
            (
                derived_post.post.channel_id,
                derived_post.post.message_id,
                derived_post.revision,
                derived_post.lang,
                derived_post.post.text,
                bits_of(derived_post.has),
                marked_names(derived_post.names),
            )
            for derived_post in derived
        ]
        links = [
            (derived_post.post.channel_id, derived_post.post.message_id, sha256(url.encode()).digest(), url)
            for derived_post in derived
            for url in derived_post.urls
        ]
        forwards = [
            (
                derived_post.post.channel_id,
                derived_post.post.message_id,
                derived_post.post.forwarded_from.channel_id,
                derived_post.post.forwarded_from.message_id,
            )
            for derived_post in derived
            if derived_post.post.forwarded_from is not None
        ]
        async with self._transactions.begin() as connection:
            await connection.execute(SAVE, *_columns(posts, 7), *_columns(links, 4), *_columns(forwards, 4))
        async with self._transactions.begin() as connection:
            await connection.execute(LEARN_WORDS.format(index="post_search"), *_columns(posts, 2))


def marked_names(names: Iterable[str]) -> str:
    """Names as they are kept among the words of a post: after a ~, which no word has."""
    return " ".join(f"~{name}" for name in sorted(names))


def _columns(rows: Sequence[tuple[object, ...]], count: int) -> list[list[object]]:
    return [[row[index] for row in rows] for index in range(count)]


# One statement, so one round trip. It writes only if the post is still at the revision that was processed, so
# an older result never overwrites a newer one. Links that the post no longer has are deleted; the others stay
# untouched.
SAVE = """
-- arrays, one element per post: $1 channel, $2 message, $3 revision, $4 language, $5 text, $6 bits of `Has`,
-- $7 names one element per link: $8 channel, $9 message, $10 SHA-256 of the URL, $11 URL one element per
-- forward: $12 channel, $13 message, $14 source channel, $15 source message
WITH derived AS MATERIALIZED (
    SELECT p.channel_id, p.message_id, p.posted_at, p.deleted_at, n.lang, n.text, n.has, n.names
    FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::text[], $5::text[], $6::smallint[], $7::text[])
        AS n(channel_id, message_id, revision, lang, text, has, names)
    JOIN posts p ON p.channel_id = n.channel_id AND p.message_id = n.message_id AND p.revision = n.revision
    FOR NO KEY UPDATE OF p
),
given_links AS (
    SELECT DISTINCT ON (n.channel_id, n.message_id, n.url_hash) n.*
    FROM unnest($8::bigint[], $9::bigint[], $10::bytea[], $11::text[]) AS n(channel_id, message_id, url_hash,
        url)
    JOIN derived d ON d.channel_id = n.channel_id AND d.message_id = n.message_id
),
languages AS (
    UPDATE posts p SET lang = d.lang FROM derived d
    WHERE p.channel_id = d.channel_id AND p.message_id = d.message_id AND p.lang IS DISTINCT FROM d.lang
),
words AS (
    INSERT INTO post_search (channel_id, message_id, posted_at, words, lang, has)
    SELECT channel_id, message_id, posted_at, to_tsvector('russian', text)
        || array_to_tsvector(string_to_array(names, ' ')), lang, has
    FROM derived WHERE deleted_at IS NULL
    ON CONFLICT (channel_id, message_id, posted_at) DO UPDATE
        SET words = excluded.words, lang = excluded.lang, has = excluded.has
    WHERE (post_search.words, post_search.lang, post_search.has) IS DISTINCT
        FROM (excluded.words, excluded.lang, excluded.has)
),
silenced AS (
    DELETE FROM post_search s USING derived d
    WHERE s.channel_id = d.channel_id AND s.message_id = d.message_id AND s.posted_at = d.posted_at
        AND d.deleted_at IS NOT NULL
),
forgotten AS (
    DELETE FROM post_links l USING derived d
    WHERE l.channel_id = d.channel_id AND l.message_id = d.message_id AND NOT EXISTS (
        SELECT 1 FROM given_links g WHERE g.channel_id = l.channel_id AND g.message_id = l.message_id
            AND g.url_hash = l.url_hash)
),
known AS (
    INSERT INTO links (url_hash, url) SELECT DISTINCT ON (url_hash) url_hash, url FROM given_links
    ORDER BY url_hash ON CONFLICT DO NOTHING
),
linked AS (
    INSERT INTO post_links (channel_id, message_id, url_hash, url) SELECT *
    FROM given_links ON CONFLICT DO NOTHING
)
INSERT INTO forwards (channel_id, message_id, from_channel_id, from_message_id, posted_at)
SELECT n.channel_id, n.message_id, n.from_channel_id, n.from_message_id, d.posted_at
FROM unnest($12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[]) AS n(channel_id, message_id,
    from_channel_id, from_message_id)
JOIN derived d ON d.channel_id = n.channel_id AND d.message_id = n.message_id
ON CONFLICT (channel_id, message_id) DO NOTHING
"""

# The words that are new, in order, so that two transactions never wait for each other. Numbers, addresses and
# names' keys are no words.
LEARN_WORDS = """
INSERT INTO search_vocabulary (word)
SELECT DISTINCT w.word FROM unnest($1::bigint[], $2::bigint[]) AS n(channel_id, message_id)
JOIN {index} s ON s.channel_id = n.channel_id AND s.message_id = n.message_id
CROSS JOIN LATERAL unnest(tsvector_to_array(s.words)) AS w(word)
WHERE w.word ~ '^[[:alpha:]]{{3,30}}$' AND NOT EXISTS (SELECT 1 FROM search_vocabulary v
    WHERE v.word = w.word)
ORDER BY w.word ON CONFLICT DO NOTHING
"""
