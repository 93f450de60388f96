"""Queries of the scheduler's tick, over all channels at once: who reads what, how often,
and which history is missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.accounts.budget import CONNECT, HISTORY
from telegram_assistant.domain.channels.rhythm import DAY, LEVEL_MEMORY_SECONDS, Profile
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.reasons import Reason, dump_reason
from telegram_assistant.stores.postgres.channels.assignment import assign_accounts
from telegram_assistant.stores.postgres.channels.channels import SET_TIER
from telegram_assistant.stores.postgres.database import SystemTransactions

MAX_AT_ONCE = 1000
"""The most jobs that one tick opens; the next tick opens the rest."""


@dataclass(frozen=True, slots=True)
class Load:
    """An account's load: the sum of sqrt(weight * rate) over its channels (`rhythm.price`)."""

    account_id: AccountId
    channels: int
    roots: float
    has_past: bool
    """Whether backfills take their share of the account's requests."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Totals over all active channels, for the log, health and metrics."""

    active: int
    failing: int
    without_account: int
    """Channels with neither an account nor a preview."""
    parked: int
    read_since: int
    failed_since: int
    planned_later: int
    """Channels that were read as planned, are not due yet,
    and have a reader that Telegram does not make wait.
    """
    last_success_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """One line of the log per channel and tick."""

    channel_id: ChannelId
    last_parsed_at: datetime | None
    last_polled_at: datetime | None


LOADS = f"""
SELECT account_id, count(*) AS channels, coalesce(sum(sqrt(s.weight * greatest(
    (s.level * exp(-extract(epoch FROM $1 - s.level_at) / {LEVEL_MEMORY_SECONDS}) + 0.5)
    / ({LEVEL_MEMORY_SECONDS} * (1 - exp(-extract(epoch FROM $1 - s.observed_since) / {LEVEL_MEMORY_SECONDS}))
        + {0.5 * DAY})
    * coalesce(p.factors[$2], 1), 1e-9))), 0)::float8 AS roots,
    EXISTS (SELECT 1 FROM backfills b WHERE b.account_id = s.account_id AND b.state = 'open') AS has_past
FROM poll_schedule s JOIN channels c USING (channel_id) LEFT JOIN channel_profiles p USING (channel_id)
WHERE c.is_active AND s.account_id IS NOT NULL
GROUP BY account_id
"""

NOT_READ = Reason(
    "private_channel_not_read", "none of your accounts has read this private channel for 7 days"
)
SUSPEND = """
UPDATE subscriptions s SET active = false, suspended_reason = $1
FROM channels c
WHERE c.channel_id = s.channel_id AND c.is_private AND s.active AND s.created_at < now() - interval '7 days'
    AND NOT EXISTS (
    SELECT 1 FROM account_channels r JOIN telegram_accounts a USING (account_id)
    WHERE r.channel_id = s.channel_id AND a.tenant_id = s.tenant_id AND r.read_at > now() - interval '7 days')
RETURNING s.channel_id
"""

UNDER_WAY = "b.state = 'open' OR b.state = 'failed' AND b.next_try_at > now() - interval '1 hour'"

# The floor is lowered by an account of the tenant that wants more history. A tenant without an account is
# served by the operator's reader.
WANT_HISTORY = f"""
WITH deepest AS (
    SELECT DISTINCT ON (s.channel_id) s.channel_id, s.tenant_id, greatest(s.visible_from, 'epoch') AS since
    FROM subscriptions s WHERE s.active ORDER BY s.channel_id, s.visible_from
)
INSERT INTO backfills (channel_id, account_id, requested_by, kind, since)
SELECT d.channel_id, coalesce(own.account_id, reader.account_id), d.tenant_id, 'history', d.since
FROM deepest d JOIN coverage v USING (channel_id) JOIN poll_schedule p USING (channel_id)
LEFT JOIN LATERAL (
    SELECT a.account_id FROM telegram_accounts a JOIN account_channels r USING (account_id)
    WHERE a.tenant_id = d.tenant_id AND a.state = 'active' AND r.channel_id = d.channel_id
        AND r.lost_at IS NULL
    ORDER BY a.account_id = p.account_id DESC, r.joined DESC LIMIT 1) own ON true
LEFT JOIN LATERAL (
    SELECT a.account_id FROM telegram_accounts a JOIN tenants t USING (tenant_id)
    WHERE a.account_id = p.account_id AND t.is_operator
      AND NOT EXISTS (SELECT 1 FROM telegram_accounts o
          WHERE o.tenant_id = d.tenant_id AND o.state = 'active')) reader ON true
WHERE d.since < coalesce(v.floor_at, 'infinity') AND v.floor_id > 1
    AND coalesce(own.account_id, reader.account_id) IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM backfills b WHERE b.channel_id = d.channel_id AND ({UNDER_WAY}))
LIMIT $1
ON CONFLICT (channel_id) WHERE state = 'open' DO NOTHING
RETURNING channel_id
"""

# Ids that a running poll is filling at this moment are no gap yet.
WANT_GAPS = f"""
INSERT INTO backfills (channel_id, account_id, kind)
SELECT v.channel_id, p.account_id, 'gap'
FROM coverage v JOIN channels c USING (channel_id) JOIN poll_schedule p USING (channel_id)
WHERE c.is_active AND p.account_id IS NOT NULL AND v.verified_at < now() - make_interval(secs => $2)
  AND NOT v.verified @> int8range(v.floor_id,
      greatest(c.newest_message_id, upper(v.verified) - 1, v.floor_id), '[]')
  AND NOT EXISTS (SELECT 1 FROM backfills b WHERE b.channel_id = v.channel_id AND ({UNDER_WAY}))
LIMIT $1
ON CONFLICT (channel_id) WHERE state = 'open' DO NOTHING
RETURNING channel_id
"""

# An account that Telegram makes wait reads none of its channels, whenever they are due.
BLOCKED = (
    f"SELECT account_id FROM account_limits WHERE method IN ('{HISTORY.method}', '{CONNECT.method}') "
    "AND blocked_until > "
)

# Channels and jobs are put back until the end of a flood. Nothing else makes a channel that does not fail
# wait for longer than its account's plan.
PULL_CHANNELS = f"""
UPDATE poll_schedule s SET next_poll_at = greatest(now(), s.last_polled_at
    + make_interval(secs => p.longest_seconds))
FROM account_plans p, channels c
WHERE p.account_id = s.account_id AND c.channel_id = s.channel_id AND s.account_id NOT IN ({BLOCKED} now())
  AND c.parked_until IS NULL AND s.fail_count = 0 AND NOT s.claimed AND s.next_poll_at < 'infinity'
  AND s.next_poll_at > greatest(now(), s.last_polled_at + make_interval(secs => p.longest_seconds))
      + make_interval(secs => $1)
"""
PULL_BACKFILLS = f"""
UPDATE backfills SET next_try_at = now()
WHERE state = 'open' AND attempts = 0 AND next_try_at > now() + make_interval(secs => $1)
    AND account_id NOT IN ({BLOCKED} now())
"""
LONGER_SECONDS, MAX_PAUSE_SECONDS = 60.0, 3600.0
"""Until then a channel, or a job of the past, is left as it is."""

SURVEY = f"""
WITH told_to_wait AS (SELECT DISTINCT account_id FROM ({BLOCKED} $2) waiting),
previews AS (SELECT coalesce(bool_or(next_request_at > $2 + interval '1 minute'), false) AS told_to_wait
    FROM preview_reader)
SELECT count(*) AS active, count(*) FILTER (WHERE s.fail_count > 0) AS failing,
       count(*) FILTER (WHERE s.account_id IS NULL AND w.channel_id IS NULL) AS without_account,
       count(*) FILTER (WHERE c.parked_until IS NOT NULL) AS parked,
       count(*) FILTER (WHERE s.last_polled_at > $1) AS read_since,
       count(*) FILTER (WHERE s.failed_at > $1) AS failed_since,
       count(*) FILTER (WHERE s.next_poll_at > $2 AND NOT s.claimed AND s.fail_count = 0
           AND s.last_polled_at IS NOT NULL
           AND CASE WHEN s.account_id IS NULL THEN w.channel_id IS NOT NULL AND NOT p.told_to_wait
               ELSE t.account_id IS NULL END) AS planned_later,
       max(s.last_polled_at) AS last_success_at
FROM poll_schedule s JOIN channels c USING (channel_id) LEFT JOIN preview_coverage w USING (channel_id)
LEFT JOIN told_to_wait t ON t.account_id = s.account_id CROSS JOIN previews p
WHERE c.is_active
"""


class Planning:
    """A system store for the holder of the scheduler's lock."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def survey(self, since: datetime, *, now: datetime) -> Survey:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(SURVEY, since, now)
        assert row is not None  # an aggregate always returns a row
        return Survey(**dict(row))

    async def statuses(self, max_rows: int) -> tuple[ChannelStatus, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT channel_id, c.last_parsed_at, s.last_polled_at FROM poll_schedule s
                JOIN channels c USING (channel_id)
                WHERE c.is_active ORDER BY channel_id LIMIT $1
                """,
                max_rows,
            )
        return tuple(ChannelStatus(**dict(row)) for row in rows)

    async def give_accounts(self) -> None:
        """Assigns every active channel to an account that may and can read it.

        A reader that still can keeps its channel.
        """
        async with self._transactions.begin() as connection:
            await assign_accounts(connection, max_requests=MAX_AT_ONCE)

    async def make_due_for(self, account_id: AccountId, channel_id: ChannelId) -> None:
        """Makes a channel due now for this account, which has just resolved it,
        unless another account is reading it.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                UPDATE poll_schedule SET account_id = $1, asked_at = now(),
                    next_poll_at = least(next_poll_at, now())
                WHERE channel_id = $2 AND next_poll_at < 'infinity' AND NOT claimed
                """,
                account_id,
                channel_id,
            )

    async def loads(self, now: datetime, hour_of_week: int) -> tuple[Load, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(LOADS, now, hour_of_week + 1)
        return tuple(Load(**dict(row)) for row in rows)

    async def keep_plans(self, plans: Sequence[tuple[Load, float, float, float]], now: datetime) -> None:
        """Stores (load, requests per second, price before its trim,
        longest wait in seconds) for each account.
        """
        async with self._transactions.begin() as connection:
            await connection.executemany(
                """
                -- $1 account, $2 channels, $3 requests per second, $4 price, $5 longest wait in seconds, $6
                -- planned at
                INSERT INTO account_plans (account_id, channels, requests_per_second, price, trim,
                    longest_seconds, planned_at)
                VALUES ($1, $2, $3, $4, 1, $5, $6)
                ON CONFLICT (account_id) DO UPDATE
                SET channels = excluded.channels, requests_per_second = excluded.requests_per_second,
                    price = excluded.price,
                    longest_seconds = excluded.longest_seconds, planned_at = excluded.planned_at
                """,
                [
                    (load.account_id, load.channels, pace, price, longest, now)
                    for load, pace, price, longest in plans
                ],
            )

    async def due_at_once(self) -> None:
        """Policy `classic`: every tick makes every channel due, except those being read at this moment."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                UPDATE poll_schedule s SET next_poll_at = now() FROM channels c
                WHERE c.channel_id = s.channel_id AND c.is_active AND c.parked_until IS NULL AND NOT s.claimed
                  AND s.fail_count = 0 AND s.next_poll_at BETWEEN now() AND now() + interval '1 day'
                      AND s.last_polled_at IS NOT NULL
                """
            )

    async def pull_forward(self) -> int:
        """Makes channels and backfills due that wait for the end of a flood which is over.

        Returns the number of channels.
        """
        async with self._transactions.begin() as connection:
            pulled_text = await connection.execute(PULL_CHANNELS, LONGER_SECONDS)
            await connection.execute(PULL_BACKFILLS, MAX_PAUSE_SECONDS)
        return int(pulled_text.removeprefix("UPDATE "))

    async def list_unfollowed(self) -> list[ChannelId]:
        """Channels with an account that nobody follows any more,
        except those whose last run is still going.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT channel_id FROM poll_schedule WHERE next_poll_at = 'infinity' "
                "AND account_id IS NOT NULL AND NOT claimed LIMIT $1",
                MAX_AT_ONCE,
            )
        return [ChannelId(row["channel_id"]) for row in rows]

    async def take_accounts(self, channel_ids: Sequence[ChannelId]) -> None:
        """Removes the account of these channels, unless somebody follows them again by now."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE poll_schedule SET account_id = NULL WHERE channel_id = ANY($1) "
                "AND next_poll_at = 'infinity'",
                list(channel_ids),
            )

    async def suspend_unread(self) -> list[ChannelId]:
        """Suspends subscriptions to private channels
        that none of the tenant's own accounts reads any more.
        """
        async with self._transactions.begin() as connection:
            channel_ids = sorted(
                ChannelId(row["channel_id"]) for row in await connection.fetch(SUSPEND, dump_reason(NOT_READ))
            )
            await connection.executemany(SET_TIER, [(channel_id,) for channel_id in channel_ids])
        return channel_ids

    async def want_history(self) -> list[ChannelId]:
        """Opens a backfill for channels of which a tenant wants more history than the floor allows."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(WANT_HISTORY, MAX_AT_ONCE)
        return [ChannelId(row["channel_id"]) for row in rows]

    async def want_gaps(self, *, settled_seconds: float) -> list[ChannelId]:
        """Opens a backfill for channels whose ledger has a gap
        and that landed nothing for `settled_seconds`.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(WANT_GAPS, MAX_AT_ONCE, settled_seconds)
        return [ChannelId(row["channel_id"]) for row in rows]

    async def hours_posted(self, now: datetime, max_rows: int) -> dict[ChannelId, list[int]]:
        """Posts per hour over the last four weeks, weekdays and weekends apart,
        of the channels with the oldest profiles over a day old.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(HOURS, now, max_rows)
        counts: dict[ChannelId, list[int]] = {}
        for row in rows:
            hours = counts.setdefault(ChannelId(row["channel_id"]), [0] * 48)
            if row["hour"] is not None:
                hours[row["hour"]] = row["posts"]
        return counts

    async def keep_profiles(self, profiles: dict[ChannelId, Profile], now: datetime) -> None:
        async with self._transactions.begin() as connection:
            await connection.executemany(
                """
                INSERT INTO channel_profiles (channel_id, factors, made_at) VALUES ($1, $2, $3)
                ON CONFLICT (channel_id) DO UPDATE SET factors = excluded.factors, made_at = excluded.made_at
                """,
                [(channel_id, list(profile), now) for channel_id, profile in profiles.items()],
            )


HOURS = """
WITH stale AS (
    SELECT c.channel_id FROM channels c LEFT JOIN channel_profiles p USING (channel_id)
    WHERE c.is_active AND c.newest_posted_at IS NOT NULL
        AND (p.made_at IS NULL OR p.made_at < $1::timestamptz - interval '1 day')
    ORDER BY p.made_at NULLS FIRST LIMIT $2
)
SELECT s.channel_id, h.hour, h.posts FROM stale s LEFT JOIN LATERAL (
    SELECT extract(hour FROM posted_at)::int + CASE WHEN extract(isodow FROM posted_at) >= 6 THEN 24
        ELSE 0 END AS hour, count(*)::int AS posts
    FROM posts WHERE channel_id = s.channel_id AND posted_at >= $1::timestamptz - interval '28 days'
    GROUP BY 1) h ON true
"""
