"""SQL of landing: the fences, which run first, and the statement that writes a page."""

from telegram_assistant.stores.postgres.posts.rows import LANDED, unnested

# The first statement locks the channel, fences off a former owner and completes the poll, all in one. A
# channel that somebody requested while the poll was running is due again at once. A channel that nobody
# follows any more is not scheduled again.
FENCE = """
-- $1 channel, $2 lease epoch, $3 start of the run (NULL: more pages follow), $4 time of reading, $5 next
-- poll, $6-$10 rhythm: observed since, level, level at, burst, burst at (NULL: unchanged), $11 whether the
-- run rechecked stored posts
UPDATE poll_schedule
SET last_polled_at = coalesce($4, last_polled_at),
    next_poll_at = CASE WHEN $3::timestamptz IS NULL OR next_poll_at = 'infinity' THEN next_poll_at
        WHEN asked_at > $3 THEN now() ELSE $5 END,
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
FROM locked WHERE b.backfill_id = $2 AND b.lease_epoch = $3 AND b.state = 'open'
    AND b.channel_id = locked.channel_id
"""

# An instance that was frozen since may not write: its epoch is no longer the account's. At the latest it is
# no longer the channel's, which PostgreSQL checks again after waiting for the lock. A channel last claimed by
# another account belongs to that account until this one claims it.
FENCE_PUSH = """
SELECT s.channel_id FROM poll_schedule s JOIN telegram_accounts a ON a.account_id = s.account_id
WHERE s.channel_id = $1 AND s.account_id = $2 AND s.lease_epoch <= $3 AND a.lease_epoch = $3
    AND s.next_poll_at < 'infinity'
FOR NO KEY UPDATE OF s
"""

BY_PREVIEW = """'{"source": "preview"}'"""


def _may_replace(new: str) -> str:
    """Whether the row `new` may replace the stored row `o`.

    A preview never changes what an account has read. It changes what another preview has shown only if the
    page marks the post as edited; otherwise a new markup of preview pages would look like edits. An account's
    reading replaces a preview's, with a new revision, so that everything derived from the post is computed
    again; it counts as an edit only if the text differs.
    """
    return (
        f"({new}.facts @> {BY_PREVIEW} IS NOT TRUE "
        f"""OR (o.facts @> {BY_PREVIEW} AND {new}.facts @> '{{"edited": true}}'))"""
    )


def _changed_at(row: str) -> str:
    """When Telegram last changed the post, marked as an edit or not:
    an older reading never overwrites a newer one.
    """
    return f"coalesce({row}.edited_at, ({row}.facts ->> 'touched_at')::timestamptz, '-infinity')"


def _land(ledger: str) -> str:
    """The statement that writes a page; `ledger` is the table that receives the ids proven by the page."""
    return f"""
-- $1 channel, $2 time of reading, $3 floor id, $4 lowest and $5 highest proven id (NULL: the page proves
-- nothing), $6 lane, $7 tenant that requested it, $8 start of the run (NULL: more pages follow), $9 whether
-- posts of this run are stored already, $10 floor time, $11 backfill (NULL: a poll or a push), $12-$25 one
-- array per column of LANDED: $12 message id, $13 posted at, $14 content hash, $15 kind, $16 text, $17
-- entities, $18 edited at, $19 reply to, $20 forwarded from channel and $21 message, $22 album, $23 language,
-- $24 author, $25 facts
WITH page AS (
    SELECT * FROM {unnested(12)} AS p({LANDED})
    WHERE NOT EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = $1 AND e.ids @> p.message_id)
),
reader AS (
    SELECT account_id FROM backfills WHERE backfill_id = $11
    UNION ALL SELECT account_id FROM poll_schedule WHERE channel_id = $1 AND $11 IS NULL
),
replaced AS (
    INSERT INTO post_versions (channel_id, message_id, revision, text, entities, facts, content_hash,
        edited_at, replaced_at, seen_at, seen_by)
    SELECT o.channel_id, o.message_id, o.revision, o.text, o.entities, o.facts, o.content_hash, o.edited_at,
        $2,
           coalesce(o.seen_at, o.stored_at), o.seen_by
    -- LIMIT keeps this one index lookup per post, however many posts the channel has
    FROM page p CROSS JOIN LATERAL (
        SELECT * FROM posts WHERE channel_id = $1 AND message_id = p.message_id LIMIT 1) o
    -- a newer post cannot be stored yet
    WHERE p.posted_at <= (SELECT newest_posted_at FROM channels WHERE channel_id = $1)
      AND o.content_hash <> p.content_hash
      AND {_changed_at("p")} >= {_changed_at("o")}
      AND {_may_replace("p")}
      AND NOT (o.text = p.text AND o.facts @> {BY_PREVIEW} IS TRUE AND p.facts @> {BY_PREVIEW} IS NOT TRUE)
    ON CONFLICT DO NOTHING
),
landed AS (
    INSERT INTO posts AS o (channel_id, {LANDED}, stored_at, seen_by)
    SELECT $1, p.*, $2, (SELECT account_id FROM reader) FROM page p
    ON CONFLICT (channel_id, message_id) DO UPDATE
    SET text = excluded.text, entities = excluded.entities, facts = excluded.facts, kind = excluded.kind,
        content_hash = excluded.content_hash, edited_at = excluded.edited_at, lang = excluded.lang,
        reply_to = excluded.reply_to, fwd_channel_id = excluded.fwd_channel_id,
        fwd_message_id = excluded.fwd_message_id,
        grouped_id = excluded.grouped_id, author = excluded.author,
        revision = o.revision + 1, state_version = o.state_version + 1, seen_at = $2,
        seen_by = excluded.seen_by
    WHERE o.content_hash <> excluded.content_hash
      AND {_changed_at("excluded")} >= {_changed_at("o")}
      AND {_may_replace("excluded")}
    RETURNING message_id, posted_at, revision
),
ledger AS (
    INSERT INTO {ledger} AS c (channel_id, floor_id, verified, verified_at, floor_at)
    SELECT $1, coalesce($3::bigint, $4::bigint), int8multirange(int8range($4::bigint, $5::bigint, '[]')), $2,
        $10 WHERE $4::bigint IS NOT NULL
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
           coalesce(array_agg(message_id) FILTER (WHERE revision = 1), '{{}}') AS new_ids,
           max(posted_at) AS newest_at
    FROM landed
),
head AS (
    UPDATE channels c
    -- an id that is not proven yet is no gap
    SET newest_message_id = greatest(c.newest_message_id, $5::bigint),
        newest_posted_at = greatest(c.newest_posted_at, t.newest_at),
        last_parsed_at = CASE WHEN t.newest_at IS NOT NULL OR $9 THEN greatest(c.last_parsed_at, $8)
            ELSE c.last_parsed_at END,
        parked_reason = CASE WHEN $8::timestamptz IS NULL THEN c.parked_reason END,
        parked_until = CASE WHEN $8::timestamptz IS NULL THEN c.parked_until END
    FROM total t
    WHERE c.channel_id = $1 AND (t.newest_at IS NOT NULL OR $8::timestamptz IS NOT NULL)
)
SELECT inserted, changed, new_ids FROM total
"""


LAND = _land(ledger="coverage")
LAND_PREVIEW = _land(ledger="preview_coverage")

STORED_AT = "SELECT count(*) FROM posts WHERE channel_id = $1 AND message_id = ANY($2) AND stored_at = $3"
"""Counts the posts that a landing at this moment inserted."""
