"""The stories of one tenant: its posts of them, and the links of which it sees both ends."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.bursts import WINDOW
from telegram_assistant.domain.stories.pictures import ReadPicture
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.visible import (
    EarlierText,
    Grouping,
    StoryPicture,
    VisiblePost,
    VisibleStory,
    stories_of,
)
from telegram_assistant.stores.postgres.database import Connection, TenantTransactions
from telegram_assistant.stores.postgres.media.vision_results import stored_look
from telegram_assistant.stores.postgres.stories.material_sql import (
    BURSTING_MATERIAL,
    CHOSEN_MATERIAL,
    ONE_MATERIAL,
    RECENT_MATERIAL,
    SOME_MATERIAL,
    SOME_PICTURED_MATERIAL,
)

MAX_CANDIDATES = 40
"""Stories that are looked at where a list of the largest is wanted."""
MAX_KEPT = 1000
"""Stories that were read last, of all tenants: 30 KB each for fifteen posts.

People of a tenant read the same ones.
"""


@dataclass(frozen=True, slots=True, eq=False)
class StoryGroup:
    """Posts of one story over all channels, with the links that begin at them.

    Equal rows are one and the same group.
    """

    posts: tuple[VisiblePost, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class StoryMaterial:
    """The material of stories, and how strictly the tenant wants them grouped."""

    grouping: Grouping
    groups: tuple[StoryGroup, ...]

    def stories(self) -> Iterator[VisibleStory]:
        """Takes a millisecond for a story of a hundred posts: call it in a thread for a list of them."""
        return (story for group in self.groups for story in _stories(group, self.grouping))


HAS_ANY = """
SELECT EXISTS (
    SELECT 1 FROM subscriptions s CROSS JOIN LATERAL (
        SELECT 1 FROM story_links l WHERE l.channel_id = s.channel_id AND l.other_channel_id <> l.channel_id
            LIMIT 1
    ) l WHERE s.active
)
"""


class OwnStories:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def recent(
        self,
        since: datetime,
        *,
        folder: str | None = None,
        without: Sequence[ChannelId] = (),
        candidates: int = MAX_CANDIDATES,
    ) -> StoryMaterial:
        """Stories of at least two channels with a post since then in this folder, each with all its posts:
        so many with the most channels.
        """
        async with self._transactions.begin() as connection:
            return _material(
                await connection.fetch(RECENT_MATERIAL, since, folder, list(without), candidates)
            )

    async def bursting(self, since: datetime) -> StoryMaterial:
        """Stories that enough channels told within half an hour which ended since then, the newest of these,
        each with all its posts.
        """
        async with self._transactions.begin() as connection:
            return _material(await connection.fetch(BURSTING_MATERIAL, since, WINDOW, []))

    async def around(self, post_id: PostId, *, without: Collection[ChannelId] = ()) -> StoryMaterial:
        """The story of a post, with the earlier texts of its posts, without those of some channels."""
        async with self._transactions.begin() as connection:
            return _material(
                await connection.fetch(ONE_MATERIAL, post_id.channel_id, post_id.message_id, list(without))
            )

    async def around_some(self, posts: Sequence[PostId], *, with_pictures: bool = False) -> StoryMaterial:
        """The stories of these posts, without earlier texts, and without pictures unless they are wanted."""
        async with self._transactions.begin() as connection:
            return _material(
                await connection.fetch(
                    SOME_PICTURED_MATERIAL if with_pictures else SOME_MATERIAL,
                    [post.channel_id for post in posts],
                    [post.message_id for post in posts],
                    [],
                )
            )

    async def some(self, story_ids: Sequence[UUID], *, until: datetime) -> StoryMaterial:
        """These stories, as far as they were told until then; without pictures."""
        async with self._transactions.begin() as connection:
            return await load_stories(connection, story_ids, until=until)

    async def read_pictures(self, posts: Sequence[PostId]) -> dict[str, ReadPicture]:
        """The pictures of these posts in which our OCR has read, by the hashes of their files."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT * FROM read_pictures($1::bigint[], $2::bigint[])",
                [post.channel_id for post in posts],
                [post.message_id for post in posts],
            )
        return {
            row["sha256"].hex(): ReadPicture(stored_look(row["phash"], row["phash_fine"]), row["words"])
            for row in rows
        }

    async def has_any(self) -> bool:
        """Whether two channels have ever told the same."""
        async with self._transactions.begin() as connection:
            return bool(await connection.fetchval(HAS_ANY))

    async def choose_grouping(self, grouping: Grouping) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute("UPDATE tenants SET story_grouping = $1", grouping.value)

    async def take_out(self, post_id: PostId) -> None:
        """Takes a visible post out of its story, whatever story it will be in."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO posts_apart (channel_id, message_id)
                SELECT channel_id, message_id FROM story_posts WHERE channel_id = $1 AND message_id = $2
                ON CONFLICT DO NOTHING
                """,
                post_id.channel_id,
                post_id.message_id,
            )

    async def put_back(self, posts: Sequence[PostId]) -> bool:
        """Lets these posts join their story again. Returns whether any was taken out."""
        async with self._transactions.begin() as connection:
            changed = await connection.fetchval(
                """
                WITH gone AS (
                    DELETE FROM posts_apart WHERE (channel_id, message_id) IN (
                        SELECT * FROM unnest($1::bigint[], $2::bigint[]))
                    RETURNING 1
                )
                SELECT count(*) FROM gone
                """,
                [post.channel_id for post in posts],
                [post.message_id for post in posts],
            )
        return bool(changed)


async def load_stories(
    connection: Connection, story_ids: Iterable[UUID], *, until: datetime
) -> StoryMaterial:
    """These stories inside a tenant's transaction, as far as they were told until then;
    without pictures and without what is advertising.
    """
    return _material(await connection.fetch(CHOSEN_MATERIAL, list(story_ids), until, []))


class _StoryRows:
    """The rows of one story, as a key: equal if all that was read is equal,
    so what is made from them is the same for everybody who may read them.
    """

    __slots__ = ("rows",)

    def __init__(self, rows: Sequence[asyncpg.Record]) -> None:
        self.rows = rows

    def __hash__(self) -> int:
        return hash(tuple(row["message_id"] for row in self.rows))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _StoryRows) and self.rows == other.rows


def _material(rows: Sequence[asyncpg.Record]) -> StoryMaterial:
    stories: dict[UUID, list[asyncpg.Record]] = {}
    for row in rows:
        if row["channel_id"] is not None:
            stories.setdefault(row["story_id"], []).append(row)
    return StoryMaterial(
        Grouping(rows[0]["story_grouping"]), tuple(_group(_StoryRows(story)) for story in stories.values())
    )


@lru_cache(MAX_KEPT)
def _group(read: _StoryRows) -> StoryGroup:
    posts = tuple(map(_post, read.rows))
    return StoryGroup(
        posts,
        tuple(
            _link(post.post_id, link)
            for post, row in zip(posts, read.rows, strict=True)
            for link in row["links"]
        ),
    )


@lru_cache(MAX_KEPT)
def _stories(group: StoryGroup, grouping: Grouping) -> tuple[VisibleStory, ...]:
    return stories_of(group.posts, group.links, grouping)


def _post(row: asyncpg.Record) -> VisiblePost:
    return VisiblePost(
        post_id=PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])),
        channel=row["title"],
        username=row["username"],
        posted_at=row["posted_at"],
        stored_at=row["stored_at"],
        text=row["text"],
        folder=row["folder"],
        is_private=row["is_private"],
        deleted_at=row["deleted_at"],
        revision=row["revision"],
        language=row["lang"],
        views=row["views"],
        is_ad=row["is_ad"],
        grouped_id=row["grouped_id"],
        pictures=()
        if row["is_covered"]
        else tuple(StoryPicture(*picture) for picture in row["pictures"] or ()),
        earlier=tuple(
            EarlierText(text, at, difference and tuple(map(int, difference.split())))
            for text, at, difference in row["earlier"] or ()
        ),
        origin=PostId(ChannelId(row["fwd_channel_id"]), MessageId(row["fwd_message_id"]))
        if row["fwd_channel_id"] and row["fwd_message_id"]
        else None,
        network=None if row["network"] is None else ChannelId(row["network"]),
        habits=tuple(row["habits"] or ()),
        is_apart=row["is_apart"],
    )


def _link(post_id: PostId, row: tuple[Any, ...]) -> Link:
    channel_id, message_id, kind, score, is_leaf, posted_at, other_posted_at = row
    return Link(
        post_id,
        PostId(ChannelId(channel_id), MessageId(message_id)),
        LinkKind(kind),
        score,
        posted_at,
        other_posted_at,
        is_leaf,
    )
