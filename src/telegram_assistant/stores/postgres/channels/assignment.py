"""Assigns every channel, with its open work, to an account that may and can read it."""

from telegram_assistant.stores.postgres.database import Connection
from telegram_assistant.stores.postgres.media.files import READER

# An account may read a channel that its own tenant follows; an operator's account may read any public
# channel. Accounts that joined the channel come first. Among the others a weighted hash decides: it favours
# accounts with fewer channels and always gives the same result. A channel that was read by its public preview
# is due at once, as if for the first time, because an account trusts only the ids that accounts have proven.
# Rows are locked in the order of channel ids, as in all transactions.
GIVE_ACCOUNTS = """
WITH usable AS (
    SELECT r.channel_id, r.account_id, r.joined, a.tenant_id, t.is_operator
    FROM account_channels r JOIN telegram_accounts a USING (account_id) JOIN tenants t USING (tenant_id)
    WHERE a.state = 'active' AND r.lost_at IS NULL
),
homeless AS (
    SELECT s.channel_id, c.is_private FROM poll_schedule s JOIN channels c USING (channel_id)
    WHERE c.is_active AND NOT EXISTS (SELECT 1 FROM usable u
        WHERE u.channel_id = s.channel_id AND u.account_id = s.account_id)
),
load AS (SELECT account_id, count(*) AS channels FROM poll_schedule WHERE account_id IS NOT NULL
    GROUP BY account_id),
chosen AS (
    SELECT DISTINCT ON (h.channel_id) h.channel_id, u.account_id
    FROM homeless h JOIN usable u USING (channel_id) LEFT JOIN load l USING (account_id)
    WHERE (u.is_operator AND NOT h.is_private)
       OR EXISTS (SELECT 1 FROM subscriptions s WHERE s.channel_id = h.channel_id
           AND s.tenant_id = u.tenant_id AND s.active)
    ORDER BY h.channel_id, u.joined DESC,
             -ln((abs(hashint8extended(h.channel_id, u.account_id) % 1000000) + 1) / 1000001.0) * (1
                 + coalesce(l.channels, 0))
),
changed AS (
    SELECT s.channel_id, chosen.account_id, w.channel_id IS NOT NULL AS has_preview
    FROM homeless h JOIN poll_schedule s USING (channel_id) LEFT JOIN chosen USING (channel_id) LEFT
    JOIN preview_coverage w USING (channel_id)
    WHERE s.account_id IS DISTINCT FROM chosen.account_id
    ORDER BY s.channel_id FOR NO KEY UPDATE OF s
)
UPDATE poll_schedule s
SET account_id = changed.account_id,
    last_polled_at = CASE WHEN s.account_id IS NULL AND changed.has_preview THEN NULL
        ELSE s.last_polled_at END,
    next_poll_at = CASE WHEN s.account_id IS NULL AND changed.has_preview THEN least(s.next_poll_at, now())
        ELSE s.next_poll_at END
FROM changed WHERE s.channel_id = changed.channel_id
"""

# If previews read the channel again one day, they start anew.
FORGET_PREVIEWS = (
    "DELETE FROM preview_coverage w USING poll_schedule s WHERE s.channel_id = w.channel_id "
    "AND s.account_id IS NOT NULL"
)

# If no account can open a public channel that somebody follows, an account that may read it is asked to
# resolve its name.
ASK_FOR_ACCESS = """
INSERT INTO channel_requests (tenant_id, account_id, kind, reference)
SELECT DISTINCT ON (c.channel_id) NULL::bigint, a.account_id, 'access', c.username
FROM poll_schedule p JOIN channels c USING (channel_id)
JOIN telegram_accounts a ON a.state = 'active' JOIN tenants t USING (tenant_id)
LEFT JOIN account_channels r ON r.account_id = a.account_id AND r.channel_id = c.channel_id
WHERE p.account_id IS NULL AND c.is_active AND NOT c.is_private AND c.username IS NOT NULL
  AND (t.is_operator OR EXISTS (SELECT 1 FROM subscriptions s
      WHERE s.channel_id = c.channel_id AND s.tenant_id = a.tenant_id AND s.active))
  AND (r.lost_at IS NULL OR r.lost_at < now() - interval '1 day')
  AND NOT EXISTS (SELECT 1 FROM channel_requests w
      WHERE w.kind = 'access' AND w.reference = c.username AND w.created_at > now() - interval '1 day')
ORDER BY c.channel_id, hashint8extended(c.channel_id, a.account_id)
LIMIT $1
"""

MOVE_BACKFILLS = """
UPDATE backfills b SET account_id = p.account_id FROM poll_schedule p
WHERE b.state = 'open' AND p.channel_id = b.channel_id AND b.account_id IS DISTINCT
    FROM p.account_id AND NOT EXISTS (
    SELECT 1 FROM account_channels r JOIN telegram_accounts a USING (account_id)
    WHERE r.account_id = b.account_id AND r.channel_id = b.channel_id AND r.lost_at IS NULL
        AND a.state = 'active')
  AND (b.requested_by = 0 OR EXISTS (
    SELECT 1 FROM telegram_accounts a JOIN tenants t USING (tenant_id)
    WHERE a.account_id = p.account_id AND (a.tenant_id = b.requested_by OR t.is_operator)))
"""

# Media jobs move with the reader of their channel.
MOVE_MEDIA = f"""
WITH moved AS (
    SELECT j.channel_id, j.account_id AS before, reader.account_id
    FROM (SELECT DISTINCT channel_id, account_id FROM media_jobs) j {READER.format(channel_id="j.channel_id")}
    WHERE reader.account_id IS DISTINCT FROM j.account_id
)
UPDATE media_jobs j SET account_id = m.account_id FROM moved m
WHERE j.channel_id = m.channel_id AND j.account_id IS NOT DISTINCT FROM m.before
"""


async def assign_accounts(connection: Connection, *, max_requests: int) -> None:
    """Assigns channels without a usable account, then moves their open work.

    Opens at most `max_requests` requests for access.
    """
    await connection.execute(GIVE_ACCOUNTS)
    await connection.execute(FORGET_PREVIEWS)
    await connection.execute(MOVE_BACKFILLS)
    await connection.execute(MOVE_MEDIA)
    await connection.execute(ASK_FOR_ACCESS, max_requests)
