"""The terms of posts, the index in which posts with the same rare terms are found, and how rare terms are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nlargest
from operator import itemgetter

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.domain.stories.terms import (
    MENTION_WEIGHT,
    PERIOD_SECONDS,
    StoryTerms,
    TermWeights,
    WeighedPost,
    keys_of,
    own_key,
    period_of,
    posting_key,
    weigh,
)
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions

NEWEST = 60
"""So many posts of a term are looked at, the newest ones: a burst is found through those."""
MAX_FOUND = 30
PRIVATE_KEYS = 8
"""Posts of private channels are few, and are looked up by fewer terms."""
COUNTED_TEXTS = 50_000
MAX_COUNTED_TERMS = 100_000
MIN_COUNT = 3
COUNT_AGAIN = timedelta(days=1)
LOOK_AGAIN = timedelta(seconds=30)
KEPT = timedelta(days=7)
_WINDOW = timedelta(seconds=PERIOD_SECONDS)
_COARSE_BYTES, _FINE_BYTES = 8, 32


@dataclass(frozen=True, slots=True)
class _Counted:
    weights: TermWeights
    made_at: datetime
    looked_at: datetime


class PostTerms:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions
        self._counted: _Counted | None = None

    async def weights(self, now: datetime) -> TermWeights:
        """How rare terms are. Counted once a day, and at first each time that the posts have doubled, so that it does not depend on the last few."""
        if self._counted is None or now - self._counted.looked_at > LOOK_AGAIN:
            async with self._transactions.begin() as connection:
                self._counted = await _counted(connection, now)
        return self._counted.weights

    async def put(self, posts: Sequence[WeighedPost], weights: TermWeights) -> None:
        """Stores what posts are compared by. Other processes find them from now on."""
        async with self._transactions.begin() as connection:
            await _put(connection, sorted(posts, key=lambda one: one.post), weights)

    async def candidates(self, posts: Sequence[WeighedPost], weights: TermWeights) -> Mapping[PostId, list[WeighedPost]]:
        """For each post the others with the rarest common terms, best first, within 72 hours before and after; and those it is linked with."""
        async with self._transactions.begin() as connection:
            found = await connection.fetch(FIND, *_questions(posts, weights), [one.posted_at for one in posts], _WINDOW, NEWEST, MAX_FOUND)
            linked = await connection.fetch(LINKED, [one.post.channel_id for one in posts], [one.post.message_id for one in posts])
            wanted = sorted({(row["channel_id"], row["message_id"]) for row in (*found, *linked)})
            rows = await connection.fetch(TERMS, [one for one, _ in wanted], [one for _, one in wanted])
        known = {one.post: one for one in (_weighed(row, weights) for row in rows)}
        by_post: dict[PostId, dict[PostId, None]] = {one.post: {} for one in posts}
        for row in found:
            by_post[posts[row["place"] // 2].post][_id(row)] = None
        for row in linked:
            by_post[PostId(ChannelId(row["of_channel"]), MessageId(row["of_message"]))][_id(row)] = None
        return {post: [known[one] for one in others if one in known and one != post] for post, others in by_post.items()}

    async def forget(self, now: datetime) -> int:
        """Deletes the terms of posts that were compared a week ago. Returns of how many."""
        async with self._transactions.begin() as connection:
            return int(await connection.fetchval(FORGET, now - KEPT))


async def _counted(connection: Connection, now: datetime) -> _Counted:
    row = await connection.fetchrow("SELECT texts, made_at, terms, counts FROM term_counts ORDER BY number DESC LIMIT 1")
    is_old = row is None or (row["texts"] < COUNTED_TEXTS) or now - row["made_at"] > COUNT_AGAIN
    if is_old and await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", COUNTING):
        stored = await connection.fetchval("SELECT count(*) FROM (SELECT 1 FROM post_terms WHERE NOT is_private LIMIT $1) s", COUNTED_TEXTS)
        if row is None or stored >= 2 * row["texts"] or now - row["made_at"] > COUNT_AGAIN:
            return await _count(connection, now)
    if row is None:
        return _Counted(TermWeights(), now, now)
    return _Counted(TermWeights.counted(row["texts"], dict(zip(row["terms"], row["counts"], strict=True))), row["made_at"], now)


async def _count(connection: Connection, now: datetime) -> _Counted:
    rows = await connection.fetch(COUNT, COUNTED_TEXTS, MIN_COUNT, MAX_COUNTED_TERMS)
    texts = await connection.fetchval("SELECT count(*) FROM (SELECT 1 FROM post_terms WHERE NOT is_private LIMIT $1) s", COUNTED_TEXTS)
    counts = {row["term"]: row["posts"] for row in rows}
    await connection.execute(KEEP_COUNT, now, texts, list(counts), list(counts.values()))
    return _Counted(TermWeights.counted(texts, counts), now, now)


async def _put(connection: Connection, posts: Sequence[WeighedPost], weights: TermWeights) -> None:
    channels, messages = [one.post.channel_id for one in posts], [one.post.message_id for one in posts]
    await connection.execute(UNPUT, channels, messages)
    keyed = [
        [posting_key(term, period_of(one.posted_at), is_private=one.is_private) for term in (*keys_of(one, weights), *own_key(one))] for one in posts
    ]
    columns = [_columns(one, keys) for one, keys in zip(posts, keyed, strict=True)]
    await connection.executemany(PUT, columns)
    rows = sorted({(key, one.posted_at, one.post.channel_id, one.post.message_id) for one, keys in zip(posts, keyed, strict=True) for key in keys})
    moments = sorted({one.posted_at for one in posts})
    places = {moment: place for place, moment in enumerate(moments, start=1)}
    columns_of = zip(*((key, places[moment], channel, message) for key, moment, channel, message in rows), strict=True)
    if rows:
        await connection.execute(POSTINGS, *map(written, columns_of), moments)


def _columns(one: WeighedPost, keys: list[int]) -> tuple[object, ...]:
    terms = one.terms
    looks = b"".join(look.coarse.to_bytes(_COARSE_BYTES) + look.fine.to_bytes(_FINE_BYTES) for look in terms.looks)
    sets = (terms.words, terms.names, terms.numbers, terms.pairs, terms.links, terms.mentions, terms.seen)
    place = (one.post.channel_id, one.post.message_id, one.posted_at, one.is_private, one.username, one.terms_hash, terms.language)
    return (*place, *(written(part) for part in sets), looks, written(keys))


def _weighed(row: asyncpg.Record, weights: TermWeights) -> WeighedPost:
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
            Look(int.from_bytes(looks[at : at + _COARSE_BYTES]), int.from_bytes(looks[at + _COARSE_BYTES : at + size]))
            for at in range(0, len(looks), size)
        ),
        seen=frozenset(row["seen"]),
    )
    return weigh(_id(row), row["posted_at"], terms, weights, is_private=row["is_private"], username=row["username"], terms_hash=row["terms_hash"])


def _questions(posts: Sequence[WeighedPost], weights: TermWeights) -> tuple[str, str, str]:
    """What is looked up, column by column: who asks (twice its place, one more about private channels), the key, its weight."""
    places, keys, given = list[int](), list[int](), list[float]()
    for place, one in enumerate(posts):
        terms = keys_of(one, weights) | dict.fromkeys(one.terms.mentions, MENTION_WEIGHT)
        period = period_of(one.posted_at)
        for is_private in (False,) if one.is_private else (False, True):
            asked = dict(nlargest(PRIVATE_KEYS, terms.items(), key=itemgetter(1))) if is_private else terms
            for near in (period - 1, period, period + 1):
                keys += [posting_key(term, near, is_private=is_private) for term in asked]
                given += asked.values()
                places += [2 * place + is_private] * len(asked)
    return written(places), written(keys), written(given)


def written(numbers: Iterable[float]) -> str:
    """An array as PostgreSQL reads it: asyncpg looks at every number, which takes ten times as long."""
    return "{" + ",".join(map(str, numbers)) + "}"


def _id(row: asyncpg.Record) -> PostId:
    return PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))


COUNTING = 41_002

UNPUT = """
WITH old AS (
    DELETE FROM post_terms t USING unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
    WHERE t.channel_id = w.channel_id AND t.message_id = w.message_id RETURNING t.channel_id, t.message_id, t.posted_at, t.keys
)
DELETE FROM term_postings p USING (SELECT o.*, unnest(o.keys) AS key FROM old o) k
WHERE p.key = k.key AND p.posted_at = k.posted_at AND p.channel_id = k.channel_id AND p.message_id = k.message_id
"""

PUT = """
INSERT INTO post_terms (channel_id, message_id, posted_at, is_private, username, terms_hash, language, terms, names, numbers, pairs, links, mentions,
    seen, looks, keys)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::int[], $9::text::int[], $10::text::int[], $11::text::int[], $12::text::int[], $13::text::int[],
    $14::text::int[], $15, $16::text::bigint[])
"""

POSTINGS = """
INSERT INTO term_postings (key, posted_at, channel_id, message_id)
SELECT key, ($5::timestamptz[])[moment], channel_id, message_id
FROM unnest($1::text::bigint[], $2::text::int[], $3::text::bigint[], $4::text::bigint[]) AS w(key, moment, channel_id, message_id)
ON CONFLICT DO NOTHING
"""

FIND = """
-- $1 who asks, $2 keys, $3 their weights, $4 times of the posts, $5 window, $6 posts per key, $7 posts per question
SELECT place, channel_id, message_id FROM (
    SELECT w.place, p.channel_id, p.message_id,
           row_number() OVER (PARTITION BY w.place ORDER BY sum(w.weight) DESC, p.channel_id, p.message_id) AS rank
    FROM unnest($1::text::int[], $2::text::bigint[], $3::text::float8[]) AS w(place, key, weight)
    CROSS JOIN LATERAL (
        SELECT t.channel_id, t.message_id FROM term_postings t
        WHERE t.key = w.key AND t.posted_at >= ($4::timestamptz[])[w.place / 2 + 1] - $5::interval
          AND t.posted_at <= ($4::timestamptz[])[w.place / 2 + 1] + $5::interval
        ORDER BY t.posted_at DESC LIMIT $6
    ) p
    GROUP BY w.place, p.channel_id, p.message_id
) f WHERE rank <= $7 ORDER BY place, rank
"""

LINKED = """
SELECT w.channel_id AS of_channel, w.message_id AS of_message, l.channel_id, l.message_id
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (
    SELECT other_channel_id AS channel_id, other_message_id AS message_id
    FROM story_links WHERE channel_id = w.channel_id AND message_id = w.message_id
    UNION ALL
    SELECT channel_id, message_id FROM story_links WHERE other_channel_id = w.channel_id AND other_message_id = w.message_id
) l
"""

TERMS = """
SELECT t.channel_id, t.message_id, t.posted_at, t.is_private, t.username, t.terms_hash, t.language, t.terms, t.names, t.numbers, t.pairs, t.links,
       t.mentions, t.seen, t.looks
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (SELECT * FROM post_terms WHERE channel_id = w.channel_id AND message_id = w.message_id LIMIT 1) t
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
WITH old AS (DELETE FROM post_terms WHERE written_at < $1 RETURNING channel_id, message_id, posted_at, keys), postings AS (
    DELETE FROM term_postings p USING (SELECT o.*, unnest(o.keys) AS key FROM old o) k
    WHERE p.key = k.key AND p.posted_at = k.posted_at AND p.channel_id = k.channel_id AND p.message_id = k.message_id
)
SELECT count(*) FROM old
"""
