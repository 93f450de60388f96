"""The statements of landing: the fences that come first, and the one that writes a page."""

from telegram_assistant.stores.postgres.posts.rows import LANDED, unnested

# The first statement is the channel's lock, the fence against an owner of the past, and the poll's completion. Whoever was
# asked for while the poll was under way is read again at once; whoever was unfollowed is not read again.
FENCE = """
UPDATE poll_schedule
SET last_polled_at = coalesce($4, last_polled_at),
    next_poll_at = CASE WHEN $3::timestamptz IS NULL OR next_poll_at = 'infinity' THEN next_poll_at WHEN asked_at > $3 THEN now() ELSE $5 END,
    asked_mode = CASE WHEN $3::timestamptz IS NULL OR asked_at > $3 THEN asked_mode END,
    fail_count = CASE WHEN $3::timestamptz IS NULL THEN fail_count ELSE 0 END,
    claimed = claimed AND $3::timestamptz IS NULL,
    observed_since = coalesce(to_timestamp($6), observed_since),
    level = coalesce($7, level), level_at = coalesce(to_timestamp($8), level_at),
    burst = coalesce($9, burst), burst_at = coalesce(to_timestamp($10), burst_at),
    rechecked_at = CASE WHEN $11 THEN $3 ELSE rechecked_at END
WHERE channel_id = $1 AND lease_epoch = $2
"""

FENCE_BACKFILL = """
WITH locked AS (SELECT channel_id FROM poll_schedule WHERE channel_id = $1 FOR NO KEY UPDATE)
UPDATE backfills b SET below = coalesce($4, below)
FROM locked WHERE b.backfill_id = $2 AND b.lease_epoch = $3 AND b.state = 'open' AND b.channel_id = locked.channel_id
"""

# Who was frozen since may not write: its epoch is not the account's any more, nor, at the latest, the channel's, which is what
# is looked at again after waiting for the lock. A channel that was last claimed by another account is that one's until we claim it.
FENCE_PUSH = """
SELECT s.channel_id FROM poll_schedule s JOIN telegram_accounts a ON a.account_id = s.account_id
WHERE s.channel_id = $1 AND s.account_id = $2 AND s.lease_epoch <= $3 AND a.lease_epoch = $3 AND s.next_poll_at < 'infinity'
FOR NO KEY UPDATE OF s
"""

# What an account has read, a preview never changes; and what a preview has shown, another one changes only where the page says
# that the post was edited: else a new way of writing pages would look like edits. An account's reading replaces a preview's,
# with a new revision so that all that follows from the post is made again; it is an edit only where the words differ.
BY_PREVIEW = """'{"source": "preview"}'"""
MAY_REPLACE = f"""
(new.facts @> {BY_PREVIEW} IS NOT TRUE OR (o.facts @> {BY_PREVIEW} AND new.facts @> '{{"edited": true}}'))
"""


def _changed_at(row: str) -> str:
    """When Telegram last changed it, shown as an edit or not: an older reading never overwrites a newer one."""
    return f"coalesce({row}.edited_at, ({row}.facts ->> 'touched_at')::timestamptz, '-infinity')"


LAND = f"""
WITH page AS (
    SELECT * FROM {unnested(12)} AS p({LANDED})
    WHERE NOT EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = $1 AND e.ids @> p.message_id)
),
reader AS (
    SELECT account_id FROM backfills WHERE backfill_id = $11
    UNION ALL SELECT account_id FROM poll_schedule WHERE channel_id = $1 AND $11 IS NULL
),
replaced AS (
    INSERT INTO post_versions (channel_id, message_id, revision, text, entities, facts, content_hash, edited_at, replaced_at, seen_at, seen_by)
    SELECT o.channel_id, o.message_id, o.revision, o.text, o.entities, o.facts, o.content_hash, o.edited_at, $2,
           coalesce(o.seen_at, o.stored_at), o.seen_by
    FROM page p CROSS JOIN LATERAL (  -- LIMIT keeps it one look-up per post, however many posts the channel has
        SELECT * FROM posts WHERE channel_id = $1 AND message_id = p.message_id LIMIT 1) o
    WHERE p.posted_at <= (SELECT newest_posted_at FROM channels WHERE channel_id = $1)  -- what is newer cannot be known yet
      AND o.content_hash <> p.content_hash
      AND {_changed_at("p")} >= {_changed_at("o")}
      AND {MAY_REPLACE.replace("new.", "p.")}
      AND NOT (o.text = p.text AND o.facts @> {BY_PREVIEW} IS TRUE AND p.facts @> {BY_PREVIEW} IS NOT TRUE)
    ON CONFLICT DO NOTHING
),
landed AS (
    INSERT INTO posts AS o (channel_id, {LANDED}, stored_at, seen_by)
    SELECT $1, p.*, $2, (SELECT account_id FROM reader) FROM page p
    ON CONFLICT (channel_id, message_id) DO UPDATE
    SET text = excluded.text, entities = excluded.entities, facts = excluded.facts, kind = excluded.kind,
        content_hash = excluded.content_hash, edited_at = excluded.edited_at, lang = excluded.lang,
        reply_to = excluded.reply_to, fwd_channel_id = excluded.fwd_channel_id, fwd_message_id = excluded.fwd_message_id,
        grouped_id = excluded.grouped_id, author = excluded.author,
        revision = o.revision + 1, state_version = o.state_version + 1, seen_at = $2, seen_by = excluded.seen_by
    WHERE o.content_hash <> excluded.content_hash
      AND {_changed_at("excluded")} >= {_changed_at("o")}
      AND {MAY_REPLACE.replace("new.", "excluded.")}
    RETURNING message_id, posted_at, revision
),
ledger AS (
    INSERT INTO coverage AS c (channel_id, floor_id, verified, verified_at, floor_at)
    SELECT $1, coalesce($3::bigint, $4::bigint), int8multirange(int8range($4::bigint, $5::bigint, '[]')), $2, $10 WHERE $4::bigint IS NOT NULL
    ON CONFLICT (channel_id) DO UPDATE
    SET verified = c.verified + excluded.verified, verified_at = excluded.verified_at,
        floor_id = least(c.floor_id, $3::bigint), floor_at = least(c.floor_at, $10)
    WHERE NOT c.verified @> excluded.verified OR $3::bigint < c.floor_id
),
queued AS (
    INSERT INTO outbox (channel_id, message_id, revision, lane, requested_by)
    SELECT $1, message_id, revision, $6, coalesce($7, 0) FROM landed
),
total AS (
    SELECT count(*) FILTER (WHERE revision = 1) AS inserted, count(*) FILTER (WHERE revision > 1) AS changed,
           coalesce(array_agg(message_id) FILTER (WHERE revision = 1), '{{}}') AS new_ids, max(posted_at) AS newest_at
    FROM landed
),
head AS (
    UPDATE channels c
    SET newest_message_id = greatest(c.newest_message_id, $5::bigint),  -- what is not proven yet is no gap
        newest_posted_at = greatest(c.newest_posted_at, t.newest_at),
        last_parsed_at = CASE WHEN t.newest_at IS NOT NULL OR $9 THEN greatest(c.last_parsed_at, $8) ELSE c.last_parsed_at END,
        parked_reason = CASE WHEN $8::timestamptz IS NULL THEN c.parked_reason END,
        parked_until = CASE WHEN $8::timestamptz IS NULL THEN c.parked_until END
    FROM total t
    WHERE c.channel_id = $1 AND (t.newest_at IS NOT NULL OR $8::timestamptz IS NOT NULL)
)
SELECT inserted, changed, new_ids FROM total
"""
LAND_PREVIEW = LAND.replace("INSERT INTO coverage AS", "INSERT INTO preview_coverage AS")

STORED_AT = "SELECT count(*) FROM posts WHERE channel_id = $1 AND message_id = ANY($2) AND stored_at = $3"
"""Which posts a landing at this moment has inserted."""
