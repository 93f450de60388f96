"""Links posts and groups them into stories: one batch at a time, whichever process does it."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.assignment import Assignment, assign
from telegram_assistant.domain.stories.bursts import bursting_posts
from telegram_assistant.domain.stories.partition import partition
from telegram_assistant.domain.stories.story import SUREST, Link, LinkKind, StoryChange, StoryId
from telegram_assistant.domain.stories.terms import TermWeights, WeighedPost
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions
from telegram_assistant.stores.postgres.stories.attaching import attach
from telegram_assistant.stores.postgres.stories.grouped_posts import (
    Grouped,
    KnownPost,
    id_of,
    ids_of,
    known_posts,
    linked_with,
)
from telegram_assistant.stores.postgres.stories.grouping_sql import (
    ARRIVED,
    FOUND,
    FOUND_MORE,
    GROUPING,
    JOIN,
    LINK,
    MERGE,
    REACHED,
    REVISIONS,
    ROOM,
    STORED,
    TELL,
    UNLINK,
)
from telegram_assistant.stores.postgres.stories.neighbours import (
    MAX_FOUND,
    Neighbours,
    earlier_posts,
    later_posts,
)
from telegram_assistant.stores.postgres.stories.post_terms import put_terms, remove_terms, weighed_posts

MAX_AGAIN, AGAIN_EACH = 60, 10
"""So many later posts, and so many more for each new one, are compared again: an edit among thousands of the
same posts must not repeat all their work."""
MAX_CONNECTED, CONNECTED_EACH = 200, 10
"""So many posts, and so many more for each new one, are grouped again.

A channel that posts the same all day connects thousands.
"""


@dataclass(frozen=True, slots=True)
class Compared:
    """A post with the links that it was found to have.

    If it is told, new or edited, its headers and its links to later posts are among them.
    """

    told: WeighedPost
    links: tuple[Link, ...]
    found: int
    """Earlier public posts that share enough terms with it."""
    is_told: bool = True


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What new posts are compared with."""

    neighbours: Mapping[PostId, Neighbours]
    again: tuple[WeighedPost, ...]
    """Later posts that are compared again with the posts before them:
    there were too many for all to be compared, and now there is another.
    """


class StoryGroups:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def grouped(self, posts: Sequence[PostId]) -> Mapping[PostId, tuple[int, Grouped]]:
        """Of posts that are grouped already: the hash of the terms with which they were compared,
        and what became of them.
        """
        async with self._transactions.begin() as connection:
            known = await known_posts(connection, posts)
        return {
            post: (
                known_post.terms_hash,
                Grouped(
                    post, known_post.story_id, StoryChange.JOINED if known_post.link else StoryChange.CREATED
                ),
            )
            for post, known_post in known.items()
        }

    @asynccontextmanager
    async def alone(self) -> AsyncIterator["Grouping"]:
        """One batch at a time is grouped, whichever process does it;
        a process that is killed leaves nothing behind.
        """
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock($1)", GROUPING)
            yield Grouping(connection)


class Grouping:
    """One batch that is being grouped."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def unchanged(self, revisions: Mapping[PostId, int]) -> set[PostId]:
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
        new: dict[PostId, int] = {}
        for weighed in posts:
            for other in later[weighed.post]:
                new[other.post] = new.get(other.post, 0) + (not weighed.is_private)
        rows = await connection.fetch(ROOM, *ids_of(new))
        crowded = {id_of(row) for row in rows if row["found"] + new[id_of(row)] > MAX_FOUND}
        linked = {link.post for link in await linked_with(connection, list(own)) if not link.kind.is_certain}
        again = set(sorted((crowded | linked) - own)[: MAX_AGAIN + AGAIN_EACH * len(own)])
        more = {post: count for post, count in new.items() if count}
        await connection.execute(FOUND_MORE, *ids_of(more), list(more.values()))
        repeated = tuple(await weighed_posts(connection, again, weights))
        earlier = await earlier_posts(connection, (*posts, *repeated), weights)
        return Surroundings(
            {
                post: replace(neighbours, later=tuple(later.get(post, ())))
                for post, neighbours in earlier.items()
            },
            repeated,
        )

    async def regroup(self, compared: Sequence[Compared]) -> list[Grouped]:
        """Stores the links of these posts and groups everything that they are connected with again;
        if that is too much, only these posts.
        """
        connection = self._connection
        arrived = [comparison for comparison in compared if comparison.is_told]
        before = await linked_with(connection, [comparison.told.post for comparison in compared])
        await _unlink(connection, compared, before)
        await _link(
            connection,
            await _complete(connection, [link for comparison in compared for link in comparison.links]),
        )
        posts = [comparison.told.post for comparison in arrived]
        await connection.execute(
            ARRIVED,
            *ids_of(posts),
            [comparison.told.posted_at for comparison in arrived],
            [comparison.told.is_private for comparison in arrived],
        )
        await connection.execute(
            FOUND,
            *ids_of(comparison.told.post for comparison in compared),
            [comparison.found for comparison in compared],
        )
        seeds = {
            *(comparison.told.post for comparison in compared),
            *(end for link in before for end in (link.post, link.other)),
        }
        links = await _component(connection, seeds)
        return (
            await attach(connection, [comparison.told for comparison in arrived])
            if links is None
            else await _write(connection, arrived, seeds, links)
        )


async def _unlink(connection: Connection, compared: Sequence[Compared], links: Sequence[Link]) -> None:
    """Removes what these posts said of their headers, and the links that were estimated again.

    Posts whose terms were forgotten keep theirs.
    """
    known = {
        id_of(row)
        for row in await connection.fetch(
            ROOM, *ids_of({end for link in links for end in (link.post, link.other)})
        )
    }
    arrived = {comparison.told.post for comparison in compared if comparison.is_told}
    again = {comparison.told.post for comparison in compared}
    gone = [
        link
        for link in links
        if (
            link.post in arrived
            if link.kind.is_certain
            else {link.post, link.other} <= known and (link.post in again or link.other in arrived)
        )
    ]
    await connection.execute(
        UNLINK, *ids_of(link.post for link in gone), *ids_of(link.other for link in gone)
    )


async def _complete(connection: Connection, links: Sequence[Link]) -> list[Link]:
    """A header names a post, and says neither when it was posted nor whether its channel is private."""
    headers = {link.other for link in links if link.kind.is_certain}
    stored = {id_of(row): row for row in await connection.fetch(STORED, *ids_of(headers))}
    return [
        replace(link, other_posted_at=row["posted_at"], is_leaf=link.is_leaf or row["is_private"])
        if link.kind.is_certain and (row := stored.get(link.other)) is not None
        else link
        for link in links
    ]


async def _link(connection: Connection, links: Iterable[Link]) -> None:
    best = {}
    for link in sorted(links, key=lambda link: (-SUREST[link.kind], link.score)):
        best[link.post, link.other] = link
    rows = [best[pair] for pair in sorted(best)]
    await connection.execute(
        LINK,
        [row.post.channel_id for row in rows],
        [row.post.message_id for row in rows],
        [row.other.channel_id for row in rows],
        [row.other.message_id for row in rows],
        [row.kind.value for row in rows],
        [row.score for row in rows],
        [row.is_leaf for row in rows],
        [row.posted_at for row in rows],
        [row.other_posted_at for row in rows],
    )


async def _component(connection: Connection, seeds: Collection[PostId]) -> list[Link] | None:
    """Every link in the parts of the graph that these posts belong to, through private posts, too;
    None if there are too many posts.
    """
    most = MAX_CONNECTED + CONNECTED_EACH * len(seeds)
    reached = [id_of(row) for row in await connection.fetch(REACHED, *ids_of(seeds), most + 1)]
    if len(reached) > most:
        return None
    return list({(link.post, link.other): link for link in await linked_with(connection, reached)}.values())


async def _write(
    connection: Connection, compared: Sequence[Compared], seeds: set[PostId], links: Sequence[Link]
) -> list[Grouped]:
    own = {comparison.told.post: comparison.told for comparison in compared}
    moments = _moments(links) | {post: weighed.posted_at for post, weighed in own.items()}
    known = await known_posts(connection, [*moments, *seeds])
    stored = {id_of(row): row for row in await connection.fetch(STORED, *ids_of({*moments, *known}))}
    private = {post for post, row in stored.items() if row["is_private"]} | {
        post for post, weighed in own.items() if weighed.is_private
    }
    times = moments | {post: row["posted_at"] for post, row in stored.items()}
    groups = await asyncio.to_thread(partition, times, links, private)
    present = [
        group
        for members in groups
        if (group := frozenset(post for post in members if post in stored or post in own))
    ]
    assigned = assign(
        present,
        {post: known_post.story_id for post, known_post in known.items() if post in times},
        lambda: StoryId(uuid4()),
    )
    kinds, bursting = _kinds(assigned, links), _bursting(assigned, times)
    changed = [
        post
        for post, story_id in sorted(assigned.stories.items())
        if post in own
        or post not in known
        or _row(known[post]) != (story_id, kinds.get(post), post in bursting)
    ]
    hashes = {
        post: own[post].terms_hash if post in own else known[post].terms_hash if post in known else 0
        for post in changed
    }
    await connection.execute(
        JOIN,
        *ids_of(changed),
        [assigned.stories[post] for post in changed],
        [times[post] for post in changed],
        [kinds.get(post) for post in changed],
        [hashes[post] for post in changed],
        [post in bursting for post in changed],
    )
    touched = sorted(
        {assigned.stories[post] for post in changed}
        | {known[post].story_id for post in changed if post in known}
    )
    await _tell_stories(connection, touched, assigned)
    return _changes(compared, known, assigned, kinds)


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


async def _tell_stories(connection: Connection, touched: Sequence[StoryId], assigned: Assignment) -> None:
    await connection.execute(TELL, touched)
    merged = sorted(assigned.merged.items())
    await connection.execute(MERGE, [story for story, _ in merged], [target for _, target in merged])


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
        post = comparison.told.post
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
        cause = stories.get(story_id, compared[0].told.post)
        changes.append(Grouped(cause, story_id, StoryChange.SPLIT))
    return changes
