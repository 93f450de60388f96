"""Edited and deleted posts of a search, for one tenant, under row-level security."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.search.search import (
    FAR_PAST,
    MAX_MATCHES,
    Match,
    SearchFilters,
    SearchPosition,
)

MAX_DELETIONS = 2_000
"""Deleted posts have no index of words, so the newest deletions are compared one by one."""


@dataclass(frozen=True, slots=True)
class DeletedMatches:
    """Deleted posts that match, newest first."""

    matches: tuple[Match, ...]
    continues_at: SearchPosition | None
    searched_back_to: datetime | None
    """Posts that were deleted earlier were not searched; None: all were."""


class ChangedPosts:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def keep_edited(self, post_ids: Sequence[PostId]) -> frozenset[PostId]:
        """Those of the posts that once had another text, as far as the tenant has seen it."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                EDITED,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        return frozenset(PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])) for row in rows)

    async def find_deleted(
        self, words: str, limits: SearchFilters, *, before: SearchPosition, max_rows: int = MAX_MATCHES
    ) -> DeletedMatches:
        """Deleted posts older than `before`. Of `limits`, channels, time and languages count."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                DELETED,
                None if limits.channels is None else list(limits.channels),
                words,
                limits.since or FAR_PAST,
                before.posted_at,
                before.channel_id,
                before.message_id,
                list(limits.languages) or None,
                MAX_DELETIONS,
                max_rows,
            )
        matches = tuple(
            Match(
                PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])),
                row["posted_at"],
                row["rank"],
                row["lang"],
                None,
                (),
            )
            for row in rows
            if row["channel_id"] is not None
        )
        continues_at = (
            SearchPosition(matches[-1].posted_at, *matches[-1].post_id) if len(matches) == max_rows else None
        )
        return DeletedMatches(matches, continues_at, rows[0]["back_to"] if rows else None)


EDITED = """
SELECT w.channel_id, w.message_id FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
WHERE EXISTS (
    SELECT 1 FROM post_versions v CROSS JOIN LATERAL (
        SELECT text FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id LIMIT 1) p
    WHERE v.channel_id = w.channel_id AND v.message_id = w.message_id AND v.text <> p.text)
"""

# $1 channels, $2 words, $3 since, $4-$6 position, $7 languages, $8 most deletions, $9 most matches
DELETED = """
WITH followed AS MATERIALIZED (
    SELECT channel_id FROM subscriptions WHERE active AND ($1::bigint[] IS NULL OR channel_id = ANY($1))
),
newest AS MATERIALIZED (
    SELECT d.* FROM followed f CROSS JOIN LATERAL (
        SELECT channel_id, message_id, deleted_at FROM posts
        WHERE channel_id = f.channel_id AND deleted_at IS NOT NULL ORDER BY deleted_at DESC LIMIT $8) d
    ORDER BY d.deleted_at DESC LIMIT $8
),
matching AS (
    SELECT p.channel_id, p.message_id, p.posted_at, p.lang,
        CASE WHEN $2 = '' THEN 0 ELSE ts_rank(p.words, websearch_to_tsquery('russian', $2), 1) END AS rank
    FROM newest n CROSS JOIN LATERAL (
        SELECT channel_id, message_id, posted_at, lang,
            CASE WHEN $2 = '' THEN ''::tsvector ELSE to_tsvector('russian', text) END AS words
        FROM posts WHERE channel_id = n.channel_id AND message_id = n.message_id LIMIT 1) p
    WHERE p.posted_at >= $3 AND p.posted_at <= $4
      AND (p.posted_at < $4 OR (p.channel_id, p.message_id) > ($5, $6))
      AND ($7::text[] IS NULL OR p.lang = ANY ($7))
      AND ($2 = '' OR p.words @@ websearch_to_tsquery('russian', $2))
    ORDER BY p.posted_at DESC, p.channel_id, p.message_id LIMIT $9
)
SELECT m.*, b.back_to FROM (
    SELECT CASE WHEN count(*) = $8 THEN min(deleted_at) END AS back_to FROM newest) b
LEFT JOIN matching m ON true ORDER BY m.posted_at DESC, m.channel_id, m.message_id
"""
