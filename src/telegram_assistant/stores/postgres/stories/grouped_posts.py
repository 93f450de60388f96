"""Grouped posts: their stories, and how grouping changed them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import StoryChange, StoryId
from telegram_assistant.stores.postgres.database import Connection


@dataclass(frozen=True, slots=True)
class Grouped:
    """The result of grouping a post: its story, and how that changed."""

    post: PostId
    story_id: StoryId
    change: StoryChange


@dataclass(frozen=True, slots=True)
class KnownPost:
    """A post that is in a story already."""

    story_id: StoryId
    link: str | None
    terms_hash: int
    is_bursting: bool


@dataclass(frozen=True, slots=True)
class DatedPost:
    """When a stored post was posted, its revision, and whether its channel is private."""

    posted_at: datetime
    revision: int
    is_private: bool


@dataclass(frozen=True, slots=True)
class StoryPostRow:
    """A post as it is written into its story."""

    post: PostId
    story_id: StoryId
    posted_at: datetime
    link: str | None
    terms_hash: int
    is_bursting: bool


WANTED = "unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)"

KNOWN = f"""
SELECT s.channel_id, s.message_id, s.story_id, s.link, s.terms_hash, s.is_bursting FROM {WANTED}
CROSS JOIN LATERAL (SELECT * FROM story_posts WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) s
"""


async def load_known_posts(connection: Connection, posts: Iterable[PostId]) -> dict[PostId, KnownPost]:
    rows = await connection.fetch(KNOWN, *ids_of(set(posts)))
    return {
        id_of(row): KnownPost(StoryId(row["story_id"]), row["link"], row["terms_hash"], row["is_bursting"])
        for row in rows
    }


STORED = f"""
SELECT p.channel_id, p.message_id, p.posted_at, p.revision, coalesce(c.is_private, false) AS is_private
FROM {WANTED}
CROSS JOIN LATERAL (SELECT channel_id, message_id, posted_at, revision FROM posts
    WHERE channel_id = w.channel_id AND message_id = w.message_id LIMIT 1) p
LEFT JOIN channels c ON c.channel_id = p.channel_id
"""


async def stored_posts(connection: Connection, posts: Iterable[PostId]) -> dict[PostId, DatedPost]:
    rows = await connection.fetch(STORED, *ids_of(posts))
    return {id_of(row): DatedPost(row["posted_at"], row["revision"], row["is_private"]) for row in rows}


JOIN = """
INSERT INTO story_posts AS s (channel_id, message_id, story_id, posted_at, link, terms_hash, is_bursting)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::timestamptz[], $5::text[], $6::bigint[],
    $7::boolean[])
ON CONFLICT (channel_id, message_id) DO UPDATE
SET joined_at = CASE WHEN s.story_id = excluded.story_id THEN s.joined_at ELSE now() END,
    story_id = excluded.story_id, link = excluded.link, terms_hash = excluded.terms_hash,
    posted_at = excluded.posted_at,
    is_bursting = excluded.is_bursting
"""


async def put_members(connection: Connection, members: Sequence[StoryPostRow]) -> None:
    """Lets posts join their stories, or move to them."""
    await connection.execute(
        JOIN,
        *ids_of(member.post for member in members),
        [member.story_id for member in members],
        [member.posted_at for member in members],
        [member.link for member in members],
        [member.terms_hash for member in members],
        [member.is_bursting for member in members],
    )


TELL = """
INSERT INTO stories AS s (story_id, first_posted_at, last_posted_at, posts)
SELECT p.story_id, min(p.posted_at), max(p.posted_at), count(*)::int FROM story_posts p
WHERE p.story_id = ANY($1::uuid[]) GROUP BY p.story_id
ON CONFLICT (story_id) DO UPDATE
SET first_posted_at = excluded.first_posted_at, last_posted_at = excluded.last_posted_at,
    posts = excluded.posts, merged_into = NULL,
    changed_at = now()
"""


async def put_stories(connection: Connection, story_ids: Iterable[StoryId]) -> None:
    """Writes the times and the number of posts of these stories, new or changed."""
    await connection.execute(TELL, sorted(story_ids))


def ids_of(posts: Iterable[PostId]) -> tuple[list[int], list[int]]:
    listed_posts = list(posts)
    return [post.channel_id for post in listed_posts], [post.message_id for post in listed_posts]


def id_of(row: asyncpg.Record) -> PostId:
    return PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))
