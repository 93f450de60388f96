"""Who reads public previews, when the next page may be asked for, and which channels are read so. By the database's clock."""

from collections.abc import Collection

from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.errors import Flooded, LeaseLost
from telegram_assistant.stores.postgres.channels.schedule import CLAIM_SECONDS, DUE_COLUMNS, DueChannel, due_channel
from telegram_assistant.stores.postgres.database import SystemTransactions

NO_ACCOUNT = AccountId(0)
"""Whose channels they are."""
LEASE_SECONDS = 60.0
PATIENCE_SECONDS = 10.0
"""Who would wait longer for its turn comes back instead."""

TAKE = """
UPDATE preview_reader SET lease_owner = $1, lease_until = now() + make_interval(secs => $2), lease_epoch = nextval('lease_epochs')
WHERE lease_until <= now() OR lease_owner = $1
RETURNING lease_epoch
"""

# The turn is taken by asking for it, so that no crash gives it back.
TURN = """
WITH mine AS (
    SELECT greatest(next_request_at, now()) AS at FROM preview_reader WHERE lease_owner = $1 AND lease_epoch = $2 AND lease_until > now() FOR UPDATE
)
UPDATE preview_reader SET
    next_request_at = CASE WHEN mine.at > now() + make_interval(secs => $4) THEN mine.at ELSE mine.at + make_interval(secs => $3) END,
    lease_until = now() + make_interval(secs => $5)
FROM mine RETURNING extract(epoch FROM mine.at - now())::float8 AS seconds
"""

CLAIM = f"""
WITH due AS (
    SELECT s.channel_id, s.next_poll_at AS due_at FROM poll_schedule s JOIN channels c USING (channel_id)
    WHERE s.account_id IS NULL AND s.next_poll_at <= now() AND c.is_active AND NOT c.is_private AND c.username IS NOT NULL
    ORDER BY s.next_poll_at LIMIT $1 FOR UPDATE OF s SKIP LOCKED
),
claimed AS (
    UPDATE poll_schedule s SET next_poll_at = now() + make_interval(secs => $3), lease_epoch = $2, claimed = true
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
        """The epoch under which this process reads previews from now on; None while another one does."""
        async with self._transactions.begin() as connection:
            epoch = await connection.fetchval(TAKE, owner, LEASE_SECONDS)
        return None if epoch is None else int(epoch)

    async def renew(self, owner: str, lease_epoch: int) -> None:
        """LeaseLost where another process reads by now."""
        async with self._transactions.begin() as connection:
            done = await connection.execute(
                "UPDATE preview_reader SET lease_until = now() + make_interval(secs => $3) WHERE lease_owner = $1 AND lease_epoch = $2",
                owner,
                lease_epoch,
                LEASE_SECONDS,
            )
        if done != "UPDATE 1":
            raise LeaseLost("another process reads the previews now")

    async def release(self, owner: str) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute("UPDATE preview_reader SET lease_until = '-infinity' WHERE lease_owner = $1", owner)

    async def turn(self, owner: str, lease_epoch: int, *, every_seconds: float) -> float:
        """In how many seconds one page may be asked for. Flooded when that is too long to wait, LeaseLost where another reads."""
        async with self._transactions.begin() as connection:
            seconds = await connection.fetchval(TURN, owner, lease_epoch, every_seconds, PATIENCE_SECONDS, LEASE_SECONDS)
        if seconds is None:
            raise LeaseLost("another process reads the previews now")
        if seconds > PATIENCE_SECONDS:
            raise Flooded(f"previews are left alone for {seconds:.0f} s, as the site asked", retry_after_seconds=seconds)
        return max(0.0, float(seconds))

    async def rest(self, seconds: float) -> None:
        """Nobody asks for a page for so long, whatever is started anew."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE preview_reader SET next_request_at = greatest(next_request_at, now() + make_interval(secs => $1))", seconds
            )

    async def gone(self, channel_ids: Collection[ChannelId]) -> frozenset[ChannelId]:
        """Those that are not read by their preview any more: unfollowed, or read by an account."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT channel_id FROM poll_schedule WHERE account_id IS NULL AND next_poll_at < 'infinity' AND channel_id = ANY($1)",
                list(channel_ids),
            )
        return frozenset(channel_ids) - {ChannelId(row["channel_id"]) for row in rows}

    async def claim(self, lease_epoch: int, *, most: int) -> tuple[DueChannel, ...]:
        """Public channels that are due and that no account reads."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(CLAIM, most, lease_epoch, CLAIM_SECONDS)
        return tuple(due_channel(row) for row in rows)
