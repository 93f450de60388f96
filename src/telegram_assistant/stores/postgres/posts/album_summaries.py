"""Summaries of albums: the known state of an album and its items,
and the summary that is stored with its first item.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic_core import to_json

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions

type Summaries = Mapping[Tier, Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class KnownAlbum:
    """The current state of an album in PostgreSQL."""

    revision: int
    assembled_revision: int
    """The newest revision that has a summary."""
    is_closed: bool
    """No more items are expected."""
    items: tuple[int, ...]
    """The items that are not deleted; all items if every one is."""
    seen: Mapping[int, Summaries]
    """Vision results of each analysed item, by tier."""


class AlbumSummaries:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load(self, channel_id: ChannelId, grouped_id: int) -> KnownAlbum | None:
        """Returns None if no item of the album is stored."""
        async with self._transactions.begin() as connection:
            return await _load(connection, ALBUM, channel_id, grouped_id)

    async def assemble(
        self, channel_id: ChannelId, grouped_id: int, sum_up: Callable[[KnownAlbum], Summaries]
    ) -> KnownAlbum | None:
        """Summarises the album's current state and stores the summary with its first item. Returns None if
        the album is open or unknown.

        A concurrent call waits for the lock and then sees all results stored until then.
        """
        async with self._transactions.begin() as connection:
            album = await _load(connection, f"{ALBUM} FOR UPDATE", channel_id, grouped_id)
            if album is None or not album.is_closed:
                return None
            await connection.execute(ASSEMBLED, channel_id, grouped_id, album.revision)
            await connection.execute(FORGET, channel_id, grouped_id, album.items[0])
            for tier, data in sorted(sum_up(album).items()):
                await connection.execute(
                    SAVE, channel_id, album.items[0], tier.value, album.revision, to_json(data).decode()
                )
        return album


async def _load(
    connection: Connection, query: str, channel_id: ChannelId, grouped_id: int
) -> KnownAlbum | None:
    album = await connection.fetchrow(query, channel_id, grouped_id)
    if album is None:
        return None
    alive = await connection.fetch(ALIVE, channel_id, album["message_ids"])
    items = [row["message_id"] for row in alive] or album["message_ids"]
    results_by_post: dict[int, dict[Tier, Mapping[str, Json]]] = {}
    for row in await connection.fetch(SEEN, channel_id, items):
        results_by_post.setdefault(row["message_id"], {})[Tier(row["tier"])] = json.loads(row["data"])
    return KnownAlbum(
        album["revision"],
        album["assembled_revision"],
        album["closed_at"] is not None,
        tuple(items),
        results_by_post,
    )


ALBUM = (
    "SELECT revision, assembled_revision, closed_at, message_ids FROM media_groups WHERE channel_id = $1 "
    "AND grouped_id = $2"
)

ALIVE = (
    "SELECT message_id FROM posts WHERE channel_id = $1 AND message_id = ANY($2) AND deleted_at IS NULL "
    "ORDER BY message_id"
)

# A provider's row of an older revision says nothing about the current picture.
SEEN = """
SELECT e.message_id, e.tier, e.data FROM post_enrichment e
WHERE e.channel_id = $1 AND e.message_id = ANY($2) AND e.kind = 'vision'
  AND e.revision = (SELECT max(n.revision) FROM post_enrichment n
                    WHERE n.channel_id = e.channel_id AND n.message_id = e.message_id AND n.kind = 'vision')
"""

ASSEMBLED = """
UPDATE media_groups SET assembled_revision = $3 WHERE channel_id = $1 AND grouped_id = $2
    AND assembled_revision <> $3
"""

# An item that used to be the first may still have a summary.
FORGET = """
DELETE FROM post_enrichment e USING media_groups g
WHERE g.channel_id = $1 AND g.grouped_id = $2 AND e.channel_id = $1 AND e.message_id = ANY(g.message_ids)
    AND e.message_id <> $3 AND e.kind = 'album'
"""

SAVE = """
INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version,
    content_hash, revision, data)
SELECT p.channel_id, p.message_id, 'album', $3, 'local', '', '', p.content_hash, $4, $5::jsonb
FROM posts p WHERE p.channel_id = $1 AND p.message_id = $2
ON CONFLICT (channel_id, message_id, kind, tier) DO UPDATE
    SET revision = excluded.revision, data = excluded.data, made_at = now()
WHERE post_enrichment.data <> excluded.data OR post_enrichment.revision <> excluded.revision
"""
