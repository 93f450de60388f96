"""Lets posts join stories where too many are connected to group all of them again."""

from collections import defaultdict
from collections.abc import Collection
from uuid import uuid4

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.story import SUREST, Link, LinkKind, StoryChange, StoryId
from telegram_assistant.domain.stories.terms import WeighedPost
from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.stories.grouped_posts import (
    Grouped,
    StoryPostRow,
    load_known_posts,
    put_members,
    put_stories,
)
from telegram_assistant.stores.postgres.stories.links import load_links


async def attach(connection: Connection, load_weighed_posts: Collection[WeighedPost]) -> list[Grouped]:
    """Lets each new post join the story with which it is linked best.

    Stories that are there stay as they are, and no private post leads to one.
    """
    own = {weighed.post: weighed for weighed in load_weighed_posts}
    links: dict[PostId, list[Link]] = {post: [] for post in own}
    for link in {(link.post, link.other): link for link in await load_links(connection, list(own))}.values():
        for post in {link.post, link.other} & own.keys():
            if own[post].is_private or not link.is_leaf:
                links[post].append(link)
    ends = {end for its in links.values() for link in its for end in (link.post, link.other)}
    before = await load_known_posts(connection, ends | own.keys())
    stories = {post: earlier_post.story_id for post, earlier_post in before.items() if post not in own}
    kinds = dict[PostId, str]()
    for weighed in sorted(own.values(), key=lambda post: (post.posted_at, post.post)):
        scores: dict[StoryId, float] = defaultdict(float)
        joined: dict[StoryId, LinkKind] = {}
        for link in links[weighed.post]:
            story_id = stories.get(link.other if link.post == weighed.post else link.post)
            if story_id is not None:
                scores[story_id] += link.score
                joined[story_id] = min(joined.get(story_id, link.kind), link.kind, key=SUREST.__getitem__)
        best = max(scores, key=lambda story: (joined[story].is_certain, scores[story], story), default=None)
        stories[weighed.post] = best or StoryId(uuid4())
        if best is not None:
            kinds[weighed.post] = joined[best].value
    posts = sorted(own)
    await put_members(
        connection,
        [
            StoryPostRow(
                post,
                stories[post],
                own[post].posted_at,
                kinds.get(post),
                own[post].terms_hash,
                post in before and before[post].is_bursting,
            )
            for post in posts
        ],
    )
    left_stories = {before[post].story_id for post in posts if post in before}
    await put_stories(connection, left_stories | {stories[post] for post in posts})
    return [
        Grouped(post, stories[post], StoryChange.JOINED if post in kinds else StoryChange.CREATED)
        for post in posts
    ]
