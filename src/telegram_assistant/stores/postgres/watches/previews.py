"""Past posts that a watch would have found, for one tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.search.query import bits_of
from telegram_assistant.domain.watches.watch import AlertKind, WatchConditions
from telegram_assistant.stores.postgres.database import TenantTransactions

MAX_MATCHES = 20_000
"""Older matches are not looked at, and the preview says so."""
LONG_AGO = datetime(2013, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PreviewedAlert:
    """An alert that a watch would have raised."""

    kind: AlertKind
    channel_id: ChannelId
    message_id: MessageId | None
    happened_at: datetime

    @property
    def post_id(self) -> PostId | None:
        return None if self.message_id is None else PostId(self.channel_id, self.message_id)


@dataclass(frozen=True, slots=True)
class PreviewedAlerts:
    """The alerts, newest first."""

    alerts: tuple[PreviewedAlert, ...]
    is_complete: bool
    """False: there are more matches than were looked at, so there would have been more alerts."""


@dataclass(frozen=True, slots=True)
class PreviewedText:
    """The post or channel of a previewed alert, as the tenant sees it."""

    channel: str
    username: str | None
    text: str


class WatchPreviews:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def posts(self, conditions: WatchConditions, *, since: datetime) -> PreviewedAlerts:
        """Posts that match, one for each subject."""
        rows = await self._matching(conditions, since=since, by_channel=False)
        return PreviewedAlerts(tuple(_alert_of(row, AlertKind.POSTED) for row in rows), _is_complete(rows))

    async def mentions(self, conditions: WatchConditions, *, since: datetime) -> PreviewedAlerts:
        """The first post of each channel that matches, if it is not older than `since`."""
        rows = await self._matching(conditions, since=LONG_AGO, by_channel=True)
        return PreviewedAlerts(
            tuple(_alert_of(row, AlertKind.MENTIONED) for row in rows if row["posted_at"] >= since),
            _is_complete(rows),
        )

    async def stories(
        self, conditions: WatchConditions, *, min_posts: int, since: datetime
    ) -> PreviewedAlerts:
        """Stories that have reached so many posts since then, by their first posts."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                STORIES, since, conditions.query.words, _ids(conditions), min_posts, MAX_MATCHES
            )
        return PreviewedAlerts(
            tuple(_alert_of(row, AlertKind.GROWN) for row in rows), len(rows) < MAX_MATCHES
        )

    async def changes(self, conditions: WatchConditions, *, since: datetime) -> PreviewedAlerts:
        """Edited and deleted posts that match, before or after."""
        query = conditions.query
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                CHANGES,
                since,
                query.words,
                _ids(conditions),
                list(query.languages) or None,
                list(conditions.tags) or None,
                [kind.value for kind in query.kinds] or None,
                query.with_ads,
                MAX_MATCHES,
            )
        return PreviewedAlerts(
            tuple(_alert_of(row, AlertKind(row["kind"])) for row in rows), len(rows) < MAX_MATCHES
        )

    async def silences(
        self, conditions: WatchConditions, *, hours: int, since: datetime, now: datetime
    ) -> PreviewedAlerts:
        """Pauses between two posts of a channel that were as long."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(SILENCES, since, now, _ids(conditions), hours, MAX_MATCHES)
        return PreviewedAlerts(
            tuple(_alert_of(row, AlertKind.SILENT) for row in rows), len(rows) < MAX_MATCHES
        )

    async def of_posts(self, post_ids: Sequence[PostId]) -> PreviewedAlerts:
        """These posts as alerts, newest first, as far as the tenant sees them."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                OF_POSTS,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        return PreviewedAlerts(tuple(_alert_of(row, AlertKind.POSTED) for row in rows), is_complete=True)

    async def texts(self, alerts: tuple[PreviewedAlert, ...]) -> tuple[PreviewedText, ...]:
        """The posts of these alerts, in the same order."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                TEXTS, [alert.channel_id for alert in alerts], [alert.message_id for alert in alerts]
            )
        return tuple(PreviewedText(row["title"] or "", row["username"], row["text"] or "") for row in rows)

    async def _matching(
        self, conditions: WatchConditions, *, since: datetime, by_channel: bool
    ) -> list[asyncpg.Record]:
        query = conditions.query
        async with self._transactions.begin() as connection:
            return await connection.fetch(
                "SELECT * FROM preview_watch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                query.words,
                _ids(conditions),
                since,
                list(query.languages) or None,
                bits_of(query.has),
                list(conditions.tags) or None,
                [kind.value for kind in query.kinds] or None,
                query.with_ads,
                by_channel,
                MAX_MATCHES,
            )


def _ids(conditions: WatchConditions) -> list[ChannelId] | None:
    return None if conditions.channel_ids is None else list(conditions.channel_ids)


def _alert_of(row: asyncpg.Record, kind: AlertKind) -> PreviewedAlert:
    message_id = None if row["message_id"] is None else MessageId(row["message_id"])
    return PreviewedAlert(kind, ChannelId(row["channel_id"]), message_id, row["posted_at"])


def _is_complete(rows: list[asyncpg.Record]) -> bool:
    return not rows or rows[0]["matches"] < MAX_MATCHES


# The newest edit of each post, and its deletion. Row-level security adds the tenant's window, and leaves out
# what was noticed before it followed.
CHANGES = """
-- $1 since, $2 words, $3 channels, $4 languages, $5 tags, $6 kinds, $7 whether with advertising, $8 most
WITH followed AS MATERIALIZED (SELECT channel_id FROM subscriptions
    WHERE active AND ($3::bigint[] IS NULL OR channel_id = ANY ($3))),
changed AS (
    SELECT DISTINCT ON (v.channel_id, v.message_id) v.channel_id, v.message_id, 'edited' AS kind,
        v.replaced_at AS posted_at, p.lang,
           v.text || E'\\n' || p.text AS text
    FROM followed f CROSS JOIN LATERAL (SELECT * FROM post_versions
        WHERE channel_id = f.channel_id AND replaced_at >= $1) v
    CROSS JOIN LATERAL (SELECT text, lang, deleted_at FROM posts
        WHERE channel_id = v.channel_id AND message_id = v.message_id) p
    WHERE v.text <> p.text AND p.deleted_at IS NULL
    ORDER BY v.channel_id, v.message_id, v.revision DESC
),
gone AS (
    SELECT p.channel_id, p.message_id, 'deleted' AS kind, p.deleted_at AS posted_at, p.lang, p.text
    FROM followed f CROSS JOIN LATERAL (SELECT * FROM posts
        WHERE channel_id = f.channel_id AND deleted_at >= $1) p
)
SELECT n.channel_id, n.message_id, n.kind, n.posted_at
FROM (SELECT * FROM changed UNION ALL SELECT * FROM gone) n
LEFT JOIN LATERAL (
    SELECT e.data FROM post_enrichment e WHERE e.channel_id = n.channel_id AND e.message_id = n.message_id
        AND e.kind = 'tags'
    ORDER BY e.revision DESC, e.tier DESC LIMIT 1) e ON true
WHERE ($2 = '' OR to_tsvector('russian', n.text) @@ websearch_to_tsquery('russian', $2))
    AND ($4::text[] IS NULL OR n.lang = ANY ($4))
  AND ($5::text[] IS NULL OR e.data -> 'tags' ?| $5) AND ($6::text[] IS NULL OR e.data ->> 'kind' = ANY ($6))
  AND ($7 OR (e.data ->> 'is_ad')::boolean IS NOT TRUE)
ORDER BY n.posted_at DESC, n.channel_id, n.message_id LIMIT $8
"""

SILENCES = """
-- $1 since, $2 now, $3 channels, $4 hours, $5 most
SELECT g.channel_id, NULL::bigint AS message_id, g.posted_at + make_interval(hours => $4) AS posted_at
FROM (SELECT channel_id FROM subscriptions WHERE active AND ($3::bigint[] IS NULL OR channel_id = ANY ($3))) f
CROSS JOIN LATERAL (
    SELECT p.channel_id, p.posted_at, lead(p.posted_at, 1,
        $2::timestamptz) OVER (ORDER BY p.posted_at) AS next_at FROM posts p
    WHERE p.channel_id = f.channel_id AND p.posted_at >= $1::timestamptz - make_interval(hours => $4)) g
WHERE g.next_at > g.posted_at + make_interval(hours => $4) AND g.posted_at + make_interval(hours => $4) >= $1
ORDER BY 3 DESC, 1 LIMIT $5
"""

STORIES = """
-- $1 since, $2 words, $3 channels, $4 posts, $5 most
WITH followed AS MATERIALIZED (SELECT channel_id FROM subscriptions
    WHERE active AND ($3::bigint[] IS NULL OR channel_id = ANY ($3))),
recent AS MATERIALIZED (
    SELECT s.story_id FROM followed f CROSS JOIN LATERAL (
        SELECT story_id FROM story_posts WHERE channel_id = f.channel_id AND posted_at >= $1
            AND link IS NOT NULL) s
    GROUP BY s.story_id
),
members AS MATERIALIZED (
    SELECT s.story_id, s.channel_id, s.message_id, s.posted_at FROM recent r
    JOIN story_posts s ON s.story_id = r.story_id
    WHERE s.channel_id IN (SELECT channel_id FROM followed) AND NOT EXISTS (SELECT 1 FROM posts_apart a
        WHERE a.channel_id = s.channel_id AND a.message_id = s.message_id)
)
SELECT channel_id, message_id, posted_at FROM (
    SELECT story_id, (array_agg(m.channel_id ORDER BY m.posted_at, m.channel_id,
        m.message_id))[1] AS channel_id,
           (array_agg(m.message_id ORDER BY m.posted_at, m.channel_id, m.message_id))[1] AS message_id,
           (array_agg(m.posted_at ORDER BY m.posted_at))[$4] AS posted_at
    FROM members m GROUP BY story_id HAVING count(*) >= $4
) g WHERE posted_at >= $1 AND ($2 = '' OR EXISTS (
    SELECT 1 FROM members m CROSS JOIN LATERAL (SELECT text FROM posts
        WHERE channel_id = m.channel_id AND message_id = m.message_id OFFSET 0) p
    WHERE m.story_id = g.story_id AND to_tsvector('russian', p.text) @@ websearch_to_tsquery('russian', $2)))
ORDER BY posted_at DESC LIMIT $5
"""

OF_POSTS = """
SELECT p.channel_id, p.message_id, p.posted_at
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (SELECT * FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id
    AND deleted_at IS NULL LIMIT 1) p
ORDER BY p.posted_at DESC, p.channel_id, p.message_id
"""

TEXTS = """
SELECT c.title, c.username, left(p.text, 300) AS text
FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS a(channel_id, message_id, place)
LEFT JOIN LATERAL (SELECT title, username FROM channels WHERE channel_id = a.channel_id) c ON true
LEFT JOIN LATERAL (SELECT text FROM posts WHERE channel_id = a.channel_id AND message_id = a.message_id) p
    ON true
ORDER BY a.place
"""
