"""Stories for the world of pages: which posts tell the same, in whose words, and how they follow each other,
stored as the pipeline stores them.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import asyncpg

from telegram_assistant.domain.posts.post import Origin, Post, fingerprint
from telegram_assistant.domain.stories.bursts import bursting_posts
from telegram_assistant.domain.stories.story import LinkKind

SHARE = 50
"""One post in so many is the first of a story that others tell, too."""
MAX_MORE = 29
NEAR = 800
"""Others tell it among the next so many posts: within six hours, with 200,000 posts in 60 days."""
KINDS = (LinkKind.FORWARD, LinkKind.COPY, LinkKind.REWRITE, LinkKind.REWRITE, LinkKind.REWRITE)
SCORES = {LinkKind.FORWARD: 20.0, LinkKind.COPY: 9.0, LinkKind.REWRITE: 3.5}


@dataclass(frozen=True, slots=True)
class PlannedStory:
    """Places of posts in the list of all; of those after the first, how they follow it."""

    places: tuple[int, ...]
    kinds: tuple[LinkKind, ...]


def plan_stories(posts: list[Post], *, seed: int) -> list[PlannedStory]:
    """Chooses posts, in the order of time, and gives those that follow the words of the first."""
    rng, taken, stories = random.Random(seed), set[int](), []
    near = max(20, NEAR * len(posts) // 200_000)
    for first in sorted(rng.sample(range(len(posts) - near), len(posts) // SHARE)):
        wanted = min(MAX_MORE, int(rng.paretovariate(1)))
        if first in taken or posts[first].grouped_id is not None:
            continue
        places, channels = [first], {posts[first].channel_id}
        for place in rng.sample(range(first + 1, first + near), near - 1):
            post = posts[place]
            if len(places) > wanted:
                break
            if (
                place not in taken
                and post.channel_id not in channels
                and post.lang == posts[first].lang
                and post.grouped_id is None
            ):
                places.append(place)
                channels.add(post.channel_id)
        if len(places) > 1:
            story = PlannedStory(tuple(sorted(places)), tuple(rng.choice(KINDS) for _ in places[1:]))
            for place, kind in zip(story.places[1:], story.kinds, strict=True):
                posts[place] = _follow(posts[first], posts[place], kind)
            taken |= set(places)
            stories.append(story)
    return stories


def _follow(first: Post, post: Post, kind: LinkKind) -> Post:
    sentences, own = first.text.split(". "), post.text.split(". ")
    text = first.text if kind is not LinkKind.REWRITE else ". ".join([own[0], *sentences[1:3], *own[1:2]])
    origin = Origin(first.channel_id, first.message_id) if kind is LinkKind.FORWARD else None
    return replace(
        post, text=text, entities=(), forwarded_from=origin, content_hash=fingerprint(text, (), ())
    )


async def store_stories(
    admin: "asyncpg.Connection[asyncpg.Record]",
    posts: Sequence[Post],
    stories: Sequence[PlannedStory],
    *,
    seed: int,
) -> None:
    """Writes them, and a story of one post for everything else that has words."""
    rng, taken = random.Random(seed), {place for story in stories for place in story.places}
    alone = [
        PlannedStory((place,), ()) for place, post in enumerate(posts) if place not in taken and post.text
    ]
    rows, members, links = [], [], []
    for story in (*stories, *alone):
        story_id, its = UUID(int=rng.getrandbits(128), version=4), [posts[place] for place in story.places]
        rows.append((story_id, its[0].posted_at, its[-1].posted_at, len(its)))
        bursting = bursting_posts((post.posted_at, post.id) for post in its)
        surest = (min(story.kinds, key=list(LinkKind).index), *story.kinds) if story.kinds else (None,)
        members += [
            (
                post.channel_id,
                post.message_id,
                story_id,
                post.posted_at,
                kind and kind.value,
                0,
                post.id in bursting,
            )
            for post, kind in zip(its, surest, strict=True)
        ]
        links += [
            (
                *_place(post),
                *_place(its[0]),
                kind.value,
                SCORES[kind],
                False,
                post.posted_at,
                its[0].posted_at,
            )
            for post, kind in zip(its[1:], story.kinds, strict=True)
        ]
    for table, columns, records in (
        ("stories", "story_id first_posted_at last_posted_at posts", rows),
        ("story_posts", "channel_id message_id story_id posted_at link terms_hash is_bursting", members),
        (
            "story_links",
            (
                "channel_id message_id other_channel_id other_message_id kind score is_leaf posted_at "
                "other_posted_at"
            ),
            links,
        ),
    ):
        await admin.copy_records_to_table(table, records=records, columns=columns.split())


def _place(post: Post) -> tuple[int, int]:
    return post.channel_id, post.message_id
