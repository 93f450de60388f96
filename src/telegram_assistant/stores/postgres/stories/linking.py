"""Stores the terms of posts, looks for the posts that they are compared with, and writes links: any number of
batches beside each other.

    put      store the terms, remove the links that the posts had, commit; then announce the look
    look     earlier posts, and later ones whose batches have looked without seeing these; no lock
    link     write links under the locks of the terms of their later ends
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.dated_weights import UNCOUNTED, DatedWeights, compare_dated
from telegram_assistant.domain.stories.story import Link
from telegram_assistant.domain.stories.terms import WeighedPost, weigh_again
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions
from telegram_assistant.stores.postgres.stories.dirty_posts import put_dirty, settle_compared
from telegram_assistant.stores.postgres.stories.grouped_posts import WANTED, id_of, ids_of
from telegram_assistant.stores.postgres.stories.links import (
    complete_headers,
    keep_comparable,
    load_links,
    put_links,
    remove_links,
)
from telegram_assistant.stores.postgres.stories.looks import announce_look, keep_blind, near_posts
from telegram_assistant.stores.postgres.stories.neighbours import (
    MAX_FOUND,
    Neighbours,
    earlier_posts,
    later_posts,
    match_near,
)
from telegram_assistant.stores.postgres.stories.post_terms import (
    WINDOW,
    StoredTerms,
    add_found_counts,
    load_puts,
    load_terms,
    lock_terms,
    put_terms,
    remove_terms,
    set_found_counts,
)

MAX_AGAIN, AGAIN_EACH = 60, 10
"""So many later posts, and so many more for each new one, are compared again at once; the job compares the
others: an edit among thousands of the same posts must not hold up its batch."""


@dataclass(frozen=True, slots=True)
class PutPosts:
    """Posts whose terms one transaction has stored."""

    posts: tuple[StoredTerms, ...]
    put: int
    """The number of that transaction."""
    replaced: tuple[WeighedPost, ...]
    """As they were before, those that say something else now."""
    freed: frozenset[PostId]
    """The ends of the links that were removed."""
    dirty: tuple[int, ...]
    """The rows that say so."""

    @property
    def weighed(self) -> list[WeighedPost]:
        return [stored.weighed for stored in self.posts]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The posts that new posts are compared with."""

    earlier: Mapping[PostId, Neighbours]
    later: Mapping[PostId, Sequence[StoredTerms]]
    """Those that have not seen them and never will."""
    outdated: Mapping[PostId, Collection[PostId]]
    """The later posts that may have seen what an edited post said before."""


@dataclass(frozen=True, slots=True)
class Linked:
    """The result of writing links."""

    posts: frozenset[PostId]
    """Those of the batch that nobody has put again meanwhile."""
    seeds: frozenset[PostId]
    """All posts whose stories may change."""
    incomplete: frozenset[PostId]
    """Those whose headers name posts that were not stored."""


class _PutMeanwhileError(Exception):
    """Somebody else has stored the terms of the same post."""


async def put_posts(
    transactions: SystemTransactions, posts: Sequence[WeighedPost], revisions: Mapping[PostId, int]
) -> PutPosts | None:
    """Stores what the posts are compared by, and announces that their batch begins to look.

    Those that were changed since they were read are left to whoever groups them again; None if that is all.
    """
    while True:
        try:
            async with transactions.begin() as connection:
                put = await _put(connection, posts, revisions)
        except _PutMeanwhileError:
            continue
        if put is not None:
            async with transactions.begin() as connection:
                await announce_look(connection, put.put, max(post.posted_at for post in put.weighed))
        return put


async def _put(
    connection: Connection, posts: Sequence[WeighedPost], revisions: Mapping[PostId, int]
) -> PutPosts | None:
    rows = await connection.fetch(REVISIONS, *ids_of(post.post for post in posts))
    unchanged = {id_of(row) for row in rows if revisions[id_of(row)] == row["revision"]}
    own = {post.post: post for post in posts if post.post in unchanged}
    if not own:
        return None
    links = await load_links(connection, own)
    later_ends = {link.post for link in links if not link.kind.is_certain}
    before = (await lock_terms(connection, own.keys() | later_ends)).keys() & own.keys()
    replaced = await _load_replaced(connection, own, before)
    await remove_terms(connection, [own[post] for post in before])
    if not await put_terms(connection, list(own.values())):
        raise _PutMeanwhileError
    removed = await _remove_own_links(connection, own) if links or before else []
    freed = {end for link in removed for end in (link.post, link.other)}
    dirty = await put_dirty(connection, freed, is_uncompared=True)
    put: int = await connection.fetchval("SELECT pg_current_xact_id()::text::bigint")
    return PutPosts(
        tuple(StoredTerms(post, put) for post in own.values()), put, replaced, frozenset(freed), dirty
    )


async def _load_replaced(
    connection: Connection, own: Mapping[PostId, WeighedPost], before: Collection[PostId]
) -> tuple[WeighedPost, ...]:
    if not before:
        return ()
    stored = await load_terms(connection, before, UNCOUNTED)
    return tuple(
        weigh_again(old.weighed, own[post].weights)
        for post, old in stored.items()
        if _compared_by(old.weighed) != _compared_by(own[post])
    )


def _compared_by(post: WeighedPost) -> tuple[int, bool, int]:
    return post.terms_hash, post.is_private, post.username


async def _remove_own_links(connection: Connection, own: Collection[PostId]) -> list[Link]:
    """Removes what these posts said in their headers, and what is estimated again.

    Links of posts whose terms were forgotten stay.
    """
    links = await load_links(connection, own)
    removed = [link for link in links if link.kind.is_certain and link.post in own]
    removed += await keep_comparable(connection, links)
    await remove_links(connection, removed)
    return removed


async def look_around(transactions: SystemTransactions, put: PutPosts) -> Surroundings:
    """Finds what the posts are compared with, after their look is announced."""
    posts = put.weighed
    newest = max(posts, key=lambda post: post.place)
    async with transactions.begin() as connection:
        pairs = await _pairs_with_later(connection, put, newest)
        stored = await load_terms(connection, {other for _, other in pairs}, newest.weights)
        outdated: dict[PostId, set[PostId]] = {post.post: set() for post in put.replaced}
        for post, other in await later_posts(connection, put.replaced):
            outdated[post].add(other)
        earlier = await earlier_posts(connection, put.posts)
    later: dict[PostId, list[StoredTerms]] = {post.post: [] for post in posts}
    for post, other in pairs:
        if other in stored:
            later[post].append(stored[other])
    return Surroundings(earlier, later, outdated)


async def _pairs_with_later(
    connection: Connection, put: PutPosts, newest: WeighedPost
) -> list[tuple[PostId, PostId]]:
    posts = put.weighed
    since = min(post.posted_at for post in posts)
    near = await near_posts(connection, put.put, since, newest.posted_at + WINDOW)
    if near is not None:
        return match_near(posts, near)
    pairs = await later_posts(connection, posts)
    blind = await keep_blind(connection, put.put, [other for _, other in pairs])
    return [(post, other) for post, other in pairs if other in blind]


async def write_links(
    transactions: SystemTransactions,
    put: PutPosts,
    around: Surroundings,
    links: Sequence[Link],
    weights: DatedWeights,
) -> Linked:
    """Stores the links of posts that are still as they were compared.

    A link is written and removed by whoever has locked the terms of its later end. Whoever edits its earlier
    end either is seen here, or comes to the same lock later and removes it.
    """
    own = {post.post: post for post in put.weighed}
    counts = _new_counts(put, around)
    async with transactions.begin() as connection:
        locked = await lock_terms(connection, counts)
        present = frozenset(post for post in own if locked.get(post) == put.put)
        valid = await _keep_valid(connection, links, present, locked, around)
        stale = await _stale_links(connection, put, around, valid, locked)
        await remove_links(connection, stale)
        incomplete = await put_links(connection, valid)
        await complete_headers(connection, [own[post] for post in present])
        sums = await add_found_counts(
            connection, {post: counts[post] for post in locked if post in present or post not in own}
        )
        crowded = sorted(
            post
            for post, count in sums.items()
            if count > MAX_FOUND and (post not in present or count != around.earlier[post].similar_count)
        )
        at_once = MAX_AGAIN + AGAIN_EACH * len(own)
        gone = stale + await look_again(connection, crowded[:at_once], weights)
        await put_dirty(connection, crowded[at_once:], is_uncompared=True)
        freed = {end for link in gone for end in (link.post, link.other)}
        await put_dirty(connection, freed, is_uncompared=False)
        await settle_compared(connection, put.dirty)
    return Linked(present, put.freed | present | freed | frozenset(crowded[:at_once]), frozenset(incomplete))


def _new_counts(put: PutPosts, around: Surroundings) -> Counter[PostId]:
    """How many earlier public posts each post has that its count does not know of, or knows of as they were:
    a count that is too high costs a look, one that is too low loses a link.
    """
    counts = Counter({post.post: around.earlier[post.post].similar_count for post in put.weighed})
    public = {post.post for post in put.weighed if not post.is_private}
    for post, others in around.later.items():
        counts.update({other.weighed.post: int(post in public) for other in others})
    for post, outdated in around.outdated.items():
        counts.update({other: int(post in public) for other in outdated})
    return counts


async def _keep_valid(
    connection: Connection,
    links: Sequence[Link],
    present: Collection[PostId],
    locked: Mapping[PostId, int],
    around: Surroundings,
) -> list[Link]:
    """Without those of posts that were put again meanwhile, if these were not forgotten."""
    compared = {
        other.weighed.post: other.put
        for others in (
            *around.later.values(),
            *(neighbours.earlier for neighbours in around.earlier.values()),
        )
        for other in others
    }
    estimated_ends = {end for link in links if not link.kind.is_certain for end in (link.post, link.other)}
    stored = await load_puts(connection, estimated_ends - locked.keys())

    def is_as_compared(post: PostId) -> bool:
        if post in around.earlier:
            return post in present
        return locked.get(post, stored.get(post, compared[post])) == compared[post]

    return [
        link
        for link in links
        if (
            link.post in present
            if link.kind.is_certain
            else is_as_compared(link.post) and is_as_compared(link.other)
        )
    ]


async def _stale_links(
    connection: Connection,
    put: PutPosts,
    around: Surroundings,
    valid_links: Sequence[Link],
    locked: Mapping[PostId, int],
) -> list[Link]:
    """Links that later posts were given to what an edited post said before, while it was edited."""
    if not put.replaced:
        return []
    pairs = {(link.post, link.other) for link in valid_links}
    links = await load_links(connection, [post.post for post in put.replaced])
    return [
        link
        for link in links
        if not link.kind.is_certain
        and link.post in locked
        and link.post in around.outdated.get(link.other, ())
        and (link.post, link.other) not in pairs
    ]


async def look_again(connection: Connection, posts: Sequence[PostId], weights: DatedWeights) -> list[Link]:
    """Compares posts, whose terms are locked, again with the best of the posts before them: there were too
    many for all to be compared, and now there is another. Returns the links that are gone.
    """
    if not posts:
        return []
    loaded = await load_terms(connection, posts, UNCOUNTED)
    stored = [
        StoredTerms(weigh_again(post.weighed, weights.of(post.weighed.posted_at)), post.put)
        for post in loaded.values()
    ]
    neighbours = await earlier_posts(connection, stored)
    wanted = await asyncio.to_thread(_compare_again, stored, neighbours, weights)
    pairs = {(link.post, link.other) for link in wanted}
    own = {post.weighed.post for post in stored}
    others = [
        link
        for link in await load_links(connection, own)
        if link.post in own and (link.post, link.other) not in pairs
    ]
    gone = await keep_comparable(connection, others)
    await remove_links(connection, gone)
    await put_links(connection, wanted)
    await set_found_counts(connection, {post: nearest.similar_count for post, nearest in neighbours.items()})
    return gone


def _compare_again(
    posts: Sequence[StoredTerms], neighbours: Mapping[PostId, Neighbours], weights: DatedWeights
) -> list[Link]:
    return [
        link
        for post in posts
        for other in neighbours[post.weighed.post].earlier
        if (link := compare_dated(post.weighed, other.weighed, weights)) is not None
    ]


REVISIONS = f"""
SELECT p.channel_id, p.message_id, p.revision FROM {WANTED}
CROSS JOIN LATERAL (SELECT * FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) p
"""
