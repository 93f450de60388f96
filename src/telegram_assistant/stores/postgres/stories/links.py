"""Links between posts: reads, writes and completes them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.story import SUREST, Link
from telegram_assistant.domain.stories.terms import WeighedPost
from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.stories.grouped_posts import WANTED, ids_of, stored_posts
from telegram_assistant.stores.postgres.stories.post_terms import load_puts
from telegram_assistant.stores.postgres.stories.stories import link_of

FROM_POST = "SELECT l.* FROM story_links l WHERE l.channel_id = w.channel_id AND l.message_id = w.message_id"
TO_POST = (
    "SELECT l.* FROM story_links l WHERE l.other_channel_id = w.channel_id "
    "AND l.other_message_id = w.message_id"
)
LINKED = f"SELECT l.* FROM {WANTED} CROSS JOIN LATERAL ({FROM_POST} UNION ALL {TO_POST}) l"


async def load_links(connection: Connection, posts: Collection[PostId]) -> list[Link]:
    """All links of these posts, each once."""
    rows = await connection.fetch(LINKED, *ids_of(posts))
    return list({(link.post, link.other): link for link in map(link_of, rows)}.values())


UNLINK = """
DELETE FROM story_links l USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS w(a, b, c,
    d)
WHERE l.channel_id = w.a AND l.message_id = w.b AND l.other_channel_id = w.c AND l.other_message_id = w.d
"""


async def remove_links(connection: Connection, links: Collection[Link]) -> None:
    await connection.execute(
        UNLINK, *ids_of(link.post for link in links), *ids_of(link.other for link in links)
    )


async def keep_comparable(connection: Connection, links: Sequence[Link]) -> list[Link]:
    """The estimated ones of these links that can be estimated again: the terms of both ends are stored."""
    estimated = [link for link in links if not link.kind.is_certain]
    puts = await load_puts(connection, {end for link in estimated for end in (link.post, link.other)})
    return [link for link in estimated if {link.post, link.other} <= puts.keys()]


LINK = """
INSERT INTO story_links AS l (channel_id, message_id, other_channel_id, other_message_id, kind, score,
    is_leaf, posted_at, other_posted_at)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::real[],
    $7::boolean[], $8::timestamptz[],
    $9::timestamptz[])
ON CONFLICT (channel_id, message_id, other_channel_id, other_message_id) DO UPDATE
SET kind = excluded.kind, score = excluded.score, is_leaf = excluded.is_leaf,
    other_posted_at = excluded.other_posted_at
WHERE l.kind NOT IN ('forward', 'reply', 'album') OR excluded.kind IN ('forward', 'reply', 'album')
"""


async def put_links(connection: Connection, links: Sequence[Link]) -> set[PostId]:
    """Stores the surest link of each pair of posts.

    Returns the posts with a header that names a post which is not stored yet.
    """
    completed, incomplete = await _complete(connection, links)
    best = {}
    for link in sorted(completed, key=lambda link: (-SUREST[link.kind], link.score)):
        best[link.post, link.other] = link
    rows = [best[pair] for pair in sorted(best)]
    await connection.execute(
        LINK,
        [row.post.channel_id for row in rows],
        [row.post.message_id for row in rows],
        [row.other.channel_id for row in rows],
        [row.other.message_id for row in rows],
        [row.kind.value for row in rows],
        [row.score for row in rows],
        [row.is_leaf for row in rows],
        [row.posted_at for row in rows],
        [row.other_posted_at for row in rows],
    )
    return incomplete


async def _complete(connection: Connection, links: Sequence[Link]) -> tuple[list[Link], set[PostId]]:
    """A header names a post, and says neither when it was posted nor whether its channel is private."""
    headers = {link.other for link in links if link.kind.is_certain}
    stored = await stored_posts(connection, headers) if headers else {}
    completed = [
        replace(link, other_posted_at=other.posted_at, is_leaf=link.is_leaf or other.is_private)
        if link.kind.is_certain and (other := stored.get(link.other)) is not None
        else link
        for link in links
    ]
    return completed, {link.post for link in links if link.kind.is_certain and link.other not in stored}


ARRIVED = """
UPDATE story_links l SET other_posted_at = w.posted_at, is_leaf = l.is_leaf OR w.is_private
FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::boolean[]) AS w(channel_id, message_id,
    posted_at, is_private)
WHERE l.other_channel_id = w.channel_id AND l.other_message_id = w.message_id
    AND l.kind IN ('forward', 'reply', 'album')
  AND (l.other_posted_at <> w.posted_at OR (w.is_private AND NOT l.is_leaf))
"""


async def complete_headers(connection: Connection, arrived: Sequence[WeighedPost]) -> None:
    """Completes the links of earlier posts whose headers named these before they arrived."""
    await connection.execute(
        ARRIVED,
        *ids_of(weighed.post for weighed in arrived),
        [weighed.posted_at for weighed in arrived],
        [weighed.is_private for weighed in arrived],
    )


COMPLETE = f"""
UPDATE story_links l SET other_posted_at = p.posted_at, is_leaf = l.is_leaf OR coalesce(c.is_private, false)
FROM {WANTED} CROSS JOIN LATERAL (
    SELECT o.* FROM story_links o WHERE o.channel_id = w.channel_id AND o.message_id = w.message_id
        AND o.kind IN ('forward', 'reply', 'album')) h
CROSS JOIN LATERAL (SELECT channel_id, posted_at FROM posts
    WHERE channel_id = h.other_channel_id AND message_id = h.other_message_id LIMIT 1) p
LEFT JOIN channels c ON c.channel_id = p.channel_id
WHERE l.channel_id = h.channel_id AND l.message_id = h.message_id
    AND l.other_channel_id = h.other_channel_id AND l.other_message_id = h.other_message_id
    AND (l.other_posted_at <> p.posted_at OR (coalesce(c.is_private, false) AND NOT l.is_leaf))
"""


async def complete_own_headers(connection: Connection, posts: Iterable[PostId]) -> None:
    """Completes the links of posts whose headers named posts that have arrived meanwhile."""
    listed_posts = sorted(posts)
    if listed_posts:
        await connection.execute(COMPLETE, *ids_of(listed_posts))
