"""The terms of posts, and the index in which posts with the same rare terms are found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.domain.stories.dated_weights import DatedWeights
from telegram_assistant.domain.stories.terms import (
    MIN_TEXTS,
    PERIOD_SECONDS,
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
from telegram_assistant.stores.postgres.stories.grouped_posts import id_of, ids_of
from telegram_assistant.stores.postgres.stories.term_counts import (
    FORGET_TABLES,
    count_again,
    dated_weights,
    load_tables,
    table_of,
)

LOOK_AGAIN = timedelta(seconds=30)
FORGOTTEN_AT_ONCE = 200
"""Posts. Their postings are forgotten with them."""
POSTINGS_EACH = 48
"""Of a post: forty for its words, names and numbers, and some for the channels that it mentions."""
TERMS_KEPT_FOR = timedelta(days=7)
TABLES_KEPT_FOR = TERMS_KEPT_FOR + timedelta(days=1)
WINDOW = timedelta(seconds=PERIOD_SECONDS)
_COARSE_BYTES, _FINE_BYTES = 8, 32


class PostTerms:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions
        self._loaded: dict[int, TermWeights] = {}
        self._looked_at: datetime | None = None
        self._passed = 0
        """Posts that were weighed since the last look."""

    async def weights(self, now: datetime, posted: Sequence[datetime]) -> DatedWeights:
        """How rare terms are, for posts of these moments and of the three days around them.

        Counted once a day for the next one, and for all days each time that the posts have doubled.
        """
        self._passed += len(posted)
        since, until = min(posted, default=now) - WINDOW, max(posted, default=now) + WINDOW
        async with self._transactions.begin() as connection:
            tables = await load_tables(connection, self._loaded, since, until)
            current = table_of(tables, now.date())
            if (
                self._looked_at is None
                or now - self._looked_at > LOOK_AGAIN
                or self._passed >= max(current.texts if current else 0, MIN_TEXTS)
            ):
                self._looked_at, self._passed = now, 0
                if await count_again(connection, now):
                    tables = await load_tables(connection, self._loaded, since, until)
        self._loaded = {table.number: table.weights for table in tables if table.weights is not None}
        return dated_weights(tables)

    async def forget(self, now: datetime, *, limit: int = FORGOTTEN_AT_ONCE) -> int:
        """Deletes the terms of so many posts that were compared a week ago, and with the last of them what
        was needed to compare them. Returns of how many posts.
        """
        async with self._transactions.begin() as connection:
            forgotten = int(await connection.fetchval(FORGET, now - TERMS_KEPT_FOR, limit))
            if forgotten < limit:
                await connection.execute(FORGET_LOOKS, now - TERMS_KEPT_FOR)
                await connection.execute(FORGET_TABLES, now - TABLES_KEPT_FOR)
        return forgotten


@dataclass(frozen=True, slots=True)
class StoredTerms:
    """A post as it is compared, and the number of the transaction that stored its terms."""

    weighed: WeighedPost
    put: int


async def remove_terms(connection: Connection, posts: Iterable[WeighedPost]) -> None:
    await connection.execute(UNPUT, *ids_of(sorted(post.post for post in posts)))


async def put_terms(connection: Connection, posts: Sequence[WeighedPost]) -> bool:
    """Stores what posts are compared by. Returns whether nobody else did so meanwhile."""
    posts = sorted(posts, key=lambda post: post.post)
    keyed = [_posting_keys(post) for post in posts]
    columns = [_columns(post, keys) for post, keys in zip(posts, keyed, strict=True)]
    if len(await connection.fetchmany(PUT, columns)) < len(posts):
        return False
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
    return True


def _posting_keys(post: WeighedPost) -> list[int]:
    period = period_of(post.posted_at)
    return [
        posting_key(term, period, is_private=post.is_private)
        for term in (*keys_of(post, post.weights), *own_keys(post))
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


async def load_terms(
    connection: Connection, posts: Iterable[PostId], weights: TermWeights
) -> dict[PostId, StoredTerms]:
    """Of those whose terms are still stored, in the order of their ids."""
    sorted_posts = sorted(posts)
    rows = await connection.fetch(TERMS, *ids_of(sorted_posts)) if sorted_posts else []
    return {id_of(row): StoredTerms(_weighed_post_of(row, weights), row["put"]) for row in rows}


async def load_puts(connection: Connection, posts: Iterable[PostId]) -> dict[PostId, int]:
    """The numbers of the transactions that stored the terms of these posts, if they are still stored."""
    wanted = set(posts)
    rows = await connection.fetch(PUTS, *ids_of(wanted)) if wanted else []
    return {id_of(row): row["put"] for row in rows}


async def lock_terms(connection: Connection, posts: Iterable[PostId]) -> dict[PostId, int]:
    """The same, and nobody else writes links of these posts to earlier ones until the transaction ends."""
    rows = await connection.fetch(LOCK_TERMS, *ids_of(sorted(posts)))
    return {id_of(row): row["put"] for row in rows}


async def set_found_counts(connection: Connection, counts: Mapping[PostId, int]) -> None:
    """Says how many earlier public posts share enough terms with each of these, whose terms are locked."""
    await connection.execute(SET_FOUND_COUNTS, *ids_of(counts), list(counts.values()))


async def add_found_counts(connection: Connection, counts: Mapping[PostId, int]) -> dict[PostId, int]:
    """Adds to the counts of these, whose terms are locked. Returns the sums, which may be too high."""
    added = {post: count for post, count in counts.items() if count}
    rows = await connection.fetch(ADD_FOUND_COUNTS, *ids_of(added), list(added.values())) if added else []
    return {id_of(row): row["found"] for row in rows}


def format_array(numbers: Iterable[float]) -> str:
    """An array as PostgreSQL reads it: asyncpg looks at every number, which takes ten times as long."""
    return "{" + ",".join(map(str, numbers)) + "}"


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
ON CONFLICT (channel_id, message_id) DO NOTHING RETURNING message_id
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
       t.mentions, t.seen, t.looks, t.put_xid::text::bigint AS put
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (SELECT * FROM post_terms WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) t
"""

PUTS = """
SELECT t.channel_id, t.message_id, t.put_xid::text::bigint AS put
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (SELECT * FROM post_terms WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) t
"""

LOCK_TERMS = """
SELECT t.channel_id, t.message_id, t.put_xid::text::bigint AS put
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
JOIN post_terms t ON t.channel_id = w.channel_id AND t.message_id = w.message_id
ORDER BY t.channel_id, t.message_id FOR NO KEY UPDATE OF t
"""
"""In one order, so that two who lock the same posts never wait for each other."""

SET_FOUND_COUNTS = """
UPDATE post_terms t SET found = w.found
FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS w(channel_id, message_id, found)
WHERE t.channel_id = w.channel_id AND t.message_id = w.message_id AND t.found <> w.found
"""

ADD_FOUND_COUNTS = """
UPDATE post_terms t SET found = t.found + w.found
FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS w(channel_id, message_id, found)
WHERE t.channel_id = w.channel_id AND t.message_id = w.message_id
RETURNING t.channel_id, t.message_id, t.found
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

FORGET_LOOKS = "DELETE FROM story_looks WHERE looked_at < $1"
"""A look is younger than the terms for which it was: nobody needs it without them."""
