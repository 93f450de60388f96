"""Stories with their posts and links."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import Link, LinkKind, StoryId, StoryMember
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class WholeStory:
    """All posts of a story and the links between them, whoever may see them."""

    story_id: StoryId
    members: tuple[StoryMember, ...]
    links: tuple[Link, ...]


class Stories:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def of_posts(self, posts: Sequence[PostId]) -> dict[PostId, StoryId]:
        """The stories of these posts; posts without any are left out."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                OF_POSTS, [post.channel_id for post in posts], [post.message_id for post in posts]
            )
        return {_id(row): StoryId(row["story_id"]) for row in rows}

    async def whole(self, story_id: StoryId) -> WholeStory:
        """A story as it is now; without members if there is none with this id,
        or if it was merged into another.
        """
        async with self._transactions.begin() as connection:
            members = await connection.fetch(MEMBERS, UUID(str(story_id)))
            links = await connection.fetch(LINKS, UUID(str(story_id)))
        return WholeStory(
            story_id, tuple(_member(row) for row in members), tuple(link_of(row) for row in links)
        )


def _id(row: asyncpg.Record) -> PostId:
    return PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))


def _member(row: asyncpg.Record) -> StoryMember:
    return StoryMember(
        _id(row), StoryId(row["story_id"]), row["posted_at"], LinkKind(row["link"]) if row["link"] else None
    )


def link_of(row: asyncpg.Record) -> Link:
    """Reads a row of story_links."""
    other = PostId(ChannelId(row["other_channel_id"]), MessageId(row["other_message_id"]))
    return Link(
        _id(row),
        other,
        LinkKind(row["kind"]),
        row["score"],
        row["posted_at"],
        row["other_posted_at"],
        row["is_leaf"],
    )


OF_POSTS = """
SELECT s.channel_id, s.message_id, s.story_id
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (SELECT * FROM story_posts WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) s
"""

MEMBERS = (
    "SELECT channel_id, message_id, story_id, posted_at, link FROM story_posts WHERE story_id = $1 "
    "ORDER BY posted_at, channel_id, message_id"
)

LINKS = """
SELECT l.* FROM story_posts p JOIN story_links l USING (channel_id, message_id)
JOIN story_posts o ON o.channel_id = l.other_channel_id AND o.message_id = l.other_message_id
    AND o.story_id = p.story_id
WHERE p.story_id = $1 ORDER BY l.posted_at, l.channel_id, l.message_id, l.other_posted_at, l.other_channel_id,
    l.other_message_id
"""
