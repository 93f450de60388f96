"""Finds the posts with which posts are compared: those of the days around them that share rare terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.terms import (
    MENTION_WEIGHT,
    MIN_VOTES,
    PERIOD_SECONDS,
    TermWeights,
    WeighedPost,
    keys_of,
    mentioning_key,
    mentions_of,
    period_of,
    sure_keys_of,
)
from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.stories.grouped_posts import ids_of
from telegram_assistant.stores.postgres.stories.post_terms import format_array, terms_at

NEWEST = 200
"""So many earlier posts of a term are looked at, the newest ones: a burst is found through those."""
MAX_FOUND = 30
"""With so many earlier posts a post is compared: those with the rarest common terms. With twice as many,
posts that repeat each other all day cost the others seconds of waiting."""
MAX_PRIVATE = 100
_WINDOW = timedelta(seconds=PERIOD_SECONDS)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The posts of the 72 hours before and after with which a post is compared."""

    earlier: tuple[WeighedPost, ...]
    """Those with the rarest common terms, the best first; private ones after them."""
    similar_count: int
    """How many public ones share enough terms."""
    later: tuple[WeighedPost, ...] = ()
    """Those that look back at it: the next ones of each term."""


async def earlier_posts(
    connection: Connection, posts: Sequence[WeighedPost], weights: TermWeights
) -> dict[PostId, Neighbours]:
    """The posts that these posts, whose terms are stored, are compared with.

    The result depends on the earlier posts alone, not on when any of them came.
    """
    weighted_terms = [
        keys_of(post, weights) | dict.fromkeys(mentions_of(post), MENTION_WEIGHT) for post in posts
    ]
    rows = await connection.fetch(
        FIND_EARLIER, *_questions(posts, weighted_terms), NEWEST, MIN_VOTES, MAX_FOUND, MAX_PRIVATE
    )
    earlier: list[list[WeighedPost]] = [[] for _ in posts]
    counts = [0] * len(posts)
    own = {(post.post.channel_id, post.post.message_id): post for post in posts}
    terms_by_place = own | await terms_at(connection, {row[2:4] for row in rows} - own.keys(), weights)
    for place, is_private, channel_id, message_id, count in rows:
        if (other := terms_by_place.get((channel_id, message_id))) is not None:
            earlier[place - 1].append(other)
        if not is_private:
            counts[place - 1] = count
    return {post.post: Neighbours(tuple(earlier[place]), counts[place]) for place, post in enumerate(posts)}


async def later_posts(
    connection: Connection, posts: Sequence[WeighedPost], weights: TermWeights
) -> dict[PostId, list[WeighedPost]]:
    """For each of these posts, whose own terms are not stored, the later ones that look back at it.

    Mostly there are none: posts come in order.
    """
    newest = await connection.fetchval("SELECT max(posted_at) FROM post_terms")
    late = [post for post in posts if newest is not None and post.posted_at <= newest]
    later: dict[PostId, list[WeighedPost]] = {post.post: [] for post in posts}
    if late:
        weighted_terms = [
            keys_of(post, weights) | dict.fromkeys(mentioning_key(post), MENTION_WEIGHT) for post in late
        ]
        rows = await connection.fetch(FIND_LATER, *_questions(late, weighted_terms), NEWEST, MIN_VOTES)
        terms_by_place = await terms_at(connection, {row[1:3] for row in rows}, weights)
        for place, channel_id, message_id in rows:
            if (other := terms_by_place.get((channel_id, message_id))) is not None:
                later[late[place - 1].post].append(other)
    return later


def _questions(
    posts: Sequence[WeighedPost], weighted_terms: Sequence[Mapping[int, float]]
) -> tuple[object, ...]:
    """The columns of the look-up, by term: the place of its post (from 1), the term, its weight, its votes.

    Then the times, ids, periods and privacy of the posts.
    """
    sure = [sure_keys_of(post) for post in posts]
    rows = [
        (place + 1, term, weight, MIN_VOTES if term in sure[place] else 1)
        for place, terms in enumerate(weighted_terms)
        for term, weight in terms.items()
    ]
    columns = tuple(map(format_array, zip(*rows, strict=True))) if rows else ("{}",) * 4
    moments = [post.posted_at for post in posts]
    return (
        *columns,
        moments,
        *ids_of(post.post for post in posts),
        [*map(period_of, moments)],
        [post.is_private for post in posts],
        _WINDOW,
    )


# $1 who asks, $2 terms, $3 weights, $4 votes; by place: $5-$7 when and where the post is, $8 its period, $9
# whether it is private; $10 window, $11 posts per key, $12 the least votes. Private channels have keys of
# their own, and do not ask for each other.
_WANTED_TERMS = """
unnest($1::text::int[], $2::text::bigint[], $3::text::float8[], $4::text::int[]) AS w(place, term, weight,
    votes)
JOIN (VALUES (false, 0), (false, 1), (true, 0), (true, 1)) AS k(is_private, away)
    ON NOT (k.is_private AND ($9::boolean[])[w.place])
"""
_PLACE = "(($5::timestamptz[])[w.place], ($6::bigint[])[w.place], ($7::bigint[])[w.place])"


def _postings(period: str, beyond: str, within: str, order: str) -> str:
    return f"""
    SELECT t.channel_id, t.message_id FROM term_postings t
    WHERE t.key = (w.term << 32) | (((($8::bigint[])[w.place] {period} k.away) * 2
        + k.is_private::int) & 4294967295)
      AND (t.posted_at, t.channel_id, t.message_id) {beyond} {_PLACE} AND t.posted_at {within}
    ORDER BY t.posted_at {order}, t.channel_id {order}, t.message_id {order} LIMIT $11
    """


FIND_EARLIER = f"""
-- $13 and $14 the most public and private ones
SELECT place, is_private, channel_id, message_id, found FROM (
    SELECT w.place, k.is_private, p.channel_id, p.message_id,
        count(*) OVER (PARTITION BY w.place, k.is_private) AS found,
           row_number() OVER (PARTITION BY w.place, k.is_private
               ORDER BY sum(w.weight) DESC, p.channel_id, p.message_id) AS rank
    FROM {_WANTED_TERMS} CROSS
    JOIN LATERAL ({_postings("-", "<", ">= ($5::timestamptz[])[w.place] - $10::interval", "DESC")}) p
    GROUP BY w.place, k.is_private, p.channel_id, p.message_id HAVING sum(w.votes) >= $12::int
) f WHERE rank <= CASE WHEN is_private THEN $14::int ELSE $13::int END ORDER BY place, is_private, rank
"""

FIND_LATER = f"""
SELECT w.place, p.channel_id, p.message_id
FROM {_WANTED_TERMS} CROSS
JOIN LATERAL ({_postings("+", ">", "<= ($5::timestamptz[])[w.place] + $10::interval", "ASC")}) p
GROUP BY w.place, k.is_private, p.channel_id, p.message_id HAVING sum(w.votes) >= $12::int
    ORDER BY w.place, k.is_private, p.channel_id, p.message_id
"""
