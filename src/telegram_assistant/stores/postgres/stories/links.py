"""Links between posts: writes them, and finds everything that posts are connected with."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.story import SUREST, Link
from telegram_assistant.domain.stories.terms import WeighedPost
from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.stories.grouped_posts import WANTED, id_of, ids_of, stored_posts
from telegram_assistant.stores.postgres.stories.post_terms import found_counts
from telegram_assistant.stores.postgres.stories.stories import link_of

MAX_CONNECTED, CONNECTED_EACH = 200, 10
"""So many posts, and so many more for each new one, are grouped again.

A channel that posts the same all day connects thousands.
"""

_OUT = "SELECT l.* FROM story_links l WHERE l.channel_id = w.channel_id AND l.message_id = w.message_id"
_IN = (
    "SELECT l.* FROM story_links l WHERE l.other_channel_id = w.channel_id "
    "AND l.other_message_id = w.message_id"
)
LINKED = f"SELECT l.* FROM {WANTED} CROSS JOIN LATERAL ({_OUT} UNION ALL {_IN}) l"


async def load_links(connection: Connection, posts: Sequence[PostId]) -> list[Link]:
    return [link_of(row) for row in await connection.fetch(LINKED, *ids_of(posts))]


UNLINK = """
DELETE FROM story_links l USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS w(a, b, c,
    d)
WHERE l.channel_id = w.a AND l.message_id = w.b AND l.other_channel_id = w.c AND l.other_message_id = w.d
"""


async def remove_links(
    connection: Connection,
    links: Sequence[Link],
    *,
    arrived: Collection[PostId],
    compared: Collection[PostId],
) -> None:
    """Removes, of these links, what posts that arrived said of their headers, and those that were
    estimated again.

    Posts whose terms were forgotten keep theirs.
    """
    post_counts = await found_counts(connection, {end for link in links for end in (link.post, link.other)})
    removed_links = [
        link
        for link in links
        if (
            link.post in arrived
            if link.kind.is_certain
            else {link.post, link.other} <= post_counts.keys()
            and (link.post in compared or link.other in arrived)
        )
    ]
    await connection.execute(
        UNLINK, *ids_of(link.post for link in removed_links), *ids_of(link.other for link in removed_links)
    )


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


async def put_links(connection: Connection, links: Sequence[Link]) -> None:
    """Stores the surest link of each pair of posts."""
    best = {}
    for link in sorted(await _complete(connection, links), key=lambda link: (-SUREST[link.kind], link.score)):
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


async def _complete(connection: Connection, links: Sequence[Link]) -> list[Link]:
    """A header names a post, and says neither when it was posted nor whether its channel is private."""
    headers = {link.other for link in links if link.kind.is_certain}
    stored = await stored_posts(connection, headers)
    return [
        replace(link, other_posted_at=other.posted_at, is_leaf=link.is_leaf or other.is_private)
        if link.kind.is_certain and (other := stored.get(link.other)) is not None
        else link
        for link in links
    ]


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


REACHED = f"""
WITH RECURSIVE reached AS (
    SELECT w.channel_id, w.message_id FROM {WANTED}
    UNION
    SELECT n.channel_id, n.message_id FROM reached w CROSS JOIN LATERAL (
        SELECT other_channel_id AS channel_id, other_message_id AS message_id FROM ({_OUT}) o
        UNION ALL
        SELECT channel_id, message_id FROM ({_IN}) i
    ) n
)
SELECT channel_id, message_id FROM reached LIMIT $3
"""
"""The recursion ends with the limit."""


async def connected_links(connection: Connection, seeds: Collection[PostId]) -> list[Link] | None:
    """Every link in the parts of the graph that these posts belong to, through private posts, too;
    None if there are too many posts.
    """
    max_posts = MAX_CONNECTED + CONNECTED_EACH * len(seeds)
    reached = [id_of(row) for row in await connection.fetch(REACHED, *ids_of(seeds), max_posts + 1)]
    if len(reached) > max_posts:
        return None
    return list({(link.post, link.other): link for link in await load_links(connection, reached)}.values())
