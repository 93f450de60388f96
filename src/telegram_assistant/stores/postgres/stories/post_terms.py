"""The terms of posts, the index in which posts with the same rare terms are found, and how rare terms are."""

from collections.abc import Iterable, Mapping, Sequence
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
from telegram_assistant.stores.postgres.stories.grouped_posts import id_of, ids_of

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
    later: tuple[WeighedPost, ...] = ()
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


async def remove_terms(connection: Connection, posts: Iterable[WeighedPost]) -> None:
    await connection.execute(UNPUT, *ids_of(sorted(one.post for one in posts)))


async def put_terms(connection: Connection, posts: Sequence[WeighedPost], weights: TermWeights) -> None:
    """Stores what posts are compared by."""
    posts = sorted(posts, key=lambda one: one.post)
    keyed = [_posting_keys(one, weights) for one in posts]
    columns = [_columns(one, keys) for one, keys in zip(posts, keyed, strict=True)]
    await connection.executemany(PUT, columns)
    rows = sorted({(key, one.posted_at, one.post.channel_id, one.post.message_id) for one, keys in zip(posts, keyed, strict=True) for key in keys})
    moments = sorted({one.posted_at for one in posts})
    places = {moment: place for place, moment in enumerate(moments, start=1)}
    columns_of = zip(*((key, places[moment], channel, message) for key, moment, channel, message in rows), strict=True)
    if rows:
        await connection.execute(POSTINGS, *map(written, columns_of), moments)


def _posting_keys(one: WeighedPost, weights: TermWeights) -> list[int]:
    period = period_of(one.posted_at)
    return [posting_key(term, period, is_private=one.is_private) for term in (*keys_of(one, weights), *own_keys(one))]


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


async def earlier_posts(connection: Connection, posts: Sequence[WeighedPost], weights: TermWeights) -> dict[PostId, Neighbours]:
    """What these posts, whose terms are stored, are compared with: it depends on the earlier posts alone, not on when any of them came."""
    asked = [keys_of(one, weights) | dict.fromkeys(mentioned_by(one), MENTION_WEIGHT) for one in posts]
    rows = await connection.fetch(FIND_EARLIER, *_questions(posts, asked), NEWEST, MIN_VOTES, MAX_FOUND, MAX_PRIVATE)
    earlier: list[list[WeighedPost]] = [[] for _ in posts]
    found = [0] * len(posts)
    own = {(one.post.channel_id, one.post.message_id): one for one in posts}
    known = own | await _known_posts(connection, {row[2:4] for row in rows} - own.keys(), weights)
    for place, is_private, channel_id, message_id, count in rows:
        if (other := known.get((channel_id, message_id))) is not None:
            earlier[place - 1].append(other)
        if not is_private:
            found[place - 1] = count
    return {one.post: Neighbours(tuple(earlier[place]), found[place]) for place, one in enumerate(posts)}


async def later_posts(connection: Connection, posts: Sequence[WeighedPost], weights: TermWeights) -> dict[PostId, list[WeighedPost]]:
    """For each of these posts, whose own terms are not stored, the later ones that look back at it. Mostly there are none: posts come in order."""
    newest = await connection.fetchval("SELECT max(posted_at) FROM post_terms")
    late = [one for one in posts if newest is not None and one.posted_at <= newest]
    found: dict[PostId, list[WeighedPost]] = {one.post: [] for one in posts}
    if late:
        asked = [keys_of(one, weights) | dict.fromkeys(mentioning_key(one), MENTION_WEIGHT) for one in late]
        rows = await connection.fetch(FIND_LATER, *_questions(late, asked), NEWEST, MIN_VOTES)
        known = await _known_posts(connection, {row[1:3] for row in rows}, weights)
        for place, channel_id, message_id in rows:
            if (other := known.get((channel_id, message_id))) is not None:
                found[late[place - 1].post].append(other)
    return found


async def weighed_posts(connection: Connection, posts: Iterable[PostId], weights: TermWeights) -> list[WeighedPost]:
    """Those whose terms are still stored, in the order of their ids."""
    known = await _known_posts(connection, {(one.channel_id, one.message_id) for one in posts}, weights)
    return [known[place] for place in sorted(known)]


async def _known_posts(connection: Connection, posts: Iterable[tuple[int, int]], weights: TermWeights) -> dict[tuple[int, int], WeighedPost]:
    wanted = sorted(posts)
    rows = await connection.fetch(TERMS, [channel for channel, _ in wanted], [message for _, message in wanted]) if wanted else []
    return {row[:2]: _weighed(row, weights) for row in rows}


def _questions(posts: Sequence[WeighedPost], asked: Sequence[Mapping[int, float]]) -> tuple[object, ...]:
    """What is looked up, term by term: who asks (its place from 1), the term, its weight, its votes. Then when and where the posts are."""
    sure = [sure_keys_of(one) for one in posts]
    rows = [(place + 1, term, weight, MIN_VOTES if term in sure[place] else 1) for place, terms in enumerate(asked) for term, weight in terms.items()]
    columns = tuple(map(written, zip(*rows, strict=True))) if rows else ("{}",) * 4
    moments = [one.posted_at for one in posts]
    return (*columns, moments, *ids_of(one.post for one in posts), [*map(period_of, moments)], [one.is_private for one in posts], _WINDOW)


def written(numbers: Iterable[float]) -> str:
    """An array as PostgreSQL reads it: asyncpg looks at every number, which takes ten times as long."""
    return "{" + ",".join(map(str, numbers)) + "}"


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

# $1 who asks, $2 terms, $3 weights, $4 votes; by place: $5-$7 when and where the post is, $8 its period, $9 whether it is private;
# $10 window, $11 posts per key, $12 the least votes. Private channels have keys of their own, and do not ask for each other.
_ASKED = """
unnest($1::text::int[], $2::text::bigint[], $3::text::float8[], $4::text::int[]) AS w(place, term, weight, votes)
JOIN (VALUES (false, 0), (false, 1), (true, 0), (true, 1)) AS k(is_private, away) ON NOT (k.is_private AND ($9::boolean[])[w.place])
"""
_PLACE = "(($5::timestamptz[])[w.place], ($6::bigint[])[w.place], ($7::bigint[])[w.place])"


def _postings(period: str, beyond: str, within: str, order: str) -> str:
    return f"""
    SELECT t.channel_id, t.message_id FROM term_postings t
    WHERE t.key = (w.term << 32) | (((($8::bigint[])[w.place] {period} k.away) * 2 + k.is_private::int) & 4294967295)
      AND (t.posted_at, t.channel_id, t.message_id) {beyond} {_PLACE} AND t.posted_at {within}
    ORDER BY t.posted_at {order}, t.channel_id {order}, t.message_id {order} LIMIT $11
    """


FIND_EARLIER = f"""
-- $13 and $14 the most public and private ones
SELECT place, is_private, channel_id, message_id, found FROM (
    SELECT w.place, k.is_private, p.channel_id, p.message_id, count(*) OVER (PARTITION BY w.place, k.is_private) AS found,
           row_number() OVER (PARTITION BY w.place, k.is_private ORDER BY sum(w.weight) DESC, p.channel_id, p.message_id) AS rank
    FROM {_ASKED} CROSS JOIN LATERAL ({_postings("-", "<", ">= ($5::timestamptz[])[w.place] - $10::interval", "DESC")}) p
    GROUP BY w.place, k.is_private, p.channel_id, p.message_id HAVING sum(w.votes) >= $12::int
) f WHERE rank <= CASE WHEN is_private THEN $14::int ELSE $13::int END ORDER BY place, is_private, rank
"""

FIND_LATER = f"""
SELECT w.place, p.channel_id, p.message_id
FROM {_ASKED} CROSS JOIN LATERAL ({_postings("+", ">", "<= ($5::timestamptz[])[w.place] + $10::interval", "ASC")}) p
GROUP BY w.place, k.is_private, p.channel_id, p.message_id HAVING sum(w.votes) >= $12::int ORDER BY w.place, k.is_private, p.channel_id, p.message_id
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
