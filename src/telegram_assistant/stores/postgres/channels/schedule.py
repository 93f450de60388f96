"""The due-queue: which channel is read next, by which account. Claiming and completing take one statement per
batch.

A claim sets the due time two minutes ahead, so channels claimed by a dead process become due again by
themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from telegram_assistant.domain.channels.coverage import IdRange, Known
from telegram_assistant.domain.channels.parsing import Mode, pause_after
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.channels.rhythm import SHORTEST_SECONDS, Rhythm
from telegram_assistant.domain.ids import AccountId, ChannelId, MessageId
from telegram_assistant.reasons import Reason, dump_reason, load_reason
from telegram_assistant.stores.postgres.database import SystemTransactions

CLAIM_SECONDS = 120.0

PLAN = "SELECT price, trim, longest_seconds AS max_seconds, channels FROM account_plans WHERE account_id = $1"


@dataclass(frozen=True, slots=True, kw_only=True)
class DueChannel:
    """A channel that this process may read now, with all data that the run needs."""

    channel_id: ChannelId
    access_hash: int
    lease_epoch: int
    tier: Priority
    weight: float
    due_at: datetime
    last_polled_at: datetime | None
    last_parsed_at: datetime | None
    newest_posted_at: datetime | None
    known: Known | None
    """None before the first page."""
    rhythm: Rhythm | None
    profile: tuple[float, ...] | None
    fail_count: int
    is_parked: bool
    asked_mode: Mode | None
    rechecked_at: datetime
    was_asked: bool
    """Whether somebody requested this poll."""
    joined: bool = False
    """Whether the account has joined the channel; Telegram then pushes deletions to it."""
    username: str | None = None
    """The public name of a channel that is read by its preview."""


@dataclass(frozen=True, slots=True)
class Empty:
    """A poll that found nothing new, and when the channel is due again."""

    channel_id: ChannelId
    next_poll_at: datetime
    was_parked: bool = False
    rechecked: bool = False
    """Whether the poll compared its page with the stored posts."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The value that a poll of this account must have (`rhythm.price`, before its trim),
    and the longest wait of a channel.
    """

    price: float
    trim: float
    max_seconds: float
    channels: int


@dataclass(frozen=True, slots=True)
class Parked:
    """A channel that pauses after too many failed runs."""

    channel_id: ChannelId
    title: str
    reason: Reason
    until: datetime
    failures: int


# For a claimed row of the schedule `s`, its channel `c`, the ledger `v` and the profile `p`.
DUE_COLUMNS = """
       s.channel_id, s.lease_epoch, s.tier, s.weight, greatest(s.due_at, 'epoch') AS due_at, s.last_polled_at,
       c.last_parsed_at, c.newest_posted_at, v.floor_id, p.factors AS profile, s.fail_count,
       (SELECT proven FROM unnest(v.verified) AS proven ORDER BY proven DESC LIMIT 1) AS top,
       c.parked_until IS NOT NULL AS is_parked, s.asked_mode, s.rechecked_at,
       coalesce(s.asked_at > s.last_polled_at, false) AS was_asked, s.observed_since, s.level, s.level_at,
       s.burst, s.burst_at
"""

CLAIM = f"""
-- $1 account, $2 most channels, $3 lease epoch, $4 seconds ahead of time, $5 seconds that a claim lasts, $6
-- least seconds between two polls
WITH due AS (
    SELECT channel_id, next_poll_at AS due_at FROM poll_schedule
    WHERE account_id = $1 AND next_poll_at <= now() + make_interval(secs => $4)
      AND (next_poll_at <= now() OR last_polled_at <= now() - make_interval(secs => $6))
    ORDER BY next_poll_at LIMIT $2 FOR UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE poll_schedule s SET next_poll_at = now() + make_interval(secs => $5), lease_epoch = $3,
        claimed = true
    FROM due WHERE s.channel_id = due.channel_id
    RETURNING s.*, due.due_at
)
SELECT {DUE_COLUMNS}, a.access_hash, a.joined
FROM claimed s
JOIN channels c ON c.channel_id = s.channel_id
JOIN account_channels a ON a.account_id = $1 AND a.channel_id = s.channel_id
LEFT JOIN coverage v ON v.channel_id = s.channel_id
LEFT JOIN channel_profiles p ON p.channel_id = s.channel_id
ORDER BY s.due_at
"""

# A channel that somebody requested while the poll was running is due again at once. An unfollowed channel is
# not scheduled again.
COMPLETE = """
-- $1 account, $2 lease epoch, $3 polled at; arrays, one element per channel: $4 channel, $5 next poll, $6
-- whether it was rechecked
WITH done AS (
    UPDATE poll_schedule s
    SET last_polled_at = $3, fail_count = 0, claimed = false,
        next_poll_at = CASE WHEN s.next_poll_at = 'infinity' THEN s.next_poll_at WHEN s.asked_at > $3
            THEN now() ELSE n.next_poll_at END,
        asked_mode = CASE WHEN s.asked_at > $3 THEN s.asked_mode END,
        rechecked_at = CASE WHEN n.rechecked THEN $3 ELSE s.rechecked_at END
    FROM unnest($4::bigint[], $5::timestamptz[], $6::boolean[]) AS n(channel_id, next_poll_at, rechecked)
    WHERE s.channel_id = n.channel_id AND s.lease_epoch = $2
    RETURNING s.channel_id
)
UPDATE account_channels a SET read_at = $3 FROM done
WHERE a.account_id = $1 AND a.channel_id = done.channel_id
    AND (a.read_at IS NULL OR a.read_at < $3::timestamptz - interval '1 hour')
"""

FAIL = """
WITH failed AS (
    UPDATE poll_schedule SET fail_count = fail_count + 1, failed_at = now(), asked_mode = NULL,
        claimed = false,
        next_poll_at = CASE WHEN next_poll_at = 'infinity' THEN next_poll_at ELSE $3 END
    WHERE channel_id = $1 AND lease_epoch = $2 RETURNING channel_id
)
UPDATE channels c SET parked_reason = $4, parked_until = $3 FROM failed
WHERE c.channel_id = failed.channel_id AND $4::text IS NOT NULL
"""


class Schedule:
    """A system store. Claims use the database's clock."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def claim(
        self, account_id: AccountId, lease_epoch: int, *, most: int, ahead: timedelta = timedelta(0)
    ) -> tuple[DueChannel, ...]:
        """Claims the channels that are due first. `ahead` also claims channels due soon, so that no request
        goes unused.

        No channel is read twice in 15 s.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                CLAIM, account_id, most, lease_epoch, ahead.total_seconds(), CLAIM_SECONDS, SHORTEST_SECONDS
            )
        return tuple(due_channel(row) for row in rows)

    async def complete(
        self, account_id: AccountId, lease_epoch: int, empties: Sequence[Empty], *, polled_at: datetime
    ) -> None:
        """Completes polls that found nothing, all in one statement.

        Landing completes the polls that found posts.
        """
        async with self._transactions.begin() as connection:
            columns = (
                [getattr(empty, name) for empty in empties]
                for name in ("channel_id", "next_poll_at", "rechecked")
            )
            await connection.execute(COMPLETE, account_id, lease_epoch, polled_at, *columns)
            released_channel_ids = [empty.channel_id for empty in empties if empty.was_parked]
            if released_channel_ids:
                await connection.execute(
                    "UPDATE channels SET parked_reason = NULL, parked_until = NULL "
                    "WHERE channel_id = ANY($1)",
                    released_channel_ids,
                )

    async def fail(
        self, channel_id: ChannelId, lease_epoch: int, *, failures_before: int, reason: Reason, now: datetime
    ) -> datetime:
        """Records a failed run; returns when the channel is tried again.

        Five failures in a row park the channel, with the reason.
        """
        pause, is_parked = pause_after(failures_before + 1)
        async with self._transactions.begin() as connection:
            await connection.execute(
                FAIL, channel_id, lease_epoch, now + pause, dump_reason(reason) if is_parked else None
            )
        return now + pause

    async def put_back(self, lease_epoch: int, channel_ids: Sequence[ChannelId], *, at: datetime) -> None:
        """Returns claimed channels unread because the account has to wait or stop.

        This counts as no failure.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                UPDATE poll_schedule SET claimed = false, next_poll_at = CASE WHEN next_poll_at = 'infinity'
                    THEN next_poll_at ELSE $3 END
                WHERE channel_id = ANY($1) AND lease_epoch = $2
                """,
                list(channel_ids),
                lease_epoch,
                at,
            )

    async def take_over(self, account_id: AccountId, lease_epoch: int) -> None:
        """Makes the claims of the account's former lease holder due at once instead of when they expire."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                UPDATE poll_schedule SET claimed = false, lease_epoch = $2,
                    next_poll_at = CASE WHEN next_poll_at = 'infinity' THEN next_poll_at ELSE now() END
                WHERE account_id = $1 AND claimed AND lease_epoch <> $2
                """,
                account_id,
                lease_epoch,
            )
            await connection.execute(
                """
                UPDATE backfills SET next_try_at = now(), lease_epoch = $2
                WHERE account_id = $1 AND state = 'open' AND lease_owner IS NOT NULL AND lease_epoch <> $2
                """,
                account_id,
                lease_epoch,
            )

    async def lose_access(self, account_id: AccountId, channel_id: ChannelId, reason: Reason) -> None:
        """Records that this account can no longer open the channel;
        the next tick looks for another account.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE account_channels SET lost_at = now(), lost_reason = $3 WHERE account_id = $1 "
                "AND channel_id = $2",
                account_id,
                channel_id,
                dump_reason(reason),
            )

    async def ask(self, channel_id: ChannelId, *, mode: Mode | None, first: bool) -> bool:
        """Makes a channel due now, before all others if `first`.

        Releases a parked one. Returns False if nobody follows it.
        """
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                """
                WITH asked AS (
                    UPDATE poll_schedule SET asked_at = now(), asked_mode = $2, next_poll_at = CASE WHEN $3
                        THEN 'epoch' ELSE now() END
                    WHERE channel_id = $1 AND next_poll_at < 'infinity' RETURNING channel_id
                )
                UPDATE channels c SET parked_reason = NULL, parked_until = NULL FROM asked
                WHERE c.channel_id = asked.channel_id
                """,
                channel_id,
                mode.value if mode else None,
                first,
            )
        return bool(status == "UPDATE 1")

    async def list_parked(self) -> tuple[Parked, ...]:
        """Parked channels, the next to be retried first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT c.channel_id, c.title, c.parked_reason AS reason, c.parked_until AS until,
                    s.fail_count AS failures
                FROM channels c JOIN poll_schedule s USING (channel_id) WHERE c.parked_until IS NOT NULL
                ORDER BY c.parked_until
                """
            )
        return tuple(parked_channel(row) for row in rows)

    async def load_plan(self, account_id: AccountId) -> Plan | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(PLAN, account_id)
        return Plan(**dict(row)) if row else None

    async def trim_plan(self, account_id: AccountId, trim: float) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE account_plans SET trim = $2 WHERE account_id = $1", account_id, trim
            )


def due_channel(row: asyncpg.Record) -> DueChannel:
    values: dict[str, Any] = {name: value for name, value in row.items() if name not in RHYTHM_COLUMNS}
    floor_id, top = values.pop("floor_id"), values.pop("top")
    return DueChannel(
        **{
            **values,
            "tier": Priority(values["tier"]),
            "asked_mode": Mode(values["asked_mode"]) if values["asked_mode"] else None,
            "profile": tuple(values["profile"]) if values["profile"] else None,
            "rhythm": rhythm_of(row),
            "known": Known(floor_id, IdRange(top.lower, MessageId(top.upper - 1))) if top else None,
        }
    )


RHYTHM_COLUMNS = ("observed_since", "level", "level_at", "burst", "burst_at")


def rhythm_of(row: asyncpg.Record) -> Rhythm | None:
    """The channel's posting rhythm from the columns of poll_schedule; None before the first page."""
    since, level, level_at, burst, burst_at = (row[name] for name in RHYTHM_COLUMNS)
    if since is None or level_at is None or burst_at is None:
        return None
    return Rhythm(
        since=since.timestamp(),
        level=level,
        level_at=level_at.timestamp(),
        burst=burst,
        burst_at=burst_at.timestamp(),
    )


def parked_channel(row: asyncpg.Record) -> Parked:
    return Parked(**{**dict(row), "reason": load_reason(row["reason"] or "")})
