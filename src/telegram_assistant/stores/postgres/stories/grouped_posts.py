"""What is known of posts that are grouped: their stories, their links, and what became of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import Link, StoryChange, StoryId
from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.stories.grouping_sql import KNOWN, LINKED
from telegram_assistant.stores.postgres.stories.stories import link_of


@dataclass(frozen=True, slots=True)
class Grouped:
    """What became of a post: its story, and how that changed."""

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


async def linked_with(connection: Connection, posts: Sequence[PostId]) -> list[Link]:
    return [link_of(row) for row in await connection.fetch(LINKED, *ids_of(posts))]


async def known_posts(connection: Connection, posts: Iterable[PostId]) -> dict[PostId, KnownPost]:
    rows = await connection.fetch(KNOWN, *ids_of(set(posts)))
    return {
        id_of(row): KnownPost(StoryId(row["story_id"]), row["link"], row["terms_hash"], row["is_bursting"])
        for row in rows
    }


def ids_of(posts: Iterable[PostId]) -> tuple[list[int], list[int]]:
    listed = list(posts)
    return [post.channel_id for post in listed], [post.message_id for post in listed]


def id_of(row: asyncpg.Record) -> PostId:
    return PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))
