"""The files of posts as a tenant sees them, and the event that all files of a post are settled: stored,
skipped or given up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.media.files import MediaKind, MediaState
from telegram_assistant.events import PostVisionUploaded
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.stores.postgres.database import Connection, TenantTransactions
from telegram_assistant.stores.postgres.pipeline.notices import QueuedNotice, write_notices


@dataclass(frozen=True, slots=True)
class PostFile:
    """A file of a post, as a tenant sees it. `sha256` names the stored bytes; None until they are stored."""

    post_id: PostId
    kind: MediaKind
    state: MediaState
    sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowableFile:
    """A file of a post, with what is needed to show it to people. The sender chose `file_name`."""

    state: MediaState
    reason: str | None
    """Why it is not stored."""
    sha256: bytes | None
    file_name: str | None
    is_private: bool
    """Whether its channel is private."""


# Those of the given posts whose files are all settled. A post given without a lane has the lane of its outbox
# row.
SETTLED_POSTS = """
SELECT p.channel_id, p.message_id, p.revision, max(m.settled_at) AS settled_at,
       array_agg(encode(m.sha256, 'hex') ORDER BY m.ordinal) FILTER (WHERE m.state = 'stored') AS media,
       coalesce(min(n.lane), (SELECT min(o.lane) FROM outbox o
           WHERE o.channel_id = p.channel_id AND o.message_id = p.message_id), 'bulk') AS lane
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS n(channel_id, message_id, lane)
JOIN posts p ON p.channel_id = n.channel_id AND p.message_id = n.message_id
JOIN post_media m ON m.channel_id = p.channel_id AND m.message_id = p.message_id
GROUP BY p.channel_id, p.message_id, p.revision HAVING bool_and(m.state <> 'wanted')
"""


async def write_settled_notices(
    connection: Connection, posts: Iterable[asyncpg.Record | tuple[object, ...]]
) -> None:
    """Writes the notice `posts.vision.uploaded` for each of these posts (channel, message,
    lane) whose files are all settled.
    """
    rows = await connection.fetch(SETTLED_POSTS, *to_columns([tuple(post) for post in posts], 3))
    notices = []
    for row in rows:
        post_id = PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))
        event = PostVisionUploaded.about(
            post_id,
            row["revision"],
            occurred_at=row["settled_at"].astimezone(UTC),
            trace_id=trace_of(post_id, row["revision"]),
            media=tuple(row["media"] or ()),
        )
        notices.append(QueuedNotice(event, Lane(row["lane"])))
    if notices:
        await write_notices(connection, notices)


def to_columns(rows: Sequence[tuple[object, ...]], count: int) -> list[list[object]]:
    """Transposes rows into the columns that unnest() takes."""
    return [[row[index] for row in rows] for index in range(count)]


class PostMedia:
    """The files of posts that a tenant may see. A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def list_files(self, post_ids: Sequence[PostId]) -> tuple[PostFile, ...]:
        """The files of these posts that the tenant may see, in the order of each post."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT m.channel_id, m.message_id, m.kind, m.state, encode(m.sha256, 'hex') AS sha256
                FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
                JOIN post_media m ON m.channel_id = w.channel_id AND m.message_id = w.message_id
                ORDER BY m.channel_id, m.message_id, m.ordinal
                """,
                *to_columns([(post_id.channel_id, post_id.message_id) for post_id in post_ids], 2),
            )
        return tuple(
            PostFile(
                PostId(row["channel_id"], row["message_id"]),
                MediaKind(row["kind"]),
                MediaState(row["state"]),
                row["sha256"],
            )
            for row in rows
        )

    async def showable(self, post_id: PostId, ordinal: int) -> ShowableFile | None:
        """One file of a post; None if it does not exist for the tenant."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                """
                SELECT m.state, m.reason, m.sha256, m.file_name, c.is_private
                FROM post_media m JOIN channels c ON c.channel_id = m.channel_id
                WHERE m.channel_id = $1 AND m.message_id = $2 AND m.ordinal = $3
                """,
                post_id.channel_id,
                post_id.message_id,
                ordinal,
            )
        return ShowableFile(**{**dict(row), "state": MediaState(row["state"])}) if row else None
