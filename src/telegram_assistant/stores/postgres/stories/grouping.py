"""Links posts and groups them into stories: one batch at a time, whichever process does it."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import uuid4

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.stories.assignment import Assignment, assign
from telegram_assistant.domain.stories.bursts import bursting_posts
from telegram_assistant.domain.stories.partition import partition
from telegram_assistant.domain.stories.story import SUREST, Link, LinkKind, StoryChange, StoryId
from telegram_assistant.domain.stories.terms import TermWeights, WeighedPost
from telegram_assistant.events import PostGrouped
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions
from telegram_assistant.stores.postgres.pipeline.notices import QueuedNotice, write_notices
from telegram_assistant.stores.postgres.stories.attaching import attach
from telegram_assistant.stores.postgres.stories.grouped_posts import (
    WANTED,
    DatedPost,
    Grouped,
    KnownPost,
    StoryPostRow,
    id_of,
    ids_of,
    load_known_posts,
    put_members,
    put_stories,
    stored_posts,
)
from telegram_assistant.stores.postgres.stories.links import (
    complete_headers,
    connected_links,
    load_links,
    put_links,
    remove_links,
)
from telegram_assistant.stores.postgres.stories.neighbours import (
    MAX_FOUND,
    Neighbours,
    earlier_posts,
    later_posts,
)
from telegram_assistant.stores.postgres.stories.post_terms import (
    add_found_counts,
    found_counts,
    load_weighed_posts,
    put_terms,
    remove_terms,
    set_found_counts,
)

GROUPING = 41_001
"""The number of the lock under which one batch at a time is grouped."""

ANNOUNCED_AFTER_SPLIT = timedelta(days=1)
"""A split of older posts is no news."""

MAX_AGAIN, AGAIN_EACH = 60, 10
"""So many later posts, and so many more for each new one, are compared again: an edit among thousands of the
same posts must not repeat all their work."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A post with the links that it was found to have.

    If it is told, new or edited, its headers and its links to later posts are among them.
    """

    post: WeighedPost
    links: tuple[Link, ...]
    similar_count: int
    """Earlier public posts that share enough terms with it."""
    is_changed: bool = True


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The posts that new posts are compared with."""

    neighbours: Mapping[PostId, Neighbours]
    again: tuple[WeighedPost, ...]
    """Later posts that are compared again with the posts before them:
    there were too many for all to be compared, and now there is another.
    """


class StoryGroups:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load_grouped(self, posts: Sequence[PostId]) -> Mapping[PostId, tuple[int, Grouped]]:
        """Of posts that are grouped already: the hash of the terms with which they were compared,
        and what became of them.
        """
        async with self._transactions.begin() as connection:
            known_posts = await load_known_posts(connection, posts)
        return {
            post: (
                known_post.terms_hash,
                Grouped(
                    post, known_post.story_id, StoryChange.JOINED if known_post.link else StoryChange.CREATED
                ),
            )
            for post, known_post in known_posts.items()
        }

    @asynccontextmanager
    async def alone(self) -> AsyncIterator["GroupingBatch"]:
        """One batch at a time is grouped, whichever process does it;
        a process that is killed leaves nothing behind.
        """
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock($1)", GROUPING)
            yield GroupingBatch(connection)


REVISIONS = f"""
SELECT p.channel_id, p.message_id, p.revision FROM {WANTED}
CROSS JOIN LATERAL (SELECT * FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) p
"""


class GroupingBatch:
    """One batch that is being grouped."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def select_unchanged(self, revisions: Mapping[PostId, int]) -> set[PostId]:
        """Those of the posts that are still as they were read.

        An edited one is left to whoever groups it again.
        """
        rows = await self._connection.fetch(REVISIONS, *ids_of(revisions))
        return {id_of(row) for row in rows if revisions[id_of(row)] == row["revision"]}

    async def surround(self, posts: Sequence[WeighedPost], weights: TermWeights) -> Surroundings:
        """Stores what posts are compared by, and finds what they are compared with."""
        connection, own = self._connection, {weighed.post for weighed in posts}
        await remove_terms(connection, posts)
        later = await later_posts(connection, posts, weights)
        await put_terms(connection, posts, weights)
        new_counts: dict[PostId, int] = {}
        for weighed in posts:
            for other in later[weighed.post]:
                new_counts[other.post] = new_counts.get(other.post, 0) + (not weighed.is_private)
        before = await found_counts(connection, new_counts)
        crowded = {post for post, count in before.items() if count + new_counts[post] > MAX_FOUND}
        linked_posts = {
            link.post for link in await load_links(connection, list(own)) if not link.kind.is_certain
        }
        regrouped = set(sorted((crowded | linked_posts) - own)[: MAX_AGAIN + AGAIN_EACH * len(own)])
        await add_found_counts(connection, {post: count for post, count in new_counts.items() if count})
        repeated = tuple(await load_weighed_posts(connection, regrouped, weights))
        earlier = await earlier_posts(connection, (*posts, *repeated), weights)
        return Surroundings(
            {
                post: replace(neighbours, later=tuple(later.get(post, ())))
                for post, neighbours in earlier.items()
            },
            repeated,
        )

    async def regroup(self, compared: Sequence[Compared], *, announce_moved: bool) -> list[Grouped]:
        """Stores the links of these posts and groups everything that they are connected with again;
        if that is too much, only these posts.

        `announce_moved` writes a notice for each other post that a split leaves in a story of its own: the
        watches that have told its old story have not told this one.
        """
        connection = self._connection
        arrived = [comparison for comparison in compared if comparison.is_changed]
        posts = [comparison.post.post for comparison in compared]
        before = await load_links(connection, posts)
        await remove_links(
            connection, before, arrived={comparison.post.post for comparison in arrived}, compared=set(posts)
        )
        await put_links(connection, [link for comparison in compared for link in comparison.links])
        await complete_headers(connection, [comparison.post for comparison in arrived])
        await set_found_counts(
            connection, {comparison.post.post: comparison.similar_count for comparison in compared}
        )
        seeds = {*posts, *(end for link in before for end in (link.post, link.other))}
        links = await connected_links(connection, seeds)
        return (
            await attach(connection, [comparison.post for comparison in arrived])
            if links is None
            else await _write(connection, arrived, seeds, links, announce_moved=announce_moved)
        )


async def _write(
    connection: Connection,
    compared: Sequence[Compared],
    seeds: set[PostId],
    links: Sequence[Link],
    *,
    announce_moved: bool,
) -> list[Grouped]:
    own = {comparison.post.post: comparison.post for comparison in compared}
    moments = _moments(links) | {post: weighed.posted_at for post, weighed in own.items()}
    known_posts = await load_known_posts(connection, [*moments, *seeds])
    stored = await stored_posts(connection, {*moments, *known_posts})
    private = {post for post, stored_post in stored.items() if stored_post.is_private} | {
        post for post, weighed in own.items() if weighed.is_private
    }
    times = moments | {post: stored_post.posted_at for post, stored_post in stored.items()}
    groups = await asyncio.to_thread(partition, times, links, private)
    present = [
        group
        for members in groups
        if (group := frozenset(post for post in members if post in stored or post in own))
    ]
    assigned = assign(
        present,
        {post: known_post.story_id for post, known_post in known_posts.items() if post in times},
        lambda: StoryId(uuid4()),
    )
    kinds, bursting = _kinds(assigned, links), _bursting(assigned, times)
    changed = [
        post
        for post, story_id in sorted(assigned.stories.items())
        if post in own
        or post not in known_posts
        or _row(known_posts[post]) != (story_id, kinds.get(post), post in bursting)
    ]
    hashes = {
        post: own[post].terms_hash
        if post in own
        else known_posts[post].terms_hash
        if post in known_posts
        else 0
        for post in changed
    }
    await put_members(
        connection,
        [
            StoryPostRow(
                post,
                assigned.stories[post],
                times[post],
                kinds.get(post),
                hashes[post],
                post in bursting,
            )
            for post in changed
        ],
    )
    left_stories = {known_posts[post].story_id for post in changed if post in known_posts}
    await put_stories(connection, left_stories | {assigned.stories[post] for post in changed})
    await _merge_stories(connection, assigned)
    if announce_moved:
        newest = max(weighed.posted_at for weighed in own.values())
        moved = {
            post: stored[post]
            for post in _split_off(known_posts, assigned) - own.keys()
            if times[post] > newest - ANNOUNCED_AFTER_SPLIT
        }
        if moved:
            await _announce(connection, assigned, moved)
    return _changes(compared, known_posts, assigned, kinds)


def _moments(links: Iterable[Link]) -> dict[PostId, datetime]:
    moments: dict[PostId, datetime] = {}
    for link in links:
        for post, moment in ((link.post, link.posted_at), (link.other, link.other_posted_at)):
            moments[post] = min(moments.get(post, moment), moment)
    return moments


def _kinds(assigned: Assignment, links: Iterable[Link]) -> dict[PostId, str]:
    """The surest kind of link that each post has inside its story."""
    surest: dict[PostId, LinkKind] = {}
    for link in links:
        story = assigned.stories.get(link.post)
        if story is not None and story == assigned.stories.get(link.other):
            for post in (link.post, link.other):
                surest[post] = min(surest.get(post, link.kind), link.kind, key=SUREST.__getitem__)
    return {post: kind.value for post, kind in surest.items()}


def _bursting(assigned: Assignment, times: Mapping[PostId, datetime]) -> set[PostId]:
    story_posts: dict[StoryId, list[tuple[datetime, PostId]]] = {}
    for post, story_id in assigned.stories.items():
        story_posts.setdefault(story_id, []).append((times[post], post))
    return {post for posts in story_posts.values() for post in bursting_posts(posts)}


def _row(known: KnownPost) -> tuple[StoryId, str | None, bool]:
    return known.story_id, known.link, known.is_bursting


MERGE = """
UPDATE stories s SET merged_into = m.target, posts = 0, changed_at = now()
FROM unnest($1::uuid[], $2::uuid[]) AS m(story_id, target)
WHERE s.story_id = m.story_id
"""


async def _merge_stories(connection: Connection, assigned: Assignment) -> None:
    merged = sorted(assigned.merged.items())
    await connection.execute(MERGE, [story for story, _ in merged], [target for _, target in merged])


def _split_off(known: Mapping[PostId, KnownPost], assigned: Assignment) -> set[PostId]:
    """The posts that are in another story now, unless all of their old story went there."""
    return {
        post
        for post, known_post in known.items()
        if post in assigned.stories
        and assigned.stories[post] not in {known_post.story_id, assigned.merged.get(known_post.story_id)}
    }


async def _announce(connection: Connection, assigned: Assignment, posts: Mapping[PostId, DatedPost]) -> None:
    await write_notices(
        connection,
        [
            QueuedNotice(
                PostGrouped.about(
                    post,
                    dated_post.revision,
                    occurred_at=dated_post.posted_at,
                    trace_id=trace_of(post, dated_post.revision),
                    story_id=str(assigned.stories[post]),
                ),
                Lane.LIVE,
            )
            for post, dated_post in sorted(posts.items())
        ],
    )


def _changes(
    compared: Sequence[Compared],
    known: Mapping[PostId, KnownPost],
    assigned: Assignment,
    kinds: Mapping[PostId, str],
) -> list[Grouped]:
    """One change for each post, one for each story that its batch merged or split;
    those are told about the post's story.
    """
    changes = []
    stories: dict[StoryId, PostId] = {}
    for comparison in compared:
        post = comparison.post.post
        story_id = assigned.stories[post]
        stories.setdefault(story_id, post)
        changes.append(Grouped(post, story_id, StoryChange.JOINED if post in kinds else StoryChange.CREATED))
    changes += [
        Grouped(stories[target], target, StoryChange.MERGED)
        for target in sorted(set(assigned.merged.values()))
        if target in stories
    ]
    remained = {
        known_post.story_id
        for post, known_post in known.items()
        if post in assigned.stories and assigned.stories[post] != known_post.story_id
    }
    for story_id in sorted(remained - set(assigned.merged)):
        cause = stories.get(story_id, compared[0].post.post)
        changes.append(Grouped(cause, story_id, StoryChange.SPLIT))
    return changes
