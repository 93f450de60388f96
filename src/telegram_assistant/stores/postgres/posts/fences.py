"""Fences of landing: the first statement locks the channel and checks that the claim still holds."""

from datetime import datetime

from telegram_assistant.domain.channels.rhythm import Rhythm
from telegram_assistant.domain.ids import AccountId, ChannelId, MessageId
from telegram_assistant.stores.postgres.database import Connection

# The first statement locks the channel, fences off a former owner and completes the poll, all in one. A
# channel that somebody requested while the poll was running is due again at once. A channel that nobody
# follows any more is not scheduled again.
FENCE_POLL = """
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


async def holds_poll_lease(
    connection: Connection,
    channel_id: ChannelId,
    lease_epoch: int,
    *,
    completion: tuple[datetime, datetime, datetime] | None,
    rhythm: Rhythm | None,
    is_rechecked: bool,
) -> bool:
    """Whether the channel may be written under this epoch of its lease.

    `completion` of the last page of a run: when the run began, when the page was read, and the next poll.
    """
    observed = (
        (rhythm.since, rhythm.level, rhythm.level_at, rhythm.burst, rhythm.burst_at)
        if rhythm
        else (None,) * 5
    )
    updated_text = await connection.execute(
        FENCE_POLL, channel_id, lease_epoch, *(completion or (None,) * 3), *observed, is_rechecked
    )
    return updated_text == "UPDATE 1"


FENCE_BACKFILL = """
WITH locked AS (SELECT channel_id FROM poll_schedule WHERE channel_id = $1 FOR NO KEY UPDATE)
UPDATE backfills b SET below = coalesce($4, below)
FROM locked WHERE b.backfill_id = $2 AND b.lease_epoch = $3 AND b.state = 'open'
    AND b.channel_id = locked.channel_id
"""


async def holds_backfill_lease(
    connection: Connection,
    channel_id: ChannelId,
    backfill_id: int,
    lease_epoch: int,
    *,
    below_id: MessageId | None,
) -> bool:
    """Whether the backfill may write the channel's history. It goes on below this id."""
    updated_text = await connection.execute(FENCE_BACKFILL, channel_id, backfill_id, lease_epoch, below_id)
    return updated_text == "UPDATE 1"


# An instance that was frozen since may not write: its epoch is no longer the account's. At the latest it is
# no longer the channel's, which PostgreSQL checks again after waiting for the lock. A channel last claimed by
# another account belongs to that account until this one claims it.
FENCE_PUSH = """
SELECT s.channel_id FROM poll_schedule s JOIN telegram_accounts a ON a.account_id = s.account_id
WHERE s.channel_id = $1 AND s.account_id = $2 AND s.lease_epoch <= $3 AND a.lease_epoch = $3
    AND s.next_poll_at < 'infinity'
FOR NO KEY UPDATE OF s
"""


async def holds_push_lease(
    connection: Connection, channel_id: ChannelId, account_id: AccountId, lease_epoch: int
) -> bool:
    """Whether the account may write the channel's pushed updates.

    Locks the channel until the end of the transaction.
    """
    return await connection.fetchval(FENCE_PUSH, channel_id, account_id, lease_epoch) is not None
