"""Parts of the posts that are grouped together: everything that is connected, by links or by a story."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.story import Link, StoryId
from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.stories.grouped_posts import (
    WANTED,
    KnownPost,
    id_of,
    ids_of,
    load_known_posts,
)
from telegram_assistant.stores.postgres.stories.links import FROM_POST, TO_POST, load_links

MAX_PART = 400
"""A part with more posts is not grouped again: its new posts join its stories. A channel that posts the same
all day connects thousands."""
REACHED_EACH = 4
"""With so many more for each post that is asked for, parts are read at once; beyond, one by one."""
MAX_LOCKS = 256
"""Of one transaction: the table of locks is one for the whole server."""


@dataclass(frozen=True, slots=True)
class Part:
    """Posts that are connected, and the keys of the locks under which they are grouped."""

    posts: frozenset[PostId]
    keys: frozenset[int]
    is_large: bool = False
    """Only the posts that were asked for are among `posts`: too many are connected with them."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The parts that some posts belong to, with what is stored of them."""

    parts: tuple[Part, ...]
    known: Mapping[PostId, KnownPost]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class LockPlan:
    """The next of some posts to be grouped, and the locks that they need."""

    posts: frozenset[PostId]
    keys: tuple[int, ...]


async def plan_locks(connection: Connection, seeds: Collection[PostId]) -> LockPlan:
    """All of these posts, or as many of their parts as one transaction takes locks for."""
    reached = await _read_reached(connection, seeds)
    if not reached.large and not reached.too_large:
        keys = {lock_of(post, reached.known) for post in reached.posts}
        if len(keys) <= MAX_LOCKS:
            return LockPlan(frozenset(seeds), tuple(sorted(keys)))
    chosen, locks = set[PostId](), set[int]()
    for part in (await _load_parts(connection, seeds, reached)).parts:
        if chosen and len(locks | part.keys) > MAX_LOCKS:
            break
        chosen |= part.posts
        locks |= part.keys
    return LockPlan(frozenset(chosen & set(seeds)), tuple(sorted(locks)))


async def load_scope(connection: Connection, seeds: Collection[PostId]) -> Scope:
    """Reads the parts of these posts."""
    return await _load_parts(connection, seeds, await _read_reached(connection, seeds))


@dataclass(frozen=True, slots=True)
class _Reached:
    posts: set[PostId]
    known: dict[PostId, KnownPost]
    large: set[PostId]
    """Seeds that are connected with too many posts by links; the others are among `posts`."""
    too_large: set[StoryId]


async def _read_reached(connection: Connection, seeds: Collection[PostId]) -> _Reached:
    """Follows links and stories.

    A story is in one part also where no link holds it together any more: otherwise two groupings would give
    its id to both halves.
    """
    wanted, large = set(seeds), set[PostId]()
    while True:
        posts, more_large = await _reach(connection, wanted)
        large |= more_large
        wanted -= more_large
        known = await load_known_posts(connection, posts)
        missing, too_large = await _members_beyond(connection, known)
        if not missing:
            return _Reached(posts, known, large & set(seeds), too_large)
        wanted |= missing


async def _load_parts(connection: Connection, seeds: Collection[PostId], reached: _Reached) -> Scope:
    known, crowd = reached.known, set(reached.large)
    links = await load_links(connection, reached.posts)
    parts = []
    for posts in _parts(reached.posts, links, known):
        if len(posts) > MAX_PART or any(
            post in known and known[post].story_id in reached.too_large for post in posts
        ):
            crowd |= posts & set(seeds)
        else:
            parts.append(Part(frozenset(posts), frozenset(lock_of(post, known) for post in posts)))
    if crowd:
        crowd_links = await load_links(connection, crowd)
        ends = {end for link in crowd_links for end in (link.post, link.other)}
        known = {**known, **await load_known_posts(connection, crowd | ends)}
        links = list({(link.post, link.other): link for link in (*links, *crowd_links)}.values())
        keys = frozenset(lock_of(post, known) for post in crowd | (ends & known.keys()))
        parts.append(Part(frozenset(crowd), keys, is_large=True))
    return Scope(tuple(parts), known, tuple(links))


async def _reach(connection: Connection, seeds: Collection[PostId]) -> tuple[set[PostId], set[PostId]]:
    """Everything that the posts are connected with by links; and those that are connected with too much."""
    max_reached = MAX_PART + REACHED_EACH * (len(seeds) - 1)
    rows = await connection.fetch(REACHED, *ids_of(seeds), max_reached + 1)
    if len(rows) <= max_reached:
        return {id_of(row) for row in rows}, set()
    reached, large, crowd = set[PostId](), set[PostId](), set[PostId]()
    for post in sorted(seeds):
        if post in reached:
            continue
        if post not in crowd:
            rows = await connection.fetch(REACHED, *ids_of([post]), MAX_PART + 1)
            (reached if len(rows) <= MAX_PART else crowd).update(map(id_of, rows))
        if post in crowd:
            large.add(post)
    return reached, large


async def _members_beyond(
    connection: Connection, known: Mapping[PostId, KnownPost]
) -> tuple[set[PostId], set[StoryId]]:
    """The posts of these stories that are not among the known ones; and the stories that have too many."""
    counts = Counter(post.story_id for post in known.values())
    rows = await connection.fetch(SIZES, list(counts)) if counts else []
    too_large = {StoryId(row["story_id"]) for row in rows if row["posts"] > MAX_PART}
    incomplete = [
        row["story_id"]
        for row in rows
        if row["story_id"] not in too_large and row["posts"] != counts[StoryId(row["story_id"])]
    ]
    if not incomplete:
        return set(), too_large
    members = await connection.fetch(MEMBERS, incomplete)
    return {id_of(row) for row in members} - known.keys(), too_large


def lock_of(post: PostId, known: Mapping[PostId, KnownPost]) -> int:
    """The key of the lock under which a post is grouped: that of its story, or its own."""
    if post in known:
        return int.from_bytes(known[post].story_id.bytes[:8], signed=True)
    digest = blake2b(b"%d %d" % (post.channel_id, post.message_id), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _parts(
    posts: Collection[PostId], links: Iterable[Link], known: Mapping[PostId, KnownPost]
) -> list[set[PostId]]:
    root = {post: post for post in posts}

    def find(post: PostId) -> PostId:
        while root[post] != post:
            root[post] = root[root[post]]
            post = root[post]
        return post

    first: dict[StoryId, PostId] = {}
    pairs = [(link.post, link.other) for link in links]
    pairs += [(post, first.setdefault(known_post.story_id, post)) for post, known_post in known.items()]
    for post, other in pairs:
        if post in root and other in root:
            root[find(post)] = find(other)
    parts = defaultdict(set)
    for post in root:
        parts[find(post)].add(post)
    return list(parts.values())


REACHED = f"""
WITH RECURSIVE reached AS (
    SELECT w.channel_id, w.message_id FROM {WANTED}
    UNION
    SELECT n.channel_id, n.message_id FROM reached w CROSS JOIN LATERAL (
        SELECT other_channel_id AS channel_id, other_message_id AS message_id FROM ({FROM_POST}) o
        UNION ALL
        SELECT channel_id, message_id FROM ({TO_POST}) i
    ) n
)
SELECT channel_id, message_id FROM reached LIMIT $3
"""
"""The recursion ends with the limit."""

SIZES = "SELECT story_id, posts FROM stories WHERE story_id = ANY ($1::uuid[])"

MEMBERS = "SELECT channel_id, message_id FROM story_posts WHERE story_id = ANY ($1::uuid[])"
