"""The terms of posts, the index in which posts with the same rare terms are found, and how rare terms are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.domain.stories.terms import (
    MENTION_WEIGHT,
    MIN_VOTES,
    PERIOD_SECONDS,
    StoryTerms,
    TermWeights,
    WeighedPost,
    keys_of,
    mentioned_by,
    mentioning_key,
    own_keys,
    period_of,
    posting_key,
    sure_keys_of,
    weigh,
)
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions
from telegram_assistant.stores.postgres.stories.grouped_posts import id_of

NEWEST = 200
"""So many earlier posts of a term are looked at, the newest ones: a burst is found through those."""
MAX_FOUND = 30
"""With so many earlier posts a post is compared: those with the rarest common terms."""
MAX_PRIVATE = 100
COUNTED_TEXTS = 50_000
MAX_COUNTED_TERMS = 100_000
MIN_COUNT = 3
COUNT_AGAIN = timedelta(days=1)
LOOK_AGAIN = timedelta(seconds=30)
KEPT = timedelta(days=7)
_WINDOW = timedelta(seconds=PERIOD_SECONDS)
_COARSE_BYTES, _FINE_BYTES = 8, 32


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The posts of the 72 hours before and after with which a post is compared."""

    earlier: tuple[WeighedPost, ...]
    """Those with the rarest common terms, the best first; private ones after them."""
    found: int
    """How many public ones share enough terms."""
    later: tuple[WeighedPost, ...]
    """Those that look back at it: the next ones of each term."""


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


async def put_terms(connection: Connection, posts: Sequence[WeighedPost], weights: TermWeights) -> None:
    """Stores what posts are compared by."""
    posts = sorted(posts, key=lambda one: one.post)
    channels, messages = [one.post.channel_id for one in posts], [one.post.message_id for one in posts]
    await connection.execute(UNPUT, channels, messages)
    keyed = [
        [posting_key(term, period_of(one.posted_at), is_private=one.is_private) for term in (*keys_of(one, weights), *own_keys(one))] for one in posts
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
    return weigh(id_of(row), row["posted_at"], terms, weights, is_private=row["is_private"], username=row["username"], terms_hash=row["terms_hash"])


async def neighbours_of(connection: Connection, posts: Sequence[WeighedPost], weights: TermWeights) -> dict[PostId, Neighbours]:
    """Which earlier posts a post is compared with depends on the earlier posts alone, not on when any of them came."""
    moments = ([one.posted_at for one in posts], [one.post.channel_id for one in posts], [one.post.message_id for one in posts])
    rows = await connection.fetch(FIND, *_questions(posts, weights), *moments, _WINDOW, NEWEST, MAX_FOUND, MAX_PRIVATE, MIN_VOTES)
    known = await weighed_posts(connection, {id_of(row) for row in rows}, weights)
    earlier: dict[PostId, list[WeighedPost]] = {one.post: [] for one in posts}
    later: dict[PostId, list[WeighedPost]] = {one.post: [] for one in posts}
    found = dict.fromkeys(earlier, 0)
    for row in rows:
        post = posts[row["place"] // 2].post
        if id_of(row) in known:
            (later if row["is_later"] else earlier)[post].append(known[id_of(row)])
        if not row["is_later"] and row["place"] % 2 == 0:
            found[post] = row["found"]
    return {post: Neighbours(tuple(earlier[post]), found[post], tuple(later[post])) for post in earlier}


async def weighed_posts(connection: Connection, posts: Iterable[PostId], weights: TermWeights) -> dict[PostId, WeighedPost]:
    """Those whose terms are still stored."""
    wanted = sorted(posts)
    rows = await connection.fetch(TERMS, [one.channel_id for one in wanted], [one.message_id for one in wanted])
    return {one.post: one for one in (_weighed(row, weights) for row in rows)}


def _questions(posts: Sequence[WeighedPost], weights: TermWeights) -> tuple[str, str, str, str, str]:
    """What is looked up, column by column: who asks (twice its place, one more about private channels), the key, its weight, votes, and side."""
    rows = list[tuple[int, int, float, int, int]]()
    for place, one in enumerate(posts):
        period, sure = period_of(one.posted_at), sure_keys_of(one)
        asked = [(term, weight, MIN_VOTES if term in sure else 1, BOTH) for term, weight in keys_of(one, weights).items()]
        asked += [(term, MENTION_WEIGHT, 1, EARLIER) for term in mentioned_by(one)]
        asked += [(term, MENTION_WEIGHT, 1, LATER) for term in mentioning_key(one)]
        for is_private in (False,) if one.is_private else (False, True):
            for near, side in ((period - 1, EARLIER), (period, BOTH), (period + 1, LATER)):
                rows += [
                    (2 * place + is_private, posting_key(term, near, is_private=is_private), weight, votes, side & wanted)
                    for term, weight, votes, wanted in asked
                    if side & wanted
                ]
    places, keys, given, votes_given, sides = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return written(places), written(keys), written(given), written(votes_given), written(sides)


def written(numbers: Iterable[float]) -> str:
    """An array as PostgreSQL reads it: asyncpg looks at every number, which takes ten times as long."""
    return "{" + ",".join(map(str, numbers)) + "}"


COUNTING = 41_002
EARLIER, LATER = 1, 2
BOTH = EARLIER | LATER

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
-- $1 who asks, $2 keys, $3 weights, $4 votes, $5 sides, $6-$8 when and where the posts are, $9 window, $10 posts per key,
-- $11 and $12 the most public and private ones, $13 the least votes
SELECT place, channel_id, message_id, is_later, found FROM (
    SELECT w.place, p.channel_id, p.message_id, p.is_later, count(*) OVER (PARTITION BY w.place, p.is_later) AS found,
           row_number() OVER (PARTITION BY w.place, p.is_later ORDER BY sum(w.weight) DESC, p.channel_id, p.message_id) AS rank
    FROM unnest($1::text::int[], $2::text::bigint[], $3::text::float8[], $4::text::int[], $5::text::int[]) AS w(place, key, weight, votes, side)
    CROSS JOIN LATERAL (
        (SELECT t.channel_id, t.message_id, false AS is_later FROM term_postings t
         WHERE t.key = w.key AND w.side & 1 > 0 AND t.posted_at >= ($6::timestamptz[])[w.place / 2 + 1] - $9::interval
           AND (t.posted_at, t.channel_id, t.message_id)
               < (($6::timestamptz[])[w.place / 2 + 1], ($7::bigint[])[w.place / 2 + 1], ($8::bigint[])[w.place / 2 + 1])
         ORDER BY t.posted_at DESC, t.channel_id DESC, t.message_id DESC LIMIT $10)
        UNION ALL
        (SELECT t.channel_id, t.message_id, true AS is_later FROM term_postings t
         WHERE t.key = w.key AND w.side & 2 > 0 AND t.posted_at <= ($6::timestamptz[])[w.place / 2 + 1] + $9::interval
           AND (t.posted_at, t.channel_id, t.message_id)
               > (($6::timestamptz[])[w.place / 2 + 1], ($7::bigint[])[w.place / 2 + 1], ($8::bigint[])[w.place / 2 + 1])
         ORDER BY t.posted_at, t.channel_id, t.message_id LIMIT $10)
    ) p
    GROUP BY w.place, p.channel_id, p.message_id, p.is_later HAVING sum(w.votes) >= $13::int
) f WHERE is_later OR rank <= CASE place % 2 WHEN 0 THEN $11::int ELSE $12::int END ORDER BY place, rank
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
