"""Finds the posts with which posts are compared: those of the days around them that share rare terms."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.terms import (
    KEY_END,
    MENTION_WEIGHT,
    MIN_VOTES,
    WeighedPost,
    keys_of,
    mentioning_key,
    mentions_of,
    period_of,
    posting_key,
    sure_keys_of,
)
from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.stories.grouped_posts import id_of, ids_of
from telegram_assistant.stores.postgres.stories.looks import NearPost
from telegram_assistant.stores.postgres.stories.post_terms import (
    WINDOW,
    StoredTerms,
    format_array,
    load_terms,
)

NEWEST = 200
"""So many earlier posts of a term are looked at, the newest ones: a burst is found through those."""
MAX_FOUND = 30
"""With so many earlier posts a post is compared: those with the rarest common terms. With twice as many,
posts that repeat each other all day cost the others seconds of waiting."""
MAX_PRIVATE = 100
WEIGHT_STEPS = 1000
"""Ranks are sums of whole numbers: a sum of fractions depends on the order of addition, so on the plan."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The posts of the 72 hours before a post with which it is compared."""

    earlier: tuple[StoredTerms, ...] = ()
    """Those with the rarest common terms, the best first; private ones after them."""
    similar_count: int = 0
    """How many public ones share enough terms."""


async def earlier_posts(connection: Connection, posts: Sequence[StoredTerms]) -> dict[PostId, Neighbours]:
    """The posts that these posts, whose terms are stored, are compared with.

    The result depends on the earlier posts alone, not on when any of them came.
    """
    weighed_posts = [post.weighed for post in posts]
    weighted_terms = [
        keys_of(post, post.weights) | dict.fromkeys(mentions_of(post), MENTION_WEIGHT)
        for post in weighed_posts
    ]
    rows = await connection.fetch(
        FIND_EARLIER, *_questions(weighed_posts, weighted_terms), NEWEST, MIN_VOTES, MAX_FOUND, MAX_PRIVATE
    )
    earlier: list[list[StoredTerms]] = [[] for _ in posts]
    counts = [0] * len(posts)
    own = {post.weighed.post: post for post in posts}
    others = {id_of(row) for row in rows} - own.keys()
    newest = max(weighed_posts, key=lambda post: post.place, default=None)
    stored = own | (await load_terms(connection, others, newest.weights) if newest is not None else {})
    for row in rows:
        if (other := stored.get(id_of(row))) is not None:
            earlier[row["place"] - 1].append(other)
        if not row["is_private"]:
            counts[row["place"] - 1] = row["found"]
    return {post: Neighbours(tuple(earlier[place]), counts[place]) for place, post in enumerate(own)}


async def later_posts(connection: Connection, posts: Sequence[WeighedPost]) -> list[tuple[PostId, PostId]]:
    """The later posts that look back at these: each of these with each of its own."""
    if not posts:
        return []
    rows = await connection.fetch(
        FIND_LATER, *_questions(posts, [_looking_back_at(post) for post in posts]), NEWEST, MIN_VOTES
    )
    return [(posts[row["place"] - 1].post, id_of(row)) for row in rows]


def match_near(posts: Sequence[WeighedPost], near: Sequence[NearPost]) -> list[tuple[PostId, PostId]]:
    """The same among some later posts, in memory."""
    if not near:
        return []
    by_key: dict[int, list[NearPost]] = defaultdict(list)
    for other in near:
        for key in other.keys:
            by_key[key].append(other)
    ends = {key & KEY_END for key in by_key}
    return [(post.post, other) for post in posts for other in _match_post(post, by_key, ends)]


def _match_post(
    post: WeighedPost, by_key: Mapping[int, Sequence[NearPost]], ends: Collection[int]
) -> list[PostId]:
    sure = sure_keys_of(post)
    votes: dict[NearPost, int] = defaultdict(int)
    own_ends = [
        end
        for period in (period_of(post.posted_at), period_of(post.posted_at) + 1)
        for is_private in (False, True)
        if not (is_private and post.is_private)
        and (end := posting_key(0, period, is_private=is_private)) in ends
    ]
    for term in _looking_back_at(post) if own_ends else ():
        for end in own_ends:
            for other in by_key.get((term << 32) | end, ()):
                votes[other] += MIN_VOTES if term in sure else 1
    return [
        other.post
        for other, count in votes.items()
        if count >= MIN_VOTES
        and post.place < (other.posted_at, other.post)
        and other.posted_at <= post.posted_at + WINDOW
    ]


def _looking_back_at(post: WeighedPost) -> dict[int, float]:
    """The keys of later posts that would find this one."""
    return keys_of(post, post.weights) | dict.fromkeys(mentioning_key(post), MENTION_WEIGHT)


def _questions(
    posts: Sequence[WeighedPost], weighted_terms: Sequence[Mapping[int, float]]
) -> tuple[object, ...]:
    """The columns of the look-up, by term: the place of its post (from 1), the term, its weight, its votes.

    Then the times, ids, periods and privacy of the posts.
    """
    sure = [sure_keys_of(post) for post in posts]
    rows = [
        (place + 1, term, round(weight * WEIGHT_STEPS), MIN_VOTES if term in sure[place] else 1)
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
        WINDOW,
    )


# $1 who asks, $2 terms, $3 weights, $4 votes; by place: $5-$7 when and where the post is, $8 its period, $9
# whether it is private; $10 window, $11 posts per key, $12 the least votes. Private channels have keys of
# their own, and do not ask for each other.
_WANTED_TERMS = """
unnest($1::text::int[], $2::text::bigint[], $3::text::int[], $4::text::int[]) AS w(place, term, weight,
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
