"""Looks: when each batch began to look for the posts that its own are compared with.

A batch stores its terms, commits, and only then announces its look with a snapshot of what is committed.
So of two posts at least one batch sees the other, without a lock:

    the later post's look is announced, with the earlier one in its snapshot    it sees it
    its look is announced without it                                            the earlier one's batch looks
    its look is not announced yet                                               it begins later, and sees it
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.stories.grouped_posts import ids_of

MAX_LOOKS, MAX_NEAR = 64, 3_000
"""So many other batches and posts are matched in memory; beyond, as in history, the index is asked."""


@dataclass(frozen=True, slots=True, eq=False)
class NearPost:
    """A later post, and the keys under which it stands in the index."""

    post: PostId
    posted_at: datetime
    keys: tuple[int, ...]


async def announce_look(connection: Connection, put: int, last_posted_at: datetime) -> None:
    """Announces that whoever has stored terms with this transaction begins to look."""
    await connection.execute(ANNOUNCE, str(put), last_posted_at)


async def near_posts(
    connection: Connection, put: int, since: datetime, until: datetime
) -> list[NearPost] | None:
    """The posts of the period whose batches have looked without seeing what this transaction has stored;
    None if they are too many.
    """
    looks = [row["put_xid"] for row in await connection.fetch(BLIND_LOOKS, str(put), since, MAX_LOOKS + 1)]
    if not looks:
        return []
    if len(looks) > MAX_LOOKS:
        return None
    rows = await connection.fetch(NEAR, looks, since, until, MAX_NEAR + 1)
    if len(rows) > MAX_NEAR:
        return None
    return [
        NearPost(
            PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])), row["posted_at"], row["keys"]
        )
        for row in rows
    ]


async def keep_blind(connection: Connection, put: int, posts: Iterable[PostId]) -> set[PostId]:
    """Those of the posts whose batches have looked without seeing what this transaction has stored."""
    rows = await connection.fetch(BLIND_POSTS, str(put), *ids_of(set(posts)))
    return {PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])) for row in rows}


ANNOUNCE = """
INSERT INTO story_looks (put_xid, snapshot, last_posted_at)
VALUES ($1::text::xid8, pg_current_snapshot(), $2)
ON CONFLICT (put_xid) DO UPDATE SET snapshot = excluded.snapshot, looked_at = now(),
    last_posted_at = greatest(story_looks.last_posted_at, excluded.last_posted_at)
"""
"""After a restore numbers of transactions begin anew, and one may come again."""

_IS_BLIND = """
(NOT pg_visible_in_snapshot($1::text::xid8, l.snapshot)
    OR pg_snapshot_xmax(l.snapshot) > pg_snapshot_xmax(pg_current_snapshot()))
"""
"""A snapshot of the future is one from before a restore: it has seen nothing of now."""

BLIND_LOOKS = f"""
SELECT l.put_xid::text FROM story_looks l
WHERE l.last_posted_at >= $2 AND l.put_xid <> $1::text::xid8 AND {_IS_BLIND} LIMIT $3
"""

NEAR = """
SELECT t.channel_id, t.message_id, t.posted_at, t.keys FROM post_terms t
WHERE t.put_xid = ANY ($1::text[]::xid8[]) AND t.posted_at BETWEEN $2 AND $3 LIMIT $4
"""

BLIND_POSTS = f"""
SELECT w.channel_id, w.message_id FROM unnest($2::bigint[], $3::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (SELECT put_xid FROM post_terms WHERE channel_id = w.channel_id
    AND message_id = w.message_id LIMIT 1) t
CROSS JOIN LATERAL (SELECT * FROM story_looks WHERE put_xid = t.put_xid LIMIT 1) l
WHERE l.put_xid <> $1::text::xid8 AND {_IS_BLIND}
"""
