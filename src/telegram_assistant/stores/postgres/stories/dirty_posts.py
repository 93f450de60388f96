"""Posts whose stories have to be computed again, although none of them was posted or edited: a link of theirs
was removed. They are written with the removal, so that nothing is lost if a worker is killed afterwards.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.stories.grouped_posts import WANTED, id_of, ids_of


@dataclass(frozen=True, slots=True)
class DirtyPost:
    """A post that nobody has grouped yet since its links changed."""

    number: int
    post: PostId
    posted_at: datetime | None
    """None if it need not be compared again, or cannot be."""


async def put_dirty(
    connection: Connection, posts: Collection[PostId], *, is_uncompared: bool
) -> tuple[int, ...]:
    """Returns the numbers of the rows.

    `is_uncompared` says that links may be missing, too, until somebody compares the posts again.
    """
    if not posts:
        return ()
    rows = await connection.fetch(PUT, *ids_of(sorted(posts)), is_uncompared)
    return tuple(row["number"] for row in rows)


async def settle_compared(connection: Connection, numbers: Collection[int]) -> None:
    """Says that these posts are compared again, and only their stories are left."""
    if numbers:
        await connection.execute(SETTLE, list(numbers))


async def load_dirty(connection: Connection, posts: Collection[PostId]) -> dict[int, PostId]:
    """Those of the posts that only have to be grouped, by number."""
    rows = await connection.fetch(LOAD, *ids_of(posts))
    return {row["number"]: id_of(row) for row in rows}


async def remove_dirty(connection: Connection, numbers: Iterable[int]) -> None:
    if listed := list(numbers):
        await connection.execute("DELETE FROM story_dirty WHERE number = ANY ($1::bigint[])", listed)


async def oldest_dirty(connection: Connection, before: datetime, limit: int) -> list[DirtyPost]:
    """Those that were left behind before this moment."""
    rows = await connection.fetch(OLDEST, before, limit)
    return [DirtyPost(row["number"], id_of(row), row["posted_at"]) for row in rows]


PUT = f"""
INSERT INTO story_dirty (channel_id, message_id, is_uncompared)
SELECT w.channel_id, w.message_id, $3 FROM {WANTED} RETURNING number
"""

SETTLE = "UPDATE story_dirty SET is_uncompared = false WHERE number = ANY ($1::bigint[])"

LOAD = f"""
SELECT d.number, d.channel_id, d.message_id FROM {WANTED}
CROSS JOIN LATERAL (SELECT * FROM story_dirty WHERE channel_id = w.channel_id AND message_id = w.message_id
    AND NOT is_uncompared OFFSET 0) d
"""

OLDEST = """
SELECT d.number, d.channel_id, d.message_id, CASE WHEN d.is_uncompared THEN t.posted_at END AS posted_at
FROM story_dirty d
LEFT JOIN post_terms t ON t.channel_id = d.channel_id AND t.message_id = d.message_id
WHERE d.written_at < $1 ORDER BY d.number LIMIT $2
"""
