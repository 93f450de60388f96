"""Links posts and groups them into stories: one batch at a time, whichever process does it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.assignment import Assignment, assign
from telegram_assistant.domain.stories.partition import partition
from telegram_assistant.domain.stories.story import SUREST, Link, LinkKind, StoryChange, StoryId
from telegram_assistant.domain.stories.terms import WeighedPost
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions
from telegram_assistant.stores.postgres.stories.grouping_sql import (
    ARRIVED,
    COMPONENT,
    GROUPING,
    HASHES,
    JOIN,
    KNOWN,
    LINK,
    LINKED,
    MERGE,
    STORED,
    TELL,
    UNLINK,
)
from telegram_assistant.stores.postgres.stories.stories import link_of


@dataclass(frozen=True, slots=True)
class Compared:
    """A post with the links that it was found to have. `hashes` are those of the terms with which the other ends were compared."""

    told: WeighedPost
    links: tuple[Link, ...]
    hashes: Mapping[PostId, int]


@dataclass(frozen=True, slots=True)
class Grouped:
    """What became of a post: its story, and how that changed."""

    post: PostId
    story_id: StoryId
    change: StoryChange


@dataclass(frozen=True, slots=True)
class _Known:
    story_id: StoryId
    link: str | None
    terms_hash: int


class StoryGroups:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def grouped(self, posts: Sequence[PostId]) -> Mapping[PostId, tuple[int, Grouped]]:
        """Of posts that are grouped already: the hash of the terms with which they were compared, and what became of them."""
        async with self._transactions.begin() as connection:
            known = await _known(connection, posts)
        return {
            post: (one.terms_hash, Grouped(post, one.story_id, StoryChange.JOINED if one.link else StoryChange.CREATED))
            for post, one in known.items()
        }

    async def regroup(self, compared: Sequence[Compared]) -> list[Grouped]:
        """Stores the links of these posts and groups everything that they are connected with again.

        A post that was edited meanwhile is left to whoever compares it again; so is a link to such a post.
        """
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock($1)", GROUPING)
            compared = await _current(connection, compared)
            if not compared:
                return []
            posts = [one.told.post for one in compared]
            before = await _linked(connection, posts)
            await _unlink(connection, compared, before)
            await _link(connection, await _complete(connection, [link for one in compared for link in one.links]))
            await connection.execute(ARRIVED, *_ids(posts), [one.told.posted_at for one in compared], [one.told.is_private for one in compared])
            seeds = {*posts, *(end for link in before for end in (link.post, link.other))}
            links = await _component(connection, seeds)
            return await _write(connection, compared, seeds, links)


async def _current(connection: Connection, compared: Sequence[Compared]) -> list[Compared]:
    """Without what was compared with terms that are stored no more."""
    wanted = {one.told.post: one.told.terms_hash for one in compared} | {post: value for one in compared for post, value in one.hashes.items()}
    rows = await connection.fetch(HASHES, *_ids(wanted))
    stored = {_id(row): row["terms_hash"] for row in rows}
    return [
        Compared(one.told, tuple(link for link in one.links if _is_current(link, one, stored)), one.hashes)
        for one in compared
        if stored.get(one.told.post) == one.told.terms_hash
    ]


def _is_current(link: Link, one: Compared, stored: Mapping[PostId, int]) -> bool:
    other = link.other if link.post == one.told.post else link.post
    return link.kind.is_certain or stored.get(other) == one.hashes.get(other)


async def _linked(connection: Connection, posts: Sequence[PostId]) -> list[Link]:
    return [link_of(row) for row in await connection.fetch(LINKED, *_ids(posts))]


async def _unlink(connection: Connection, compared: Sequence[Compared], links: Sequence[Link]) -> None:
    """Removes what these posts said of their headers, and the links to posts that they were compared with now."""
    hashes = {one.told.post: one.hashes for one in compared}
    gone = [one for one in links if _is_gone(one, hashes)]
    await connection.execute(UNLINK, *_ids(one.post for one in gone), *_ids(one.other for one in gone))


def _is_gone(link: Link, hashes: Mapping[PostId, Mapping[PostId, int]]) -> bool:
    if link.kind.is_certain:
        return link.post in hashes
    return link.other in hashes.get(link.post, ()) or link.post in hashes.get(link.other, ())


async def _complete(connection: Connection, links: Sequence[Link]) -> list[Link]:
    """A header names a post, and says neither when it was posted nor whether its channel is private."""
    headers = {link.other for link in links if link.kind.is_certain}
    stored = {_id(row): row for row in await connection.fetch(STORED, *_ids(headers))}
    return [
        replace(link, other_posted_at=row["posted_at"], is_leaf=link.is_leaf or row["is_private"])
        if link.kind.is_certain and (row := stored.get(link.other)) is not None
        else link
        for link in links
    ]


async def _link(connection: Connection, links: Iterable[Link]) -> None:
    best = {}
    for link in sorted(links, key=lambda one: (-SUREST[one.kind], one.score)):
        best[link.post, link.other] = link
    rows = [best[pair] for pair in sorted(best)]
    await connection.execute(
        LINK,
        [one.post.channel_id for one in rows],
        [one.post.message_id for one in rows],
        [one.other.channel_id for one in rows],
        [one.other.message_id for one in rows],
        [one.kind.value for one in rows],
        [one.score for one in rows],
        [one.is_leaf for one in rows],
        [one.posted_at for one in rows],
        [one.other_posted_at for one in rows],
    )


async def _component(connection: Connection, seeds: Collection[PostId]) -> list[Link]:
    """Every link in the parts of the graph that these posts belong to. Private posts hang on it and lead nowhere."""
    rows = await connection.fetch(COMPONENT, *_ids(seeds))
    return list({(link.post, link.other): link for link in (link_of(row) for row in rows)}.values())


async def _write(connection: Connection, compared: Sequence[Compared], seeds: set[PostId], links: Sequence[Link]) -> list[Grouped]:
    own = {one.told.post: one.told for one in compared}
    moments = _moments(links) | {post: told.posted_at for post, told in own.items()}
    known = await _known(connection, [*moments, *seeds])
    stored = {_id(row): row for row in await connection.fetch(STORED, *_ids(moments))}
    times = {post: stored[post]["posted_at"] if post in stored else moment for post, moment in moments.items()}
    private = {post for post, row in stored.items() if row["is_private"]} | {post for post, told in own.items() if told.is_private}
    groups = partition(times, links, private)
    present = [group for one in groups if (group := frozenset(post for post in one if post in stored or post in own))]
    assigned = assign(present, {post: one.story_id for post, one in known.items() if post in times}, lambda: StoryId(uuid4()))
    kinds = _kinds(assigned, links)
    changed = [
        post
        for post, story_id in sorted(assigned.stories.items())
        if post in own or post not in known or known[post].story_id != story_id or known[post].link != kinds.get(post)
    ]
    hashes = {post: own[post].terms_hash if post in own else known[post].terms_hash if post in known else 0 for post in changed}
    await connection.execute(
        JOIN,
        *_ids(changed),
        [assigned.stories[post] for post in changed],
        [times[post] for post in changed],
        [kinds.get(post) for post in changed],
        [hashes[post] for post in changed],
    )
    touched = sorted({assigned.stories[post] for post in changed} | {known[post].story_id for post in changed if post in known})
    await _tell_stories(connection, touched, assigned)
    return _changes(compared, known, assigned, kinds)


def _moments(links: Iterable[Link]) -> dict[PostId, datetime]:
    found: dict[PostId, datetime] = {}
    for link in links:
        for post, moment in ((link.post, link.posted_at), (link.other, link.other_posted_at)):
            found[post] = min(found.get(post, moment), moment)
    return found


def _kinds(assigned: Assignment, links: Iterable[Link]) -> dict[PostId, str]:
    """The surest kind of link that each post has inside its story."""
    surest: dict[PostId, LinkKind] = {}
    for link in links:
        story = assigned.stories.get(link.post)
        if story is not None and story == assigned.stories.get(link.other):
            for post in (link.post, link.other):
                surest[post] = min(surest.get(post, link.kind), link.kind, key=SUREST.__getitem__)
    return {post: kind.value for post, kind in surest.items()}


async def _tell_stories(connection: Connection, touched: Sequence[StoryId], assigned: Assignment) -> None:
    await connection.execute(TELL, touched)
    merged = sorted(assigned.merged.items())
    await connection.execute(MERGE, [story for story, _ in merged], [target for _, target in merged])


def _changes(compared: Sequence[Compared], known: Mapping[PostId, _Known], assigned: Assignment, kinds: Mapping[PostId, str]) -> list[Grouped]:
    """One change for each post, one for each story that its batch merged or split; those are told about the post's story."""
    found = []
    stories: dict[StoryId, PostId] = {}
    for one in compared:
        post = one.told.post
        story_id = assigned.stories[post]
        stories.setdefault(story_id, post)
        found.append(Grouped(post, story_id, StoryChange.JOINED if post in kinds else StoryChange.CREATED))
    found += [Grouped(stories[target], target, StoryChange.MERGED) for target in sorted(set(assigned.merged.values())) if target in stories]
    remained = {one.story_id for post, one in known.items() if post in assigned.stories and assigned.stories[post] != one.story_id}
    for story_id in sorted(remained - set(assigned.merged)):
        cause = stories.get(story_id, compared[0].told.post)
        found.append(Grouped(cause, story_id, StoryChange.SPLIT))
    return found


async def _known(connection: Connection, posts: Iterable[PostId]) -> dict[PostId, _Known]:
    rows = await connection.fetch(KNOWN, *_ids(set(posts)))
    return {_id(row): _Known(StoryId(row["story_id"]), row["link"], row["terms_hash"]) for row in rows}


def _ids(posts: Iterable[PostId]) -> tuple[list[int], list[int]]:
    listed = list(posts)
    return [one.channel_id for one in listed], [one.message_id for one in listed]


def _id(row: asyncpg.Record) -> PostId:
    return PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))
