"""The lease of the preview reader, the time of its next request, and the channels it reads.

Uses the database's clock.
"""

from collections.abc import Collection

from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.errors import Flooded, LeaseLost
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.schedule import (
    CLAIM_SECONDS,
    DUE_COLUMNS,
    DueChannel,
    due_channel,
)
from telegram_assistant.stores.postgres.database import SystemTransactions

NO_ACCOUNT = AccountId(0)
"""Stands for the account of channels that are read by their preview."""
LEASE_SECONDS = 60.0
PATIENCE_SECONDS = 10.0
"""The longest wait for a turn; a reader that would wait longer gets Flooded instead."""

TAKE = """
UPDATE preview_reader SET lease_owner = $1, lease_until = now() + make_interval(secs => $2),
    lease_epoch = nextval('lease_epochs')
WHERE lease_until <= now() OR lease_owner = $1
RETURNING lease_epoch
"""

# Asking for a turn uses it up, so that no crash gives it back.
TURN = """
WITH mine AS (
    SELECT greatest(next_request_at, now()) AS at FROM preview_reader
    WHERE lease_owner = $1 AND lease_epoch = $2 AND lease_until > now() FOR UPDATE
)
UPDATE preview_reader SET
    next_request_at = CASE WHEN mine.at > now() + make_interval(secs => $4) THEN mine.at ELSE mine.at
        + make_interval(secs => $3) END,
    lease_until = now() + make_interval(secs => $5)
FROM mine RETURNING extract(epoch FROM mine.at - now())::float8 AS seconds
"""

CLAIM = f"""
WITH due AS (
    SELECT s.channel_id, s.next_poll_at AS due_at FROM poll_schedule s JOIN channels c USING (channel_id)
    WHERE s.account_id IS NULL AND s.next_poll_at <= now() AND c.is_active AND NOT c.is_private
        AND c.username IS NOT NULL
    ORDER BY s.next_poll_at LIMIT $1 FOR UPDATE OF s SKIP LOCKED
),
claimed AS (
    UPDATE poll_schedule s SET next_poll_at = now() + make_interval(secs => $3), lease_epoch = $2,
        claimed = true
    FROM due WHERE s.channel_id = due.channel_id
    RETURNING s.*, due.due_at
)
SELECT {DUE_COLUMNS}, 0::bigint AS access_hash, c.username
FROM claimed s
JOIN channels c ON c.channel_id = s.channel_id
LEFT JOIN preview_coverage v ON v.channel_id = s.channel_id
LEFT JOIN channel_profiles p ON p.channel_id = s.channel_id
ORDER BY s.due_at
"""


class Previews:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def take(self, owner: str) -> int | None:
        """Takes the lease; returns its epoch, or None while another process holds it."""
        async with self._transactions.begin() as connection:
            epoch = await connection.fetchval(TAKE, owner, LEASE_SECONDS)
        return None if epoch is None else int(epoch)

    async def renew(self, owner: str, lease_epoch: int) -> None:
        """Extends the lease. Raises LeaseLost if another process holds it now."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "UPDATE preview_reader SET lease_until = now() + make_interval(secs => $3) "
                "WHERE lease_owner = $1 AND lease_epoch = $2",
                owner,
                lease_epoch,
                LEASE_SECONDS,
            )
        if status != "UPDATE 1":
            raise LeaseLost("another process reads the previews now")

    async def release(self, owner: str) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE preview_reader SET lease_until = '-infinity' WHERE lease_owner = $1", owner
            )

    async def turn(self, owner: str, lease_epoch: int, *, every_seconds: float) -> float:
        """Takes a turn; returns the seconds to wait before the request.

        Raises Flooded if the wait is too long, LeaseLost if another process holds the lease.
        """
        async with self._transactions.begin() as connection:
            seconds = await connection.fetchval(
                TURN, owner, lease_epoch, every_seconds, PATIENCE_SECONDS, LEASE_SECONDS
            )
        if seconds is None:
            raise LeaseLost("another process reads the previews now")
        if seconds > PATIENCE_SECONDS:
            raise Flooded(
                Reason(
                    "previews_left_alone",
                    "previews pause for {seconds:.0f} s at the site's request",
                    seconds=seconds,
                ),
                retry_after_seconds=seconds,
            )
        return max(0.0, float(seconds))

    async def rest(self, seconds: float) -> None:
        """Blocks all preview requests for so long, across restarts."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE preview_reader SET next_request_at = greatest(next_request_at, now() + "
                "make_interval(secs => $1))",
                seconds,
            )

    async def find_dropped(self, channel_ids: Collection[ChannelId]) -> frozenset[ChannelId]:
        """Those of these channels that are no longer read by their preview: unfollowed,
        or read by an account.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT channel_id FROM poll_schedule WHERE account_id IS NULL "
                "AND next_poll_at < 'infinity' AND channel_id = ANY($1)",
                list(channel_ids),
            )
        return frozenset(channel_ids) - {ChannelId(row["channel_id"]) for row in rows}

    async def claim(self, lease_epoch: int, *, most: int) -> tuple[DueChannel, ...]:
        """Claims public channels that are due and have no account."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(CLAIM, most, lease_epoch, CLAIM_SECONDS)
        return tuple(due_channel(row) for row in rows)
