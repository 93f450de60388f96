"""Lists of posts and stories with notes, in the order that the people of a tenant chose."""

from datetime import UTC, datetime
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lists import MAX_ITEMS, MAX_LISTS, ItemKind, ListedPost, ListItem, SharedList
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.stores.postgres.database import Connection, TenantTransactions
from telegram_assistant.stores.postgres.stories.own_stories import load_stories

LATEST = datetime(9999, 1, 1, tzinfo=UTC)

LISTS = """
SELECT l.list_id, l.name, l.created_by, l.created_at, l.changed_at,
       (SELECT count(*) FROM list_items i WHERE i.tenant_id = l.tenant_id AND i.list_id = l.list_id
           AND i.removed_at IS NULL) AS items
FROM lists l WHERE $1::uuid IS NULL OR l.list_id = $1 ORDER BY lower(l.name), l.list_id
"""

# Row-level security decides which posts the join finds.
ITEMS = """
SELECT i.*, p.posted_at, p.text, p.deleted_at, c.title, c.username
FROM (
    SELECT i.*, row_number() OVER (ORDER BY place, added_at, item_id) AS position
    FROM list_items i WHERE list_id = $1 AND removed_at IS NULL
) i
LEFT JOIN LATERAL (
    SELECT posted_at, text, deleted_at FROM posts
    WHERE channel_id = i.channel_id AND message_id = i.message OFFSET 0
) p ON true
LEFT JOIN channels c ON c.channel_id = i.channel_id AND p.posted_at IS NOT NULL
WHERE i.position > $2 ORDER BY i.position LIMIT $3
"""

# Waits for whoever changes the same list.
LOCK = "SELECT 1 FROM lists WHERE list_id = $1 FOR UPDATE"

ADD = f"""
INSERT INTO list_items (list_id, kind, channel_id, message, place, note, noted_by, noted_at, added_by)
SELECT $1, $2, p.channel_id, p.message_id,
       (SELECT coalesce(max(place), 0) + 1 FROM list_items WHERE list_id = $1),
       $5, CASE WHEN $5 <> '' THEN $6::text END, CASE WHEN $5 <> '' THEN now() END, $6
FROM posts p WHERE p.channel_id = $3 AND p.message_id = $4
    AND ($2 = 'post' OR EXISTS (SELECT 1 FROM story_posts s WHERE s.channel_id = $3 AND s.message_id = $4))
    AND (SELECT count(*) FROM list_items WHERE list_id = $1 AND removed_at IS NULL) < {MAX_ITEMS}
ON CONFLICT (tenant_id, list_id, kind, channel_id, message) DO UPDATE SET
    place = CASE WHEN list_items.removed_at IS NULL THEN list_items.place ELSE excluded.place END,
    added_by = CASE WHEN list_items.removed_at IS NULL THEN list_items.added_by ELSE excluded.added_by END,
    added_at = CASE WHEN list_items.removed_at IS NULL THEN list_items.added_at ELSE now() END,
    note = CASE WHEN $5 <> '' OR list_items.removed_at IS NOT NULL THEN $5 ELSE list_items.note END,
    noted_by = CASE WHEN $5 <> '' OR list_items.removed_at IS NOT NULL THEN excluded.noted_by
        ELSE list_items.noted_by END,
    noted_at = CASE WHEN $5 <> '' OR list_items.removed_at IS NOT NULL THEN excluded.noted_at
        ELSE list_items.noted_at END,
    removed_at = NULL
RETURNING item_id
"""
"""$1 list, $2 kind, $3 channel, $4 message, $5 note, $6 by"""

# Half a place before or behind: whatever stands at the position moves aside.
MOVE = """
UPDATE list_items i SET place = n.place FROM (
    SELECT item_id, row_number() OVER (ORDER BY CASE WHEN item_id = $2
        THEN $3::int + CASE WHEN position < $3 THEN 0.5 ELSE -0.5 END ELSE position END) AS place
    FROM (
        SELECT item_id, row_number() OVER (ORDER BY place, added_at, item_id) AS position
        FROM list_items WHERE list_id = $1 AND removed_at IS NULL
    ) ordered
) n WHERE i.item_id = n.item_id AND i.place <> n.place
"""
"""$1 list, $2 item, $3 position from 1"""


class Lists:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[SharedList, ...]:
        async with self._transactions.begin() as connection:
            return tuple(SharedList(**dict(row)) for row in await connection.fetch(LISTS, None))

    async def find(self, list_id: UUID) -> SharedList | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(LISTS, list_id)
        return SharedList(**dict(row)) if row else None

    async def containing(self, kind: ItemKind, post_id: PostId) -> frozenset[UUID]:
        """The lists that this item is on."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT list_id FROM list_items WHERE kind = $1 AND channel_id = $2 AND message = $3 "
                "AND removed_at IS NULL",
                kind.value,
                *post_id,
            )
        return frozenset(row["list_id"] for row in rows)

    async def create(self, name: str, *, created_by: str) -> UUID | None:
        """Returns None if the name is taken, or the tenant has as many lists as it may."""
        async with self._transactions.begin() as connection:
            list_id: UUID | None = await connection.fetchval(
                f"""
                INSERT INTO lists (name, created_by)
                SELECT $1, $2 WHERE (SELECT count(*) FROM lists) < {MAX_LISTS}
                ON CONFLICT (tenant_id, name) DO NOTHING RETURNING list_id
                """,
                name,
                created_by,
            )
        return list_id

    async def rename(self, list_id: UUID, name: str) -> bool:
        """Returns False if another list has the name; a list that is not there is no obstacle."""
        async with self._transactions.begin() as connection:
            return bool(
                await connection.fetchval(
                    """
                    WITH taken AS (SELECT 1 FROM lists WHERE name = $2 AND list_id <> $1),
                    renamed AS (UPDATE lists SET name = $2, changed_at = now()
                        WHERE list_id = $1 AND NOT EXISTS (SELECT 1 FROM taken))
                    SELECT NOT EXISTS (SELECT 1 FROM taken)
                    """,
                    list_id,
                    name,
                )
            )

    async def delete(self, list_id: UUID) -> bool:
        """Deletes the list with its items and notes."""
        async with self._transactions.begin() as connection:
            return await connection.execute("DELETE FROM lists WHERE list_id = $1", list_id) == "DELETE 1"

    async def items(self, list_id: UUID, *, limit: int, after: int = 0) -> tuple[ListItem, ...]:
        """The items behind a position, in order."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(ITEMS, list_id, after, limit)
        return tuple(_item(row) for row in rows)

    async def stories(self, post_ids: list[PostId]) -> dict[PostId, VisibleStory]:
        """The stories of those of these posts that the tenant sees."""
        if not post_ids:
            return {}
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT DISTINCT story_id FROM story_posts WHERE (channel_id, message_id) IN (SELECT * "
                "FROM unnest($1::bigint[], $2::bigint[]))",
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
            material = await load_stories(connection, [row["story_id"] for row in rows], until=LATEST)
        wanted_post_ids = set(post_ids)
        return {
            post.post_id: story
            for story in material.stories()
            for post in story.posts
            if post.post_id in wanted_post_ids
        }

    async def add(self, list_id: UUID, kind: ItemKind, post_id: PostId, *, note: str, by: str) -> UUID | None:
        """Puts a post or story at the end; one that is there already stays, and gets the note if any.

        Returns None if the list is not there, the post is not visible or in no story, or the list is full.
        """
        async with self._transactions.begin() as connection:
            if not await connection.fetchval(LOCK, list_id):
                return None
            item_id: UUID | None = await connection.fetchval(ADD, list_id, kind.value, *post_id, note, by)
            if item_id is not None:
                await _touch(connection, list_id)
        return item_id

    async def write_note(self, list_id: UUID, item_id: UUID, note: str, *, by: str) -> bool:
        """Returns False if there is no such item."""
        async with self._transactions.begin() as connection:
            return await _change(
                connection,
                list_id,
                """
                UPDATE list_items SET note = $3, noted_by = CASE WHEN $3 <> '' THEN $4::text END,
                    noted_at = CASE WHEN $3 <> '' THEN now() END
                WHERE list_id = $1 AND item_id = $2 AND removed_at IS NULL
                """,
                item_id,
                note,
                by,
            )

    async def move(self, list_id: UUID, item_id: UUID, *, position: int) -> bool:
        """Returns False if there is no such item. The others keep their order."""
        async with self._transactions.begin() as connection:
            if not await connection.fetchval(LOCK, list_id) or not await connection.fetchval(
                "SELECT 1 FROM list_items WHERE list_id = $1 AND item_id = $2 AND removed_at IS NULL",
                list_id,
                item_id,
            ):
                return False
            await connection.execute(MOVE, list_id, item_id, position)
            await _touch(connection, list_id)
        return True

    async def remove(self, list_id: UUID, item_id: UUID) -> bool:
        """Returns False if there is no such item. It can be put back for a day."""
        async with self._transactions.begin() as connection:
            await connection.execute("DELETE FROM list_items WHERE removed_at < now() - interval '1 day'")
            return await _change(
                connection,
                list_id,
                "UPDATE list_items SET removed_at = now() WHERE list_id = $1 AND item_id = $2 "
                "AND removed_at IS NULL",
                item_id,
            )

    async def restore(self, list_id: UUID, item_id: UUID) -> bool:
        """Puts a removed item back to its place. Returns False if it is not there any more."""
        async with self._transactions.begin() as connection:
            return await _change(
                connection,
                list_id,
                "UPDATE list_items SET removed_at = NULL WHERE list_id = $1 AND item_id = $2",
                item_id,
            )


async def _change(
    connection: Connection, list_id: UUID, statement: str, item_id: UUID, *values: object
) -> bool:
    is_changed = await connection.execute(statement, list_id, item_id, *values) == "UPDATE 1"
    if is_changed:
        await _touch(connection, list_id)
    return is_changed


async def _touch(connection: Connection, list_id: UUID) -> None:
    await connection.execute("UPDATE lists SET changed_at = now() WHERE list_id = $1", list_id)


def _item(row: asyncpg.Record) -> ListItem:
    post = (
        None
        if row["posted_at"] is None
        else ListedPost(row["title"], row["username"], row["posted_at"], row["text"], row["deleted_at"])
    )
    return ListItem(
        item_id=row["item_id"],
        kind=ItemKind(row["kind"]),
        post_id=PostId(ChannelId(row["channel_id"]), MessageId(row["message"])),
        position=row["position"],
        note=row["note"],
        noted_by=row["noted_by"],
        noted_at=row["noted_at"],
        added_by=row["added_by"],
        added_at=row["added_at"],
        post=post,
    )
