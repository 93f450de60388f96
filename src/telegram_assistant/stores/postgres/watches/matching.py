"""Finds the watches of posts.

    words, channel and tags of a post -> watch_terms -> candidates
        -> every condition of each candidate -> alerts, deliveries (raising.py)

No statement reads all watches: the cost of a post grows with the number of watches of its channel's followers
that share a rare word with it. Matching takes no lock. The alerts of a post that thousands ask for are queued
in `alert_fanouts`, and written by any worker, some at a time, while other posts go on.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.domain.search.query import bits_of
from telegram_assistant.domain.watches.watch import WatchKind, WatchTarget
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.watches.raising import (
    AT_ONCE,
    CLAIM,
    LOCK_FANOUT,
    OCCURRENCES,
    POSTPONE,
    RAISE_FANOUT,
    Occurrence,
    fetch_occurrences,
    raise_occurrences,
)

LOOKED_BACK = timedelta(minutes=10)
"""The job runs every minute; a run may be late."""


@dataclass(frozen=True, slots=True)
class MeaningWatch:
    """A watch whose posts the vector store finds."""

    tenant_id: TenantId
    watch_id: UUID
    target: WatchTarget
    begins_at: datetime


class WatchMatching:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions
        self.queued = asyncio.Event()
        """Set when this process has queued alerts for `fan_out`."""

    async def raise_alerts(self, posts: Sequence[Derived]) -> int:
        """Raises the alerts of new, edited and deleted posts, and returns how many are new. Repeating it
        raises none twice, and any number of processes may do it at the same time.

        A post that was changed since it was read is skipped: its next revision follows. The alerts of posts
        that very many ask for are written later, by `fan_out`; they do not count here.
        """
        async with self._transactions.begin() as connection:
            rows = await fetch_occurrences(connection, MATCH, *_columns(posts, alone=False))
        alert_count = await self._raise([row for row in rows if row.kind != ALONE])
        broad = {(row.channel_id, row.message_id) for row in rows if row.kind == ALONE}
        for post in posts:
            if (post.post.channel_id, post.post.message_id) in broad:
                async with self._transactions.begin() as connection:
                    await connection.execute(QUEUE, *_columns([post], alone=True))
                self.queued.set()
        return alert_count

    async def fan_out(self) -> int | None:
        """Raises some of the alerts that wait because very many ask for their post.

        Returns how many are new; None if none wait, or other processes have all of them in hand.
        """
        fanout_id = None
        try:
            async with self._transactions.begin() as connection:
                fanout_id = await connection.fetchval(CLAIM)
                if fanout_id is None:
                    return None
                await connection.execute(LOCK_FANOUT, fanout_id)
                alert_count: int = await connection.fetchval(RAISE_FANOUT, fanout_id)
        except asyncpg.PostgresError:  # the others go on; it is tried again
            if fanout_id is not None:
                async with self._transactions.begin() as connection:
                    await connection.execute(POSTPONE, fanout_id)
            raise
        return alert_count

    async def raise_silences(self, now: datetime, tenant_id: TenantId | None = None) -> int:
        """Raises an alert for each channel that is silent for as long as a watch of the tenant, or of any,
        says, once for each silence. Returns how many are new.

        A channel that has not been read since counts as unknown, not as silent.
        """
        async with self._transactions.begin() as connection:
            silences = await fetch_occurrences(
                connection, _of_tenant(SILENCES, tenant_id), now, *_arguments_of(tenant_id)
            )
        return await self._raise(silences)

    async def raise_grown(self, now: datetime, tenant_id: TenantId | None = None) -> int:
        """Raises an alert for each story that has reached as many posts as a watch of the tenant, or of any,
        says, in channels of its tenant. Returns how many are new.

        Stories that changed within the last minutes are looked at, and then the watches of those who see
        them.
        """
        async with self._transactions.begin() as connection:
            grown = await fetch_occurrences(
                connection, _of_tenant(GROWN, tenant_id), now - LOOKED_BACK, *_arguments_of(tenant_id)
            )
        return await self._raise(grown)

    async def meanings(self, tenant_id: TenantId) -> tuple[MeaningWatch, ...]:
        """The watches by meaning of the tenant that are not paused."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT * FROM watches WHERE tenant_id = $1 AND kind = 'meaning' AND paused_at IS NULL "
                "ORDER BY watch_id",
                tenant_id,
            )
        return tuple(
            MeaningWatch(
                row["tenant_id"],
                row["watch_id"],
                WatchTarget(kind=WatchKind.MEANING, query=row["query"]),
                row["begins_at"],
            )
            for row in rows
        )

    async def raise_found(self, watch: MeaningWatch, post_ids: Sequence[PostId]) -> int:
        """Raises the alerts of posts that were found for a watch. Returns how many are new."""
        posts = [post_id.channel_id for post_id in post_ids], [post_id.message_id for post_id in post_ids]
        async with self._transactions.begin() as connection:
            nearest = await fetch_occurrences(
                connection, NEAREST + OCCURRENCES, watch.tenant_id, watch.watch_id, *posts
            )
        return await self._raise(nearest)

    async def forget(self, before: datetime, *, limit: int = MAX_ROWS // 4) -> int:
        """Deletes so many alerts from before this moment that are delivered everywhere, with their
        deliveries, and so many of digests.

        Returns how many alerts.
        """
        async with self._transactions.begin() as connection:
            return int((await connection.execute(FORGET, before, limit)).rpartition(" ")[2])

    async def _raise(self, occurrences: Sequence[Occurrence]) -> int:
        return await raise_occurrences(self._transactions, occurrences)


def _of_tenant(query: str, tenant_id: TenantId | None) -> str:
    """The query for the watches of a tenant, or for all."""
    return query.format(of_tenant="" if tenant_id is None else OF_TENANT) + OCCURRENCES


def _arguments_of(tenant_id: TenantId | None) -> tuple[TenantId, ...]:
    return () if tenant_id is None else (tenant_id,)


def _columns(posts: Sequence[Derived], *, alone: bool) -> tuple[object, ...]:
    return (
        [post.post.channel_id for post in posts],
        [post.post.message_id for post in posts],
        [post.revision for post in posts],
        [post.lang for post in posts],
        [bits_of(post.has) for post in posts],
        alone,
    )


ALONE = "alone"
"""In place of the kind of an alert: the post has to be matched alone."""
BROAD = 1000
"""A post is matched alone if that many tenants follow its channel and that many watches ask for one of its
words: it must not keep the others waiting."""

# Nothing in it compares all watches of a word with all followers of a channel. A word with more watches than
# its channel has followers is looked up for each follower; the others are looked up once, and a set says who
# follows. What depends on the post alone, like its tags, is read once for each post.
MATCHES = f"""
-- arrays, one element per post: $1 channel, $2 message, $3 revision, $4 language, $5 bits of `Has`;
-- $6 whether they are matched alone
WITH seen AS MATERIALIZED (
    SELECT row_number() OVER () AS number, p.channel_id, p.message_id, p.posted_at, n.lang, n.has, o.what,
        o.at, o.words
    FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::text[], $5::smallint[]) AS n(channel_id,
        message_id, revision, lang, has)
    JOIN posts p ON p.channel_id = n.channel_id AND p.message_id = n.message_id AND p.revision = n.revision
    CROSS JOIN LATERAL (
        SELECT CASE WHEN p.deleted_at IS NULL THEN 'posted' ELSE 'deleted' END AS what,
            coalesce(p.deleted_at, p.posted_at) AS at,
               to_tsvector('russian', p.text) AS words
        UNION ALL
        SELECT 'edited', v.replaced_at, to_tsvector('russian', v.text || E'\n' || p.text) FROM (
            SELECT text, replaced_at FROM post_versions
            WHERE p.revision > 1 AND p.deleted_at IS NULL AND channel_id = p.channel_id
                AND message_id = p.message_id
            ORDER BY revision DESC LIMIT 1) v
        WHERE v.text <> p.text) o
),
followers AS MATERIALIZED (
    SELECT s.channel_id, u.tenants, cardinality(u.tenants) AS tenant_count
    FROM (SELECT DISTINCT channel_id FROM seen) s
    CROSS JOIN LATERAL (SELECT array_agg(u.tenant_id ORDER BY u.tenant_id) AS tenants FROM subscriptions u
        WHERE u.channel_id = s.channel_id AND u.active OFFSET 0) u
    WHERE u.tenants IS NOT NULL
),
followed AS MATERIALIZED (SELECT channel_id, unnest(tenants) AS tenant_id FROM followers),
terms AS MATERIALIZED (
    SELECT s.number, s.channel_id, f.tenant_count, t.term, CASE WHEN $6 THEN 4 * f.tenant_count + 16
        ELSE least(4 * f.tenant_count + 16, {BROAD}) END AS most
    FROM seen s JOIN followers f ON f.channel_id = s.channel_id
    CROSS JOIN LATERAL (
        SELECT 'w:' || unnest(tsvector_to_array(s.words)) AS term
        UNION ALL SELECT 'c:' || s.channel_id
        UNION ALL SELECT 'a:' WHERE s.what <> 'posted'
        UNION SELECT 't:' || jsonb_array_elements_text(e.data -> 'tags') FROM post_enrichment e
        WHERE e.channel_id = s.channel_id AND e.message_id = s.message_id AND e.kind = 'tags' OFFSET 0) t
),
sized AS MATERIALIZED (
    SELECT t.*, c.watches FROM terms t CROSS JOIN LATERAL (
        SELECT count(*) AS watches
        FROM (SELECT 1 FROM watch_terms i WHERE i.term = t.term LIMIT t.most + 1) i) c
    WHERE c.watches > 0
),
broad AS MATERIALIZED (
    SELECT DISTINCT number FROM sized WHERE NOT $6 AND tenant_count >= {BROAD} AND watches > {BROAD}
),
candidates AS MATERIALIZED (
    SELECT DISTINCT t.number, i.tenant_id, i.watch_id FROM sized t
    CROSS JOIN LATERAL (
        SELECT i.tenant_id, i.watch_id FROM watch_terms i
        WHERE t.watches <= t.most AND i.term = t.term
            AND CASE WHEN (t.channel_id, i.tenant_id) IN (SELECT channel_id, tenant_id FROM followed)
                THEN true ELSE false END
        UNION ALL
        SELECT i.tenant_id, i.watch_id FROM watch_terms i
        WHERE t.watches > t.most AND i.term = t.term AND i.tenant_id = ANY (ARRAY(
            SELECT unnest(tenants) FROM followers WHERE channel_id = t.channel_id)) OFFSET 0) i
    WHERE t.number NOT IN (SELECT number FROM broad)
),
understood AS MATERIALIZED (
    SELECT c.number, r.with_provider, e.kind, e.is_ad, e.tags
    FROM (SELECT DISTINCT number FROM candidates) c JOIN seen s ON s.number = c.number
    CROSS JOIN (VALUES (true), (false)) AS r(with_provider)
    CROSS JOIN LATERAL (
        SELECT e.data ->> 'kind' AS kind, (e.data ->> 'is_ad')::boolean AS is_ad,
            ARRAY(SELECT jsonb_array_elements_text(e.data -> 'tags')) AS tags
        FROM post_enrichment e
        WHERE e.channel_id = s.channel_id AND e.message_id = s.message_id AND e.kind = 'tags'
            AND (r.with_provider OR e.tier <> 'provider')
        ORDER BY e.revision DESC, e.tier DESC LIMIT 1) e
),
matches AS (
    SELECT w.tenant_id, w.watch_id, s.channel_id, s.message_id, s.at,
           CASE w.kind WHEN 'mention' THEN 'mentioned' ELSE s.what END AS kind,
           CASE WHEN w.kind = 'mention' THEN 'channel:' || s.channel_id
               WHEN s.what <> 'posted' THEN 'post:' || s.channel_id || '/' || s.message_id END AS subject
    FROM candidates c JOIN seen s ON s.number = c.number
    CROSS JOIN LATERAL (SELECT * FROM watches w WHERE w.tenant_id = c.tenant_id
        AND w.watch_id = c.watch_id OFFSET 0) w
    CROSS JOIN LATERAL (
        SELECT u.visible_from, CASE u.ai_policy WHEN 'off' THEN NULL WHEN 'provider' THEN EXISTS (
            SELECT 1 FROM ai_consents k WHERE k.tenant_id = w.tenant_id) ELSE false END AS with_provider
        FROM subscriptions u
        WHERE u.tenant_id = w.tenant_id AND u.channel_id = s.channel_id AND u.active
          AND s.posted_at >= u.visible_from AND (s.what = 'posted' OR s.at >= u.created_at) OFFSET 0) u
    LEFT JOIN understood e ON e.number = c.number AND e.with_provider = u.with_provider
    WHERE w.paused_at IS NULL AND s.at >= w.begins_at
      AND CASE WHEN s.what = 'posted' THEN w.kind IN ('words', 'mention') ELSE w.kind = 'changes' END
      AND (w.words IS NULL OR s.words @@ w.words)
          AND (w.channel_ids IS NULL OR s.channel_id = ANY (w.channel_ids))
      AND (w.langs IS NULL OR s.lang = ANY (w.langs)) AND s.has & w.needs = w.needs
      AND (w.with_ads OR e.is_ad IS NOT TRUE) AND (w.tags IS NULL OR e.tags && w.tags)
          AND (w.kinds IS NULL OR e.kind = ANY (w.kinds))
      AND (w.kind <> 'mention' OR NOT EXISTS (
          SELECT 1 FROM post_search o
          WHERE o.channel_id = s.channel_id AND o.posted_at < s.posted_at AND o.posted_at >= u.visible_from
              AND o.words @@ w.words))
)
"""

MATCH = f"""{MATCHES} {OCCURRENCES}
UNION ALL SELECT s.channel_id, s.message_id, '{ALONE}', NULL, s.at, '{{}}', '{{}}'
FROM broad b JOIN seen s ON s.number = b.number
"""

QUEUE = f"""{MATCHES}
INSERT INTO alert_fanouts (channel_id, message_id, kind, subject, happened_at, tenants, watches)
SELECT channel_id, message_id, kind, subject, at, array_agg(tenant_id ORDER BY tenant_id, watch_id),
    array_agg(watch_id ORDER BY tenant_id, watch_id)
FROM (SELECT *, (row_number() OVER (PARTITION BY kind, subject ORDER BY tenant_id, watch_id) - 1)
    / {AT_ONCE} AS part FROM matches) m
GROUP BY channel_id, message_id, kind, subject, at, part
"""

OF_TENANT = " AND w.tenant_id = $2"

SILENCES = """
-- $1 now
WITH matches AS (
    SELECT w.tenant_id, w.watch_id, c.channel_id, NULL::bigint AS message_id, 'silent' AS kind,
           'silence:' || c.channel_id || '/' || c.newest_message_id AS subject, c.newest_posted_at
               + make_interval(hours => w.hours) AS at
    FROM watches w JOIN subscriptions u ON u.tenant_id = w.tenant_id AND u.active
        AND (w.channel_ids IS NULL OR u.channel_id = ANY (w.channel_ids))
    JOIN channels c ON c.channel_id = u.channel_id
    JOIN poll_schedule p ON p.channel_id = u.channel_id
    WHERE w.kind = 'silence'{of_tenant} AND w.paused_at IS NULL AND c.newest_posted_at
        + make_interval(hours => w.hours) >= w.begins_at
      AND $1 > c.newest_posted_at + make_interval(hours => w.hours) AND p.last_polled_at > c.newest_posted_at
          + make_interval(hours => w.hours)
)
"""

GROWN = """
-- $1 since when stories have changed
WITH visible AS MATERIALIZED (
    SELECT u.tenant_id, s.story_id, s.channel_id, s.message_id, s.posted_at
    FROM stories t JOIN story_posts s ON s.story_id = t.story_id
    JOIN subscriptions u ON u.channel_id = s.channel_id AND u.active AND s.posted_at >= u.visible_from
    WHERE t.changed_at > $1 AND t.posts > 1 AND NOT EXISTS (SELECT 1 FROM posts_apart a
            WHERE a.tenant_id = u.tenant_id AND a.channel_id = s.channel_id AND a.message_id = s.message_id)
        AND u.tenant_id IN (SELECT w.tenant_id FROM watches w
            WHERE w.kind = 'story'{of_tenant} AND w.paused_at IS NULL)
),
reached AS (
    SELECT w.tenant_id, w.watch_id, v.story_id, max(v.posted_at) AS at,
           min(ARRAY[extract(epoch FROM v.posted_at), v.channel_id, v.message_id]) AS first
    FROM watches w JOIN visible v ON v.tenant_id = w.tenant_id
        AND (w.channel_ids IS NULL OR v.channel_id = ANY (w.channel_ids))
    WHERE w.kind = 'story'{of_tenant} AND w.paused_at IS NULL
    GROUP BY w.tenant_id, w.watch_id, v.story_id HAVING count(*) >= w.posts
        AND max(v.posted_at) >= w.begins_at
),
matches AS (
    SELECT w.tenant_id, w.watch_id, r.first[2]::bigint AS channel_id, r.first[3]::bigint AS message_id, r.at,
        'grown' AS kind,
           'story:' || r.story_id AS subject
    FROM reached r JOIN watches w ON w.tenant_id = r.tenant_id AND w.watch_id = r.watch_id
    WHERE w.words IS NULL OR EXISTS (
        SELECT 1 FROM visible v JOIN posts p ON p.channel_id = v.channel_id AND p.message_id = v.message_id
        WHERE v.tenant_id = r.tenant_id AND v.story_id = r.story_id
            AND to_tsvector('russian', p.text) @@ w.words)
)
"""

NEAREST = """
-- $1 tenant, $2 watch, arrays, one element per post: $3 channel, $4 message
WITH matches AS (
    SELECT w.tenant_id, w.watch_id, p.channel_id, p.message_id, p.posted_at AS at, 'posted' AS kind,
        NULL AS subject
    FROM unnest($3::bigint[], $4::bigint[]) AS n(channel_id, message_id)
    JOIN posts p ON p.channel_id = n.channel_id AND p.message_id = n.message_id AND p.deleted_at IS NULL
    JOIN watches w ON w.tenant_id = $1 AND w.watch_id = $2 AND w.paused_at IS NULL
        AND p.posted_at >= w.begins_at
    JOIN subscriptions u ON u.tenant_id = w.tenant_id AND u.channel_id = p.channel_id AND u.active
        AND p.posted_at >= u.visible_from
)
"""

FORGET = """
WITH old AS (
    SELECT a.tenant_id, a.alert_id FROM alerts a
    WHERE a.created_at < $1 AND NOT EXISTS (
        SELECT 1 FROM deliveries d WHERE d.tenant_id = a.tenant_id AND d.alert_id = a.alert_id
            AND d.delivered_at IS NULL)
    LIMIT $2
),
delivered AS (DELETE FROM deliveries d USING old o
    WHERE d.tenant_id = o.tenant_id AND d.alert_id = o.alert_id),
digests AS (DELETE FROM deliveries d WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM deliveries WHERE digest_id IS NOT NULL AND delivered_at < $1 LIMIT $2)))
DELETE FROM alerts a USING old o WHERE a.tenant_id = o.tenant_id AND a.alert_id = o.alert_id
"""
