"""Backfill jobs: at most one open job per channel,
processed in small steps by the account it is assigned to.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.domain.ids import AccountId, ChannelId, MessageId, TenantId
from telegram_assistant.domain.posts.rechecking import SECOND_LOOK
from telegram_assistant.reasons import Reason, dump_reason
from telegram_assistant.stores.postgres.channels.coverage import GAPS, NEWEST, id_ranges
from telegram_assistant.stores.postgres.channels.schedule import CLAIM_SECONDS
from telegram_assistant.stores.postgres.database import SystemTransactions

MAX_ATTEMPTS = 5


class BackfillKind(StrEnum):
    """Why history is read."""

    HISTORY = "history"
    """A tenant wants more history than is stored."""
    GAP = "gap"
    """The coverage ledger has a gap."""
    VERIFY = "verify"
    """Reads everything again from the newest post down to the floor."""
    SILENCE = "silence"
    """Policy `classic`: the channel has been silent for longer than usual,
    so its last window is read again.
    """
    RECHECK = "recheck"
    """Reads recently stored posts again: they may have been edited or deleted."""


LOOKS_BACK = frozenset({BackfillKind.SILENCE, BackfillKind.RECHECK})
"""Kinds that read again down to a date, independently of the history that tenants want."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """A claimed job. `below` is the lowest id that a job of kind `verify` has reached."""

    backfill_id: int
    channel_id: ChannelId
    access_hash: int
    requested_by: TenantId
    kind: BackfillKind
    former_owner: str | None
    """The instance that held the job before."""
    since: datetime | None
    below: MessageId | None
    lease_epoch: int
    attempts: int
    floor_id: MessageId | None
    floor_at: datetime | None
    newest_id: MessageId | None
    gaps: tuple[IdRange, ...]


# Returns the highest known id and the gaps below it, newest first, because the newest history is filled
# first.
CLAIM = f"""
WITH due AS (
    SELECT backfill_id, lease_owner AS former_owner FROM backfills
    WHERE account_id = $1 AND state = 'open' AND next_try_at <= now()
    ORDER BY kind <> 'gap', kind = 'recheck', next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE backfills b SET next_try_at = now() + make_interval(secs => $4), lease_owner = $2, lease_epoch = $3
    FROM due WHERE b.backfill_id = due.backfill_id
    RETURNING b.*, due.former_owner
)
SELECT b.backfill_id, b.channel_id, a.access_hash, b.requested_by, b.kind, b.former_owner, b.since, b.below,
    b.lease_epoch, b.attempts,
       v.floor_id, v.floor_at, n.newest_id, ARRAY(
           SELECT gap FROM {GAPS}
           ORDER BY gap DESC LIMIT 20) AS gaps
FROM claimed b
JOIN account_channels a ON a.account_id = $1 AND a.channel_id = b.channel_id
JOIN channels c ON c.channel_id = b.channel_id
LEFT JOIN coverage v ON v.channel_id = b.channel_id
{NEWEST}
"""

OPEN = """
-- $1 channel, $2 kind, $3 tenant that requests it (0: none), $4 since, $5 account (NULL: the channel's
-- reader), $6 delay
INSERT INTO backfills AS b (channel_id, account_id, requested_by, kind, since, next_try_at)
SELECT s.channel_id, coalesce($5, s.account_id), $3, $2, $4, now() + $6 FROM poll_schedule s
WHERE s.channel_id = $1
ON CONFLICT (channel_id) WHERE state = 'open' DO UPDATE
SET since = CASE WHEN b.kind IN ('silence', 'recheck') THEN excluded.since
    ELSE least(b.since, excluded.since) END,
    kind = CASE WHEN excluded.kind = 'verify' OR b.kind IN ('silence', 'recheck') THEN excluded.kind
        ELSE b.kind END,
    below = CASE WHEN b.kind IN ('silence', 'recheck') THEN NULL ELSE b.below END,
    next_try_at = least(b.next_try_at, excluded.next_try_at)
WHERE excluded.kind NOT IN ('silence', 'recheck')
  AND (b.kind IN ('silence', 'recheck') OR excluded.since < coalesce(b.since, 'infinity')
      OR (excluded.kind = 'verify' AND b.kind <> 'verify'))
RETURNING backfill_id
"""

LOWER_FLOOR = """
WITH locked AS (SELECT channel_id FROM poll_schedule WHERE channel_id = $1 FOR NO KEY UPDATE),
ours AS (SELECT 1 FROM backfills b, locked WHERE b.backfill_id = $2 AND b.lease_epoch = $3
    AND b.state = 'open')
UPDATE coverage v SET floor_id = least(v.floor_id, $4), floor_at = least(v.floor_at, $5)
FROM ours WHERE v.channel_id = $1
"""

# $3 posts, $4 seconds, $5 the kind that was claimed; a verification that joined it meanwhile begins with the
# newest post.
PAUSE = """
posts = posts + $3, attempts = 0, error = NULL, next_try_at = now() + make_interval(secs => $4),
below = CASE WHEN kind = $5 THEN below END
"""

# $3 posts, $4 and $5 the kind and the date that were claimed
_IS_ALL = "kind = $4 AND since IS NOT DISTINCT FROM $5"
FINISH = f"""
posts = posts + $3, error = NULL, state = CASE WHEN {_IS_ALL} THEN 'done' ELSE state END,
finished_at = CASE WHEN {_IS_ALL} THEN now() END,
below = CASE WHEN {_IS_ALL} THEN below END, next_try_at = CASE WHEN {_IS_ALL} THEN next_try_at ELSE now() END
"""


class Backfills:
    """A system store. The claimant of a job writes under its epoch; a later claim fences it off."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def open(
        self,
        channel_id: ChannelId,
        kind: BackfillKind,
        *,
        since: datetime | None = None,
        requested_by: TenantId | None = None,
        account_id: AccountId | None = None,
        delay: timedelta = timedelta(0),
    ) -> bool:
        """Opens a job. Returns False if an open job already covers it or has precedence."""
        async with self._transactions.begin() as connection:
            return (
                await connection.fetchval(
                    OPEN, channel_id, kind.value, requested_by or 0, since, account_id, delay
                )
                is not None
            )

    async def look_back(self, channel_id: ChannelId, since: datetime) -> None:
        """Schedules a recheck of posts since then, unless another open job of the channel has precedence."""
        if await self.open(channel_id, BackfillKind.RECHECK, since=since):
            async with self._transactions.begin() as connection:
                await connection.execute(
                    "UPDATE poll_schedule SET rechecked_at = now() WHERE channel_id = $1", channel_id
                )

    async def look_twice(self, channel_id: ChannelId) -> None:
        """Schedules a second look at the posts that seem to be gone, if there are any."""
        query = "SELECT min(posted_at) FROM posts WHERE channel_id = $1 AND missed_at IS NOT NULL"
        async with self._transactions.begin() as connection:
            since = await connection.fetchval(query, channel_id)
        if since is not None:
            await self.open(channel_id, BackfillKind.RECHECK, since=since, delay=SECOND_LOOK)

    async def claim(self, account_id: AccountId, owner: str, lease_epoch: int) -> Backfill | None:
        """The next job of this account: gaps before history."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(CLAIM, account_id, owner, lease_epoch, CLAIM_SECONDS)
        if row is None:
            return None
        return Backfill(
            **{**dict(row), "kind": BackfillKind(row["kind"]), "gaps": id_ranges(row["gaps"] or ())}
        )

    async def is_at_work(self, instance: str) -> bool:
        """Whether that instance still holds the lease of any account."""
        query = (
            "SELECT EXISTS (SELECT 1 FROM telegram_accounts WHERE lease_owner = $1 AND lease_until > now())"
        )
        async with self._transactions.begin() as connection:
            return bool(await connection.fetchval(query, instance))

    async def lower_floor(self, job: Backfill, floor_id: MessageId, floor_at: datetime) -> None:
        """Extends the wanted history down to there. The floor never rises."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                LOWER_FLOOR, job.channel_id, job.backfill_id, job.lease_epoch, floor_id, floor_at
            )

    async def pause(self, job: Backfill, *, post_count: int, seconds: float = 0.0) -> None:
        """Ends a step of a job that has more to do."""
        await self._update(job, PAUSE, post_count, seconds, job.kind.value)

    async def finish(self, job: Backfill, *, post_count: int) -> None:
        """Ends a job. If more has been asked of it since it was claimed, it stays open and begins again."""
        await self._update(job, FINISH, post_count, job.kind.value, job.since)

    async def fail(self, job: Backfill, reason: Reason, *, pause: timedelta) -> bool:
        """Records a failed attempt.

        Returns True if it was the last one; the job then keeps the error for people to see.
        """
        is_last = job.attempts + 1 >= MAX_ATTEMPTS
        change = (
            "attempts = attempts + 1, error = $3, next_try_at = now() + $4, "
            "state = CASE WHEN $5 THEN 'failed' ELSE 'open' END"
        )
        await self._update(job, change, dump_reason(reason), pause, is_last)
        return is_last

    async def _update(self, job: Backfill, change: str, *values: object) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                f"UPDATE backfills SET {change} WHERE backfill_id = $1 AND lease_epoch = $2",
                job.backfill_id,
                job.lease_epoch,
                *values,
            )
