"""Groups posts into stories, under locks of the stories that are concerned: any number of batches beside each
other.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.stories.assignment import Assignment, assign
from telegram_assistant.domain.stories.bursts import WINDOW, bursting_posts
from telegram_assistant.domain.stories.partition import partition
from telegram_assistant.domain.stories.story import SUREST, Link, LinkKind, StoryChange, StoryId
from telegram_assistant.domain.stories.terms import WeighedPost
from telegram_assistant.events import PostGrouped
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.pipeline.notices import QueuedNotice, write_notices
from telegram_assistant.stores.postgres.stories.grouped_posts import (
    DatedPost,
    Grouped,
    KnownPost,
    StoryPostRow,
    id_of,
    ids_of,
    put_members,
    put_stories,
    stored_posts,
)


@dataclass(frozen=True, slots=True)
class Regrouped:
    """Posts that are grouped at once, with everything that they are connected with."""

    own: Mapping[PostId, WeighedPost]
    """Those of them that are new or edited."""
    known: Mapping[PostId, KnownPost]
    links: Sequence[Link]


async def group_again(
    connection: Connection, regrouped: Regrouped, *, announced_since: datetime | None
) -> list[Grouped]:
    """Groups whole parts again, whose locks are held. Returns how that changed the own posts.

    From `announced_since` on it writes a notice for each other post that a split leaves in a story of its
    own: the watches that have told its old story have not told this one.
    """
    own, links = regrouped.own, regrouped.links
    known_posts = regrouped.known
    moments = _moments(links) | {post: weighed.posted_at for post, weighed in own.items()}
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
    if announced_since is not None:
        moved = {
            post: stored[post]
            for post in _split_off(known_posts, assigned) - own.keys()
            if times[post] > announced_since
        }
        if moved:
            await _announce(connection, assigned, moved)
    return _changes(list(own), known_posts, assigned, kinds)


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
    if merged := sorted(assigned.merged.items()):
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
    own: Sequence[PostId],
    known: Mapping[PostId, KnownPost],
    assigned: Assignment,
    kinds: Mapping[PostId, str],
) -> list[Grouped]:
    """One change for each post, one for each story that its batch merged or split;
    those are told about the post's story.
    """
    changes: list[Grouped] = []
    stories: dict[StoryId, PostId] = {}
    for post in own:
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
    for story_id in sorted(remained - set(assigned.merged)) if own else ():
        changes.append(Grouped(stories.get(story_id, own[0]), story_id, StoryChange.SPLIT))
    return changes


async def attach(
    connection: Connection,
    posts: Collection[WeighedPost],
    links: Iterable[Link],
    known: Mapping[PostId, KnownPost],
) -> list[Grouped]:
    """Lets each new post join the story with which it is linked best.

    Stories that are there stay as they are, and no private post leads to one.
    """
    own = {weighed.post: weighed for weighed in posts}
    links_by_post: dict[PostId, list[Link]] = {post: [] for post in own}
    for link in links:
        for post in {link.post, link.other} & own.keys():
            if own[post].is_private or not link.is_leaf:
                links_by_post[post].append(link)
    stories = {post: known_post.story_id for post, known_post in known.items() if post not in own}
    kinds = dict[PostId, str]()
    for weighed in sorted(own.values(), key=lambda post: (post.posted_at, post.post)):
        scores: dict[StoryId, float] = defaultdict(float)
        joined: dict[StoryId, LinkKind] = {}
        for link in links_by_post[weighed.post]:
            story_id = stories.get(link.other if link.post == weighed.post else link.post)
            if story_id is not None:
                scores[story_id] += link.score
                joined[story_id] = min(joined.get(story_id, link.kind), link.kind, key=SUREST.__getitem__)
        best = max(scores, key=lambda story: (joined[story].is_certain, scores[story], story), default=None)
        stories[weighed.post] = best or StoryId(uuid4())
        if best is not None:
            kinds[weighed.post] = joined[best].value
    await put_members(
        connection,
        [
            StoryPostRow(
                post,
                stories[post],
                own[post].posted_at,
                kinds.get(post),
                own[post].terms_hash,
                post in known and known[post].is_bursting,
            )
            for post in sorted(own)
        ],
    )
    joined_stories = {post: stories[post] for post in sorted(own)}
    await _mark_bursts(connection, joined_stories, own)
    left_stories = {known[post].story_id for post in own if post in known}
    await put_stories(connection, left_stories | set(joined_stories.values()))
    return [
        Grouped(post, story_id, StoryChange.JOINED if post in kinds else StoryChange.CREATED)
        for post, story_id in joined_stories.items()
    ]


async def _mark_bursts(
    connection: Connection, stories: Mapping[PostId, StoryId], own: Mapping[PostId, WeighedPost]
) -> None:
    """Marks the posts that end half an hour of many channels now: the new ones, and those after them."""
    moments: dict[StoryId, list[datetime]] = defaultdict(list)
    for post, story_id in stories.items():
        moments[story_id].append(own[post].posted_at)
    rows = await connection.fetch(
        MEMBERS_AROUND,
        list(moments),
        [min(story_moments) - WINDOW for story_moments in moments.values()],
        [max(story_moments) + WINDOW for story_moments in moments.values()],
    )
    members: dict[StoryId, list[tuple[datetime, PostId]]] = defaultdict(list)
    for row in rows:
        members[row["story_id"]].append((row["posted_at"], id_of(row)))
    bursting = {post for dated_posts in members.values() for post in bursting_posts(dated_posts)}
    if bursting:
        await connection.execute(MARK_BURSTS, *ids_of(bursting))


MEMBERS_AROUND = """
SELECT s.story_id, s.channel_id, s.message_id, s.posted_at
FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) AS w(story_id, since, until)
JOIN story_posts s ON s.story_id = w.story_id AND s.posted_at BETWEEN w.since AND w.until
"""

MARK_BURSTS = """
UPDATE story_posts s SET is_bursting = true
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
WHERE s.channel_id = w.channel_id AND s.message_id = w.message_id AND NOT s.is_bursting
"""
