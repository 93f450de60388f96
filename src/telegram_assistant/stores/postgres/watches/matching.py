"""Finds the watches of posts, and writes their alerts with what is to be delivered, in one transaction.

    words, channel and tags of a post -> watch_terms -> candidates
        -> every condition of each candidate -> alerts, deliveries

No statement reads all watches: the cost of a post grows with the number of watches that share a rare word
with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.domain.search.query import bits_of
from telegram_assistant.domain.watches.watch import WatchKind, WatchTarget
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.posts.posts import Derived

ALERTING = 42_001
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

    async def raise_alerts(self, posts: Sequence[Derived]) -> int:
        """Raises the alerts of new, edited and deleted posts, and returns how many are new. Repeating it
        raises none twice.

        A post that was changed since it was read is skipped: its next revision follows. One batch at a time
        is matched, whichever process does it, so that each sees of which stories the others have told.
        """
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock($1)", ALERTING)
            alert_count: int = await connection.fetchval(
                MATCH,
                [post.post.channel_id for post in posts],
                [post.post.message_id for post in posts],
                [post.revision for post in posts],
                [post.lang for post in posts],
                [bits_of(post.has) for post in posts],
            )
        return alert_count

    async def raise_silences(self, now: datetime, tenant_id: TenantId | None = None) -> int:
        """Raises an alert for each channel that is silent for as long as a watch of the tenant, or of any,
        says, once for each silence. Returns how many are new.

        A channel that has not been read since counts as unknown, not as silent.
        """
        async with self._transactions.begin() as connection:
            alert_count: int = (
                await connection.fetchval(SILENCES.format(of_tenant=""), now)
                if tenant_id is None
                else await connection.fetchval(SILENCES.format(of_tenant=OF_TENANT), now, tenant_id)
            )
        return alert_count

    async def raise_grown(self, now: datetime, tenant_id: TenantId | None = None) -> int:
        """Raises an alert for each story that has reached as many posts as a watch of the tenant, or of any,
        says, in channels of its tenant. Returns how many are new.

        Stories that changed within the last minutes are looked at, and then the watches of those who see
        them.
        """
        async with self._transactions.begin() as connection:
            since = now - LOOKED_BACK
            alert_count: int = (
                await connection.fetchval(GROWN.format(of_tenant=""), since)
                if tenant_id is None
                else await connection.fetchval(GROWN.format(of_tenant=OF_TENANT), since, tenant_id)
            )
        return alert_count

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
            alert_count: int = await connection.fetchval(SAVE_FOUND, watch.tenant_id, watch.watch_id, *posts)
        return alert_count

    async def forget(self, before: datetime, *, limit: int = MAX_ROWS // 4) -> int:
        """Deletes so many alerts from before this moment that are delivered everywhere, with their
        deliveries, and so many of digests.

        Returns how many alerts.
        """
        async with self._transactions.begin() as connection:
            return int((await connection.execute(FORGET, before, limit)).rpartition(" ")[2])


# Writes what the relation `found` holds, except about posts and stories of which the watch has told: the post
# may have been matched before it was grouped, the first post of the story may have come late, and its id may
# be another one now. Sorted, so that two writers of the same alerts never wait for each other in a circle.
WRITE = """
untold AS (
    SELECT * FROM found f WHERE f.kind NOT IN ('posted', 'grown') OR NOT EXISTS (
        SELECT 1 FROM alerts a
        WHERE a.tenant_id = f.tenant_id AND a.watch_id = f.watch_id AND a.channel_id = f.channel_id
            AND a.message = f.message_id AND a.kind = f.kind
    ) AND NOT EXISTS (
        SELECT 1 FROM story_posts s JOIN story_posts m ON m.story_id = s.story_id
        JOIN alerts a ON a.channel_id = m.channel_id AND a.message = m.message_id
        WHERE s.channel_id = f.channel_id AND s.message_id = f.message_id AND s.link IS NOT NULL
          AND a.tenant_id = f.tenant_id AND a.watch_id = f.watch_id AND a.kind = f.kind)
),
raised AS (
    INSERT INTO alerts (tenant_id, watch_id, kind, subject, channel_id, message, severity, happened_at)
    SELECT DISTINCT ON (tenant_id, watch_id, kind, subject) tenant_id, watch_id, kind, subject, channel_id,
        message_id, severity, at
    FROM untold ORDER BY tenant_id, watch_id, kind, subject, at, channel_id, message_id
    ON CONFLICT (tenant_id, watch_id, kind, subject) DO NOTHING
    RETURNING tenant_id, watch_id, alert_id, severity
),
queued AS (
    INSERT INTO deliveries (tenant_id, receiver_id, alert_id, due_at)
    SELECT a.tenant_id, r.receiver_id, a.alert_id,
           CASE WHEN a.severity = 'critical' THEN now()
               ELSE quiet_until(now(), w.quiet_from, w.quiet_until, w.zone) END
    FROM raised a JOIN watches w USING (tenant_id, watch_id)
    JOIN receivers r ON r.tenant_id = a.tenant_id AND r.receiver_id = ANY (w.receivers)
        AND r.confirmed_at IS NOT NULL
    ORDER BY a.tenant_id, r.receiver_id, a.alert_id
)
SELECT count(*) FROM raised
"""

# `terms` are looked up one by one: a join that reads all of watch_terms would cost more the more watches
# there are. The followers of a channel are an array: asking subscriptions about every watch of a term took
# twice as long. `+ 0` keeps one descent of the index for each term.
MATCH = f"""
-- arrays, one element per post: $1 channel, $2 message, $3 revision, $4 language, $5 bits of `Has`
WITH seen AS MATERIALIZED (
    SELECT p.channel_id, p.message_id, p.posted_at, p.grouped_id, n.lang, n.has, o.what, o.at, o.words
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
terms AS (
    SELECT channel_id, message_id, what, 'w:' || unnest(tsvector_to_array(words)) AS term FROM seen
    UNION ALL SELECT channel_id, message_id, what, 'c:' || channel_id FROM seen
    UNION ALL SELECT channel_id, message_id, what, 'a:' FROM seen WHERE what <> 'posted'
    UNION ALL SELECT s.channel_id, s.message_id, s.what, 't:' || jsonb_array_elements_text(e.data -> 'tags')
        FROM seen s
    JOIN post_enrichment e ON e.channel_id = s.channel_id AND e.message_id = s.message_id AND e.kind = 'tags'
),
followers AS MATERIALIZED (
    SELECT s.channel_id, array_agg(u.tenant_id) AS tenants FROM (SELECT DISTINCT channel_id FROM seen) s
    CROSS JOIN LATERAL (SELECT u.tenant_id FROM subscriptions u
        WHERE u.channel_id = s.channel_id AND u.active OFFSET 0) u GROUP BY s.channel_id
),
candidates AS MATERIALIZED (
    SELECT DISTINCT t.channel_id, t.message_id, t.what, i.tenant_id, i.watch_id
    FROM terms t JOIN followers f ON f.channel_id = t.channel_id
    CROSS JOIN LATERAL (SELECT i.tenant_id, i.watch_id FROM watch_terms i
        WHERE i.term = t.term AND i.tenant_id + 0 = ANY (f.tenants) OFFSET 0) i
),
found AS (
    SELECT w.tenant_id, w.watch_id, s.channel_id, s.message_id, s.at, w.severity,
           CASE w.kind WHEN 'mention' THEN 'mentioned' ELSE s.what END AS kind,
           CASE WHEN w.kind = 'mention' THEN 'channel:' || s.channel_id WHEN s.what <> 'posted' THEN 'post:'
               || s.channel_id || '/' || s.message_id
                ELSE subject_of(s.words, s.channel_id, s.message_id, s.grouped_id) END AS subject
    FROM candidates c
    JOIN seen s ON s.channel_id = c.channel_id AND s.message_id = c.message_id AND s.what = c.what
    CROSS JOIN LATERAL (SELECT * FROM watches w WHERE w.tenant_id = c.tenant_id
        AND w.watch_id = c.watch_id OFFSET 0) w
    CROSS JOIN LATERAL (
        SELECT u.ai_policy, u.visible_from FROM subscriptions u
        WHERE u.tenant_id = w.tenant_id AND u.channel_id = s.channel_id AND u.active
          AND s.posted_at >= u.visible_from AND (s.what = 'posted' OR s.at >= u.created_at) OFFSET 0) u
    LEFT JOIN LATERAL (
        SELECT e.data ->> 'kind' AS kind, (e.data ->> 'is_ad')::boolean AS is_ad,
            ARRAY(SELECT jsonb_array_elements_text(e.data -> 'tags')) AS tags
        FROM post_enrichment e
        WHERE e.channel_id = s.channel_id AND e.message_id = s.message_id AND e.kind = 'tags'
          AND CASE e.tier WHEN 'provider' THEN u.ai_policy = 'provider'
              AND EXISTS (SELECT 1 FROM ai_consents k WHERE k.tenant_id = w.tenant_id)
                          ELSE u.ai_policy <> 'off' END
        ORDER BY e.revision DESC, e.tier DESC LIMIT 1) e ON true
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
),
{WRITE}
"""

OF_TENANT = " AND w.tenant_id = $2"

SILENCES = f"""
-- $1 now
WITH found AS (
    SELECT w.tenant_id, w.watch_id, c.channel_id, NULL::bigint AS message_id, w.severity, 'silent' AS kind,
           'silence:' || c.channel_id || '/' || c.newest_message_id AS subject, c.newest_posted_at
               + make_interval(hours => w.hours) AS at
    FROM watches w JOIN subscriptions u ON u.tenant_id = w.tenant_id AND u.active
        AND (w.channel_ids IS NULL OR u.channel_id = ANY (w.channel_ids))
    JOIN channels c ON c.channel_id = u.channel_id
    JOIN poll_schedule p ON p.channel_id = u.channel_id
    WHERE w.kind = 'silence'{{of_tenant}} AND w.paused_at IS NULL AND c.newest_posted_at
        + make_interval(hours => w.hours) >= w.begins_at
      AND $1 > c.newest_posted_at + make_interval(hours => w.hours) AND p.last_polled_at > c.newest_posted_at
          + make_interval(hours => w.hours)
),
{WRITE}
"""

GROWN = f"""
-- $1 since when stories have changed
WITH visible AS MATERIALIZED (
    SELECT u.tenant_id, s.story_id, s.channel_id, s.message_id, s.posted_at
    FROM stories t JOIN story_posts s ON s.story_id = t.story_id
    JOIN subscriptions u ON u.channel_id = s.channel_id AND u.active AND s.posted_at >= u.visible_from
    WHERE t.changed_at > $1 AND t.posts > 1 AND NOT EXISTS (SELECT 1 FROM posts_apart a
            WHERE a.tenant_id = u.tenant_id AND a.channel_id = s.channel_id AND a.message_id = s.message_id)
        AND u.tenant_id IN (SELECT w.tenant_id FROM watches w
            WHERE w.kind = 'story'{{of_tenant}} AND w.paused_at IS NULL)
),
reached AS (
    SELECT w.tenant_id, w.watch_id, v.story_id, max(v.posted_at) AS at,
           min(ARRAY[extract(epoch FROM v.posted_at), v.channel_id, v.message_id]) AS first
    FROM watches w JOIN visible v ON v.tenant_id = w.tenant_id
        AND (w.channel_ids IS NULL OR v.channel_id = ANY (w.channel_ids))
    WHERE w.kind = 'story'{{of_tenant}} AND w.paused_at IS NULL
    GROUP BY w.tenant_id, w.watch_id, v.story_id HAVING count(*) >= w.posts
        AND max(v.posted_at) >= w.begins_at
),
found AS (
    SELECT w.tenant_id, w.watch_id, r.first[2]::bigint AS channel_id, r.first[3]::bigint AS message_id, r.at,
        w.severity, 'grown' AS kind,
           'story:' || r.story_id AS subject
    FROM reached r JOIN watches w ON w.tenant_id = r.tenant_id AND w.watch_id = r.watch_id
    WHERE w.words IS NULL OR EXISTS (
        SELECT 1 FROM visible v JOIN posts p ON p.channel_id = v.channel_id AND p.message_id = v.message_id
        WHERE v.tenant_id = r.tenant_id AND v.story_id = r.story_id
            AND to_tsvector('russian', p.text) @@ w.words)
),
{WRITE}
"""

SAVE_FOUND = f"""
-- $1 tenant, $2 watch, arrays, one element per post: $3 channel, $4 message
WITH found AS (
    SELECT w.tenant_id, w.watch_id, p.channel_id, p.message_id, p.posted_at AS at, w.severity,
        'posted' AS kind,
           subject_of(to_tsvector('russian', p.text), p.channel_id, p.message_id, p.grouped_id) AS subject
    FROM unnest($3::bigint[], $4::bigint[]) AS n(channel_id, message_id)
    JOIN posts p ON p.channel_id = n.channel_id AND p.message_id = n.message_id AND p.deleted_at IS NULL
    JOIN watches w ON w.tenant_id = $1 AND w.watch_id = $2 AND w.paused_at IS NULL
        AND p.posted_at >= w.begins_at
    JOIN subscriptions u ON u.tenant_id = w.tenant_id AND u.channel_id = p.channel_id AND u.active
        AND p.posted_at >= u.visible_from
),
{WRITE}
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
