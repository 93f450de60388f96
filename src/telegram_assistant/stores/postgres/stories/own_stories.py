"""The stories of one tenant: its posts of them, and the links of which it sees both ends."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.bursts import MIN_CHANNELS, WINDOW
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
from telegram_assistant.stores.postgres.posts.rows import OWN_REVISION, OWN_STORED_AT

MAX_RECENT = 20_000
"""Linked posts that are looked at, shared equally by the channels, of each the newest."""
MIN_PER_CHANNEL = 4
MAX_CANDIDATES = 40
"""Stories that are looked at where a list of the largest is wanted."""
MAX_POSTS = 300
"""Of one story, the newest."""
MAX_EARLIER = 5
MAX_BURSTS = 100
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
    """What stories are made of, and how strictly the tenant wants them grouped."""

    grouping: Grouping
    groups: tuple[StoryGroup, ...]

    def stories(self) -> Iterator[VisibleStory]:
        """Takes a millisecond for a story of a hundred posts: call it in a thread for a list of them."""
        return (story for group in self.groups for story in _stories(group, self.grouping))


# The query names the channels; row-level security only checks them. The first step is an index-only scan of
# what is recent.
RECENT = f"""
WITH followed AS MATERIALIZED (
    SELECT channel_id FROM subscriptions WHERE active AND ($2::text IS NULL OR folder = $2)
        AND channel_id <> ALL($3::bigint[])
),
recent AS MATERIALIZED (
    SELECT r.* FROM followed f CROSS JOIN LATERAL (
        SELECT story_id, channel_id, posted_at FROM story_posts
        WHERE channel_id = f.channel_id AND link IS NOT NULL AND posted_at >= $1 ORDER BY posted_at DESC
        LIMIT (SELECT greatest({MIN_PER_CHANNEL}, {MAX_RECENT} / greatest(count(*), 1)) FROM followed)
    ) r
),
chosen AS MATERIALIZED (
    SELECT story_id FROM (SELECT story_id, channel_id, max(posted_at) AS newest FROM recent
        GROUP BY story_id, channel_id) by_channel
    GROUP BY story_id ORDER BY count(*) DESC, max(newest) DESC, story_id LIMIT $4
),
"""
"""$1 since, $2 folder, $3 channels to leave out, $4 the most stories"""

BURSTING = f"""
WITH bursting AS MATERIALIZED (
    SELECT m.* FROM subscriptions f CROSS JOIN LATERAL (
        SELECT story_id, posted_at FROM story_posts
        WHERE channel_id = f.channel_id AND is_bursting AND posted_at >= $1
    ) m WHERE f.active
),
chosen AS MATERIALIZED (
    SELECT b.story_id FROM bursting b WHERE {MIN_CHANNELS} <= (
        SELECT count(DISTINCT s.channel_id) FROM story_posts s
        WHERE s.story_id = b.story_id AND s.posted_at BETWEEN b.posted_at - $2::interval AND b.posted_at
            AND s.channel_id <> ALL($3::bigint[]))
    GROUP BY b.story_id ORDER BY max(b.posted_at) DESC, b.story_id LIMIT {MAX_BURSTS}
),
"""
"""$1 since, $2 window, $3 channels to leave out.

What is counted are visible posts, so nothing depends on those of others.
"""

ONE = """
WITH chosen AS MATERIALIZED (
    SELECT story_id FROM story_posts WHERE channel_id = $1 AND message_id = $2
),
"""
"""$1 channel, $2 message, $3 channels to leave out"""

CHOSEN = """
WITH chosen AS MATERIALIZED (
    SELECT unnest($1::uuid[]) AS story_id
),
"""
"""$1 stories, $2 until, $3 channels to leave out"""

# How many posts `told` has is a guess: with a plain join to subscriptions every post would be compared with
# every channel of the tenant.
MATERIAL = f"""
members AS MATERIALIZED (
    SELECT s.story_id, p.channel_id, p.message_id FROM chosen s CROSS JOIN LATERAL (
        SELECT channel_id, message_id FROM story_posts
        WHERE story_id = s.story_id AND channel_id <> ALL($3::bigint[]){{until}}
        ORDER BY posted_at DESC, channel_id, message_id LIMIT {MAX_POSTS}
    ) p
),
told AS MATERIALIZED (
    SELECT m.* FROM members m JOIN (
        SELECT story_id FROM members GROUP BY story_id HAVING count(DISTINCT channel_id) >= {{min_channels}}
    ) several USING (story_id)
)
SELECT t.story_grouping, m.story_id, p.*, c.title, c.username, c.is_private, s.folder,
       ARRAY(SELECT ROW(l.other_channel_id, l.other_message_id, l.kind, l.score, l.is_leaf, l.posted_at,
           l.other_posted_at) FROM story_links l
             WHERE l.channel_id = m.channel_id AND l.message_id = m.message_id) AS links,
       {{pictures}} AS pictures, {{is_ad}} AS is_ad, {{earlier}} AS earlier
FROM tenants t LEFT JOIN (
    told m CROSS JOIN LATERAL (
        SELECT channel_id, message_id, posted_at, text, lang, grouped_id, deleted_at,
            (facts -> 'counts' ->> 'views')::bigint AS views,
               coalesce((facts -> 'media' ->> 'spoiler')::boolean, false) AS is_covered,
               {OWN_STORED_AT}, {OWN_REVISION}
        FROM posts WHERE channel_id = m.channel_id AND message_id = m.message_id
    ) p JOIN channels c ON c.channel_id = m.channel_id
    CROSS JOIN LATERAL (SELECT folder FROM subscriptions WHERE channel_id = m.channel_id OFFSET 0) s
) ON true
"""

PICTURES = """
ARRAY(SELECT ROW(f.ordinal, encode(f.sha256, 'hex'), f.width, f.height) FROM post_media f
      WHERE f.channel_id = m.channel_id AND f.message_id = m.message_id AND f.state = 'stored'
          AND f.kind = 'photo' AND f.sha256 IS NOT NULL
      ORDER BY f.ordinal)
"""

# Few posts are advertising: an index of these alone answers for all others, without the cost of row-level
# security.
IS_AD = """
EXISTS (SELECT 1 FROM post_enrichment e
        WHERE e.channel_id = m.channel_id AND e.message_id = m.message_id AND e.kind = 'tags'
            AND (e.data ->> 'is_ad')::boolean)
"""

# The driver cannot decode an array inside a row, unless the connection has met the type of the array before.
EARLIER = f"""
ARRAY(SELECT ROW(v.text, v.replaced_at, array_to_string(v.difference, ' ')) FROM (
    SELECT * FROM post_versions v WHERE v.channel_id = m.channel_id AND v.message_id = m.message_id
    ORDER BY revision DESC LIMIT {MAX_EARLIER}
) v ORDER BY v.revision)
"""

RECENT_MATERIAL = RECENT + MATERIAL.format(
    min_channels=2, until="", pictures=PICTURES, is_ad=IS_AD, earlier="NULL"
)
BURSTING_MATERIAL = BURSTING + MATERIAL.format(
    min_channels=MIN_CHANNELS, until="", pictures=PICTURES, is_ad=IS_AD, earlier="NULL"
)
ONE_MATERIAL = ONE + MATERIAL.format(
    min_channels=1, until="", pictures=PICTURES, is_ad=IS_AD, earlier=EARLIER
)
CHOSEN_MATERIAL = CHOSEN + MATERIAL.format(
    min_channels=1, until=" AND posted_at <= $2", pictures="NULL", is_ad="false", earlier="NULL"
)

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

    async def around(self, post_id: PostId) -> StoryMaterial:
        """The story of a post, with the earlier texts of its posts."""
        async with self._transactions.begin() as connection:
            return _material(await connection.fetch(ONE_MATERIAL, post_id.channel_id, post_id.message_id, []))

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
