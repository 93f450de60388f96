"""Groups batches of posts into stories: one after the other where they touch the same story, else beside each
other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.dated_weights import DatedWeights
from telegram_assistant.domain.stories.story import Link, StoryChange, StoryId
from telegram_assistant.domain.stories.terms import WeighedPost
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions
from telegram_assistant.stores.postgres.stories.dirty_posts import (
    DirtyPost,
    load_dirty,
    oldest_dirty,
    put_dirty,
    remove_dirty,
    settle_compared,
)
from telegram_assistant.stores.postgres.stories.grouped_posts import WANTED, Grouped, id_of, ids_of
from telegram_assistant.stores.postgres.stories.grouping import Regrouped, attach, group_again
from telegram_assistant.stores.postgres.stories.linking import (
    Linked,
    PutPosts,
    Surroundings,
    look_again,
    look_around,
    put_posts,
    write_links,
)
from telegram_assistant.stores.postgres.stories.links import complete_own_headers
from telegram_assistant.stores.postgres.stories.post_terms import lock_terms
from telegram_assistant.stores.postgres.stories.scope import Part, Scope, load_scope, plan_locks

ANNOUNCED_AFTER_SPLIT = timedelta(days=1)
"""A split of older posts is no news."""
LEFT_BEHIND_AFTER = timedelta(minutes=1)
MAX_SWEPT = 200


class StoryGroups:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load_grouped(self, posts: Sequence[PostId]) -> Mapping[PostId, tuple[int, Grouped]]:
        """Of posts that are grouped as they were compared last: the hash of the terms,
        and what became of them.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(GROUPED, *ids_of(posts))
        return {
            id_of(row): (
                row["terms_hash"],
                Grouped(
                    id_of(row),
                    StoryId(row["story_id"]),
                    StoryChange.JOINED if row["link"] else StoryChange.CREATED,
                ),
            )
            for row in rows
        }

    async def put(self, posts: Sequence[WeighedPost], revisions: Mapping[PostId, int]) -> PutPosts | None:
        """Stores what the posts are compared by, and announces that their batch begins to look.

        Those that were changed since they were read are left to whoever groups them again; None if that is
        all.
        """
        return await put_posts(self._transactions, posts, revisions)

    async def look_around(self, put: PutPosts) -> Surroundings:
        """Finds what the posts are compared with, without a lock."""
        return await look_around(self._transactions, put)

    async def write_links(
        self, put: PutPosts, around: Surroundings, links: Sequence[Link], weights: DatedWeights
    ) -> Linked:
        """Stores the links of posts that are still as they were compared."""
        return await write_links(self._transactions, put, around, links, weights)

    async def group(
        self, posts: Sequence[WeighedPost], linked: Linked, *, announce_moved: bool
    ) -> list[Grouped]:
        """Groups everything that is connected with what was linked again; of what is connected with too
        much, only these posts.

        `announce_moved` writes a notice for each other post that a split leaves in a story of its own.
        """
        own = {post.post: post for post in posts if post.post in linked.posts}
        newest = max((post.posted_at for post in own.values()), default=None)
        since = newest - ANNOUNCED_AFTER_SPLIT if newest is not None and announce_moved else None
        batch = _Batch(own, linked.incomplete, since)
        return await self._group(batch, linked.seeds)

    async def left_behind(self, now: datetime) -> list[DirtyPost]:
        """Posts whose links have changed and that nobody has grouped for a minute: their batch died."""
        async with self._transactions.begin() as connection:
            return await oldest_dirty(connection, now - LEFT_BEHIND_AFTER, MAX_SWEPT)

    async def sweep(self, dirty: Sequence[DirtyPost], weights: DatedWeights, now: datetime) -> None:
        """Compares and groups what was left behind."""
        compared = {row.post for row in dirty if row.posted_at is not None}
        async with self._transactions.begin() as connection:
            await lock_terms(connection, compared)
            gone = await look_again(connection, sorted(compared), weights)
            freed = {end for link in gone for end in (link.post, link.other)}
            await put_dirty(connection, freed, is_uncompared=False)
            await settle_compared(connection, [row.number for row in dirty])
        seeds = {row.post for row in dirty} | freed
        await self._group(_Batch({}, frozenset(), now - ANNOUNCED_AFTER_SPLIT), seeds)

    async def _group(self, batch: "_Batch", seeds: Collection[PostId]) -> list[Grouped]:
        waiting, changes, must_wait = set(seeds), list[Grouped](), False
        while waiting:
            async with self._transactions.begin() as connection:
                plan = await plan_locks(connection, waiting)
                held = await _lock(connection, plan.keys, must_wait=must_wait)
                ready, changed = await _group_held(connection, batch, plan.posts, held)
                changes += changed
            must_wait = ready != plan.posts
            waiting -= ready
        return changes


@dataclass(frozen=True, slots=True)
class _Batch:
    """The facts about a batch for all transactions in which it is grouped."""

    own: Mapping[PostId, WeighedPost]
    incomplete: frozenset[PostId]
    announced_since: datetime | None


async def _lock(connection: Connection, keys: Sequence[int], *, must_wait: bool) -> set[int]:
    """Returns the keys that are held until the transaction ends: all, if it waits for them.

    Whoever waits has nothing yet, and everybody waits in the same order.
    """
    if must_wait:
        await connection.execute(WAIT_FOR_LOCKS, keys)
        return set(keys)
    rows = await connection.fetch(TRY_LOCKS, keys)
    return {row["key"] for row in rows if row["is_held"]}


async def _group_held(
    connection: Connection, batch: _Batch, seeds: frozenset[PostId], held: set[int]
) -> tuple[frozenset[PostId], list[Grouped]]:
    """Groups those parts of the posts of which every lock is held, as they are now: one may have grown since
    its locks were chosen. Returns the posts of these parts.
    """
    await complete_own_headers(connection, batch.incomplete & seeds)
    dirty = await load_dirty(connection, seeds)
    scope = await load_scope(connection, seeds)
    parts = [part for part in scope.parts if part.keys <= held]
    changes = await _group_parts(connection, batch, scope, parts, seeds)
    ready = seeds & {post for part in parts for post in part.posts}
    await remove_dirty(connection, [number for number, post in dirty.items() if post in ready])
    return ready, changes


async def _group_parts(
    connection: Connection, batch: _Batch, scope: Scope, parts: Sequence[Part], seeds: frozenset[PostId]
) -> list[Grouped]:
    changes: list[Grouped] = []
    crowds = [post for part in parts if part.is_large for post in part.posts & batch.own.keys()]
    whole = {post for part in parts if not part.is_large for post in part.posts}
    if whole:
        grouped = whole & seeds
        regrouped = Regrouped(
            {post: weighed for post, weighed in batch.own.items() if post in grouped},
            {post: known for post, known in scope.known.items() if post in whole},
            [link for link in scope.links if link.post in whole and link.other in whole],
        )
        changes += await group_again(connection, regrouped, announced_since=batch.announced_since)
    if crowds:
        changes += await attach(connection, [batch.own[post] for post in crowds], scope.links, scope.known)
    return changes


GROUPED = f"""
SELECT s.channel_id, s.message_id, s.story_id, s.link, s.terms_hash FROM {WANTED}
CROSS JOIN LATERAL (SELECT * FROM story_posts WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) s
LEFT JOIN LATERAL (SELECT terms_hash FROM post_terms WHERE channel_id = w.channel_id
    AND message_id = w.message_id LIMIT 1) t ON true
WHERE t.terms_hash IS NULL OR t.terms_hash = s.terms_hash
"""

TRY_LOCKS = "SELECT key, pg_try_advisory_xact_lock(key) AS is_held FROM unnest($1::bigint[]) AS key"

WAIT_FOR_LOCKS = """
SELECT pg_advisory_xact_lock(key) FROM (SELECT key FROM unnest($1::bigint[]) AS key ORDER BY key OFFSET 0) k
"""
