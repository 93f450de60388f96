"""The terms of posts, the index in which posts with the same rare terms are found, and how rare terms are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.domain.stories.terms import (
    MIN_TEXTS,
    StoryTerms,
    TermWeights,
    WeighedPost,
    keys_of,
    own_keys,
    period_of,
    posting_key,
    weigh,
)
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions
from telegram_assistant.stores.postgres.stories.grouped_posts import WANTED, id_of, ids_of

COUNTED_TEXTS = 50_000
MAX_COUNTED_TERMS = 100_000
MIN_COUNT = 3
COUNT_AGAIN = timedelta(days=1)
LOOK_AGAIN = timedelta(seconds=30)
FORGOTTEN_AT_ONCE = 200
"""Posts. Their postings are forgotten with them."""
POSTINGS_EACH = 48
"""Of a post: forty for its words, names and numbers, and some for the channels that it mentions."""
TERMS_KEPT_FOR = timedelta(days=7)
_COARSE_BYTES, _FINE_BYTES = 8, 32


@dataclass(frozen=True, slots=True)
class _TermCounts:
    weights: TermWeights
    texts: int
    made_at: datetime
    looked_at: datetime


class PostTerms:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions
        self._counted: _TermCounts | None = None
        self._passed = 0
        """Posts that were weighed since the last look."""

    async def weights(self, now: datetime, *, posts: int) -> TermWeights:
        """How rare terms are, for so many posts.

        Counted once a day, and at first each time that the posts have doubled.
        """
        self._passed += posts
        counted = self._counted
        if (
            counted is None
            or now - counted.looked_at > LOOK_AGAIN
            or self._passed >= max(counted.texts, MIN_TEXTS)
        ):
            async with self._transactions.begin() as connection:
                counted = self._counted = await _load_counts(connection, now)
            self._passed = 0
        return counted.weights

    async def forget(self, now: datetime, *, limit: int = FORGOTTEN_AT_ONCE) -> int:
        """Deletes the terms of so many posts that were compared a week ago. Returns of how many."""
        async with self._transactions.begin() as connection:
            return int(await connection.fetchval(FORGET, now - TERMS_KEPT_FOR, limit))


async def _load_counts(connection: Connection, now: datetime) -> _TermCounts:
    row = await connection.fetchrow(
        "SELECT texts, made_at, terms, counts FROM term_counts ORDER BY number DESC LIMIT 1"
    )
    is_old = row is None or (row["texts"] < COUNTED_TEXTS) or now - row["made_at"] > COUNT_AGAIN
    if is_old and await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", COUNTING):
        stored = await connection.fetchval(
            "SELECT count(*) FROM (SELECT 1 FROM post_terms WHERE NOT is_private LIMIT $1) s", COUNTED_TEXTS
        )
        if row is None or stored >= 2 * row["texts"] or now - row["made_at"] > COUNT_AGAIN:
            return await _count(connection, now)
    if row is None:
        return _TermCounts(TermWeights(), 0, now, now)
    weights = TermWeights.from_counts(row["texts"], dict(zip(row["terms"], row["counts"], strict=True)))
    return _TermCounts(weights, row["texts"], row["made_at"], now)


async def _count(connection: Connection, now: datetime) -> _TermCounts:
    rows = await connection.fetch(COUNT, COUNTED_TEXTS, MIN_COUNT, MAX_COUNTED_TERMS)
    texts = await connection.fetchval(
        "SELECT count(*) FROM (SELECT 1 FROM post_terms WHERE NOT is_private LIMIT $1) s", COUNTED_TEXTS
    )
    counts = {row["term"]: row["posts"] for row in rows}
    await connection.execute(KEEP_COUNT, now, texts, list(counts), list(counts.values()))
    return _TermCounts(TermWeights.from_counts(texts, counts), texts, now, now)


async def remove_terms(connection: Connection, posts: Iterable[WeighedPost]) -> None:
    await connection.execute(UNPUT, *ids_of(sorted(post.post for post in posts)))


async def put_terms(connection: Connection, posts: Sequence[WeighedPost], weights: TermWeights) -> None:
    """Stores what posts are compared by."""
    posts = sorted(posts, key=lambda post: post.post)
    keyed = [_posting_keys(post, weights) for post in posts]
    columns = [_columns(post, keys) for post, keys in zip(posts, keyed, strict=True)]
    await connection.executemany(PUT, columns)
    rows = sorted(
        {
            (key, post.posted_at, post.post.channel_id, post.post.message_id)
            for post, keys in zip(posts, keyed, strict=True)
            for key in keys
        }
    )
    moments = sorted({post.posted_at for post in posts})
    places = {moment: place for place, moment in enumerate(moments, start=1)}
    columns_of = zip(
        *((key, places[moment], channel, message) for key, moment, channel, message in rows), strict=True
    )
    if rows:
        await connection.execute(POSTINGS, *map(format_array, columns_of), moments)


def _posting_keys(post: WeighedPost, weights: TermWeights) -> list[int]:
    period = period_of(post.posted_at)
    return [
        posting_key(term, period, is_private=post.is_private)
        for term in (*keys_of(post, weights), *own_keys(post))
    ]


def _columns(post: WeighedPost, keys: list[int]) -> tuple[object, ...]:
    terms = post.terms
    looks = b"".join(
        look.coarse.to_bytes(_COARSE_BYTES) + look.fine.to_bytes(_FINE_BYTES) for look in terms.looks
    )
    sets = (terms.words, terms.names, terms.numbers, terms.pairs, terms.links, terms.mentions, terms.seen)
    place = (
        post.post.channel_id,
        post.post.message_id,
        post.posted_at,
        post.is_private,
        post.username,
        post.terms_hash,
        terms.language,
    )
    return (*place, *(format_array(part) for part in sets), looks, format_array(keys))


def _weighed_post_of(row: asyncpg.Record, weights: TermWeights) -> WeighedPost:
    looks, size = row["looks"], _COARSE_BYTES + _FINE_BYTES
    terms = StoryTerms(
        language=row["language"],
        words=frozenset(row["terms"]),
        names=frozenset(row["names"]),
        numbers=frozenset(row["numbers"]),
        pairs=frozenset(row["pairs"]),
        links=frozenset(row["links"]),
        mentions=frozenset(row["mentions"]),
        looks=tuple(
            Look(
                int.from_bytes(looks[at : at + _COARSE_BYTES]),
                int.from_bytes(looks[at + _COARSE_BYTES : at + size]),
            )
            for at in range(0, len(looks), size)
        ),
        seen=frozenset(row["seen"]),
    )
    return weigh(
        id_of(row),
        row["posted_at"],
        terms,
        weights,
        is_private=row["is_private"],
        username=row["username"],
        terms_hash=row["terms_hash"],
    )


async def load_weighed_posts(
    connection: Connection, posts: Iterable[PostId], weights: TermWeights
) -> list[WeighedPost]:
    """Those whose terms are still stored, in the order of their ids."""
    terms_by_place = await terms_at(
        connection, {(post.channel_id, post.message_id) for post in posts}, weights
    )
    return [terms_by_place[place] for place in sorted(terms_by_place)]


async def terms_at(
    connection: Connection, posts: Iterable[tuple[int, int]], weights: TermWeights
) -> dict[tuple[int, int], WeighedPost]:
    """The same by channel and message."""
    sorted_posts = sorted(posts)
    rows = (
        await connection.fetch(
            TERMS, [channel for channel, _ in sorted_posts], [message for _, message in sorted_posts]
        )
        if sorted_posts
        else []
    )
    return {row[:2]: _weighed_post_of(row, weights) for row in rows}


async def found_counts(connection: Connection, posts: Iterable[PostId]) -> dict[PostId, int]:
    """How many earlier posts share enough terms with each of these whose terms are still stored."""
    rows = await connection.fetch(FOUND_COUNTS, *ids_of(posts))
    return {id_of(row): row["found"] for row in rows}


async def set_found_counts(connection: Connection, counts: Mapping[PostId, int]) -> None:
    await connection.execute(SET_FOUND_COUNTS, *ids_of(counts), list(counts.values()))


async def add_found_counts(connection: Connection, counts: Mapping[PostId, int]) -> None:
    await connection.execute(ADD_FOUND_COUNTS, *ids_of(counts), list(counts.values()))


def format_array(numbers: Iterable[float]) -> str:
    """An array as PostgreSQL reads it: asyncpg looks at every number, which takes ten times as long."""
    return "{" + ",".join(map(str, numbers)) + "}"


COUNTING = 41_002

UNPUT = """
WITH old AS (
    DELETE FROM post_terms t USING unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
    WHERE t.channel_id = w.channel_id AND t.message_id = w.message_id
        RETURNING t.channel_id, t.message_id, t.posted_at, t.keys
)
DELETE FROM term_postings p USING (SELECT o.*, unnest(o.keys) AS key FROM old o) k
WHERE p.key = k.key AND p.posted_at = k.posted_at AND p.channel_id = k.channel_id
    AND p.message_id = k.message_id
"""

PUT = """
INSERT INTO post_terms (channel_id, message_id, posted_at, is_private, username, terms_hash, language, terms,
    names, numbers, pairs, links, mentions,
    seen, looks, keys)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::int[], $9::text::int[], $10::text::int[], $11::text::int[],
    $12::text::int[], $13::text::int[],
    $14::text::int[], $15, $16::text::bigint[])
"""

POSTINGS = """
INSERT INTO term_postings (key, posted_at, channel_id, message_id)
SELECT key, ($5::timestamptz[])[moment], channel_id, message_id
FROM unnest($1::text::bigint[], $2::text::int[], $3::text::bigint[], $4::text::bigint[]) AS w(key, moment,
    channel_id, message_id)
ON CONFLICT DO NOTHING
"""

TERMS = """
SELECT t.channel_id, t.message_id, t.posted_at, t.is_private, t.username, t.terms_hash, t.language, t.terms,
    t.names, t.numbers, t.pairs, t.links,
       t.mentions, t.seen, t.looks
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (SELECT * FROM post_terms WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) t
"""

FOUND_COUNTS = f"""
SELECT t.channel_id, t.message_id, t.found FROM {WANTED}
CROSS JOIN LATERAL (SELECT * FROM post_terms WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) t
"""

SET_FOUND_COUNTS = """
UPDATE post_terms t SET found = w.found
FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS w(channel_id, message_id, found)
WHERE t.channel_id = w.channel_id AND t.message_id = w.message_id AND t.found <> w.found
"""

ADD_FOUND_COUNTS = """
UPDATE post_terms t SET found = t.found + w.found
FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS w(channel_id, message_id, found)
WHERE t.channel_id = w.channel_id AND t.message_id = w.message_id
"""

COUNT = """
SELECT term, count(*)::int AS posts FROM (
    SELECT unnest(terms || names || numbers) AS term FROM (
        SELECT terms, names, numbers FROM post_terms WHERE NOT is_private ORDER BY posted_at DESC LIMIT $1
    ) newest
) t GROUP BY term HAVING count(*) >= $2 ORDER BY count(*) DESC, term LIMIT $3
"""

KEEP_COUNT = """
WITH gone AS (DELETE FROM term_counts)
INSERT INTO term_counts (number, made_at, texts, terms, counts)
SELECT coalesce(max(number), 0) + 1, $1, $2, $3::int[], $4::int[] FROM term_counts
"""

FORGET = """
WITH old AS (
    DELETE FROM post_terms
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM post_terms WHERE written_at < $1 LIMIT $2))
    RETURNING channel_id, message_id, posted_at, keys
),
    postings AS (
    DELETE FROM term_postings p USING (SELECT o.*, unnest(o.keys) AS key FROM old o) k
    WHERE p.key = k.key AND p.posted_at = k.posted_at AND p.channel_id = k.channel_id
        AND p.message_id = k.message_id
)
SELECT count(*) FROM old
"""
