"""Channels and their subscriptions."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.channels.parsing import Mode
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import AccountId, ChannelId, MessageId, TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason, load_reason
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions, TenantTransactions

NOT_KNOWN_YET = ChannelId(0)
"""The channel of a subscription whose channel has not been resolved yet."""
EVERYTHING_DAYS = 36_500
"""History days that stand for all of a channel's history."""
DEFAULT_HISTORY_DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A tenant's options for a channel.

    None means unset: a followed channel keeps its value, a new one gets the default.
    """

    channel_id: ChannelId
    folder: str | None = None
    priority: Priority | None = None
    ai_policy: AiPolicy | None = None
    """The default is the tenant's `default_ai_policy`."""
    history_days: int | None = None
    wants_media: bool | None = None
    keeps_protected: bool | None = None
    """Stores media although the channel is private or protects its content."""


@dataclass(frozen=True, slots=True)
class FollowedChannel:
    """A channel in a tenant's list."""

    channel_id: ChannelId
    title: str
    username: str | None
    folder: str | None
    priority: Priority
    active: bool
    suspended_reason: Reason | None
    newest_message_id: MessageId | None
    newest_posted_at: datetime | None
    ai_policy: AiPolicy = AiPolicy.LOCAL
    history_days: int = DEFAULT_HISTORY_DAYS
    wants_media: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFilter:
    """A filter of a tenant's channel list."""

    words: str | None = None
    """Matches the title or the username."""
    folder: str | None = None
    priority: Priority | None = None
    active: bool | None = None


MAY_FOLLOW = """(NOT c.is_private OR EXISTS (
    SELECT 1 FROM account_channels r JOIN telegram_accounts a ON a.account_id = r.account_id
    WHERE r.channel_id = c.channel_id AND a.tenant_id = $1 AND r.read_at > now() - interval '7 days'))"""
"""A tenant may follow a private channel only if one of its own accounts has read it within 7 days."""
DEFAULT_POLICY = "(SELECT t.default_ai_policy FROM tenants t WHERE t.tenant_id = $1)"
OPTIONS = ("folder", "priority", "ai_policy", "history_days", "wants_media", "keeps_protected")
DEFAULTS = ("NULL", "'normal'", DEFAULT_POLICY, str(DEFAULT_HISTORY_DAYS), "true", "false")


def wanted_options(first_parameter: int) -> str:
    """Values of a new subscription: the parameters from number `first` on, or the defaults if NULL."""
    return ", ".join(
        f"coalesce(${number}, {default})" for number, default in enumerate(DEFAULTS, first_parameter)
    )


def kept_options(first_parameter: int) -> str:
    """Assignments for an existing subscription: the parameters from number `first` on;
    NULL keeps the value.
    """
    return ", ".join(
        f"{name} = coalesce(${number}, subscriptions.{name})"
        for number, name in enumerate(OPTIONS, first_parameter)
    )


def values_of(subscription: Subscription) -> tuple[object, ...]:
    """The parameters for `wanted_options` and `kept_options`, in the order of OPTIONS."""
    priority, ai_policy = (
        subscription.priority and subscription.priority.value,
        subscription.ai_policy and subscription.ai_policy.value,
    )
    return (
        subscription.folder,
        priority,
        ai_policy,
        subscription.history_days,
        subscription.wants_media,
        subscription.keeps_protected,
    )


class Channels:
    """Registers channels and subscriptions. A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def register(self, channel: Channel) -> None:
        """Stores a channel, or updates it."""
        async with self._transactions.begin() as connection:
            await _register(connection, channel)

    async def open_to(
        self,
        account_id: AccountId,
        channel: Channel,
        access_hash: int,
        *,
        has_joined: bool,
        read_at: datetime,
    ) -> None:
        """Records that an account can open the channel. The access hash is valid for this account only."""
        async with self._transactions.begin() as connection:
            await _register(connection, channel)
            await connection.execute(
                """
                INSERT INTO account_channels (account_id, channel_id, access_hash, joined, read_at)
                    VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (account_id, channel_id) DO UPDATE
                SET access_hash = excluded.access_hash, joined = excluded.joined, lost_at = NULL,
                    lost_reason = NULL,
                    read_at = greatest(account_channels.read_at, excluded.read_at)
                """,
                account_id,
                channel.channel_id,
                access_hash,
                has_joined,
                read_at,
            )

    async def show(self, channel: Channel) -> None:
        """Stores a channel seen on a public page. Columns that only an account can know stay unchanged."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "UPDATE channels SET title = $2, username = $3, is_private = false WHERE channel_id = $1",
                channel.channel_id,
                channel.title,
                channel.username,
            )
            if status != "UPDATE 1":
                await _register(connection, channel)

    async def find_by_username(self, username: str) -> Channel | None:
        """The public channel with this username, if any account has resolved it before:
        a name is resolved once.
        """
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                "SELECT channel_id, title, username, kind, is_private, protected FROM channels "
                "WHERE lower(username) = lower($1)",
                username,
            )
        return Channel(**dict(row)) if row else None

    async def subscribe(self, tenant_id: TenantId, subscription: Subscription) -> bool:
        """Subscribes a tenant to a channel on request; returns whether it is new.

        Raises Rejected if the tenant may not follow it.
        """
        async with self._transactions.begin() as connection:
            is_new: bool | None = await connection.fetchval(
                f"""
                -- $1 tenant, $2 channel, $3-$8 OPTIONS: folder, priority, AI policy, days of history, wants
                -- media, keeps protected
                INSERT INTO subscriptions (tenant_id, channel_id, {", ".join(OPTIONS)})
                SELECT $1, c.channel_id, {wanted_options(3)} FROM channels c
                WHERE c.channel_id = $2 AND {MAY_FOLLOW}
                ON CONFLICT (tenant_id, channel_id) DO UPDATE
                SET {kept_options(3)}, active = true, suspended_reason = NULL, from_folder = NULL
                RETURNING xmax = 0
                """,
                tenant_id,
                subscription.channel_id,
                *values_of(subscription),
            )
            if is_new is None:
                raise Rejected(
                    Reason(
                        "channel_not_subscribable",
                        "channel {channel_id} is unknown here, or it is private and no account of the "
                        "tenant reads it",
                        channel_id=subscription.channel_id,
                    )
                )
            await connection.execute(SET_TIER, subscription.channel_id)
        return is_new


async def _register(connection: Connection, channel: Channel) -> None:
    await connection.execute(
        """
        -- $1 channel, $2 title, $3 username, $4 kind, $5 is private, $6 protected
        WITH known AS (
            INSERT INTO channels (channel_id, title, username, kind, is_private, protected)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (channel_id) DO UPDATE
            SET title = excluded.title, username = excluded.username, kind = excluded.kind,
                is_private = excluded.is_private, protected = excluded.protected
        )
        INSERT INTO poll_schedule (channel_id) VALUES ($1) ON CONFLICT DO NOTHING
        """,
        channel.channel_id,
        channel.title,
        channel.username,
        channel.kind,
        channel.is_private,
        channel.protected,
    )


SET_TIER = "SELECT refresh_tiers(ARRAY[$1::bigint])"
"""Locks a row of poll_schedule.

Transactions that lock several do so in the order of channel ids, or they would wait for each other.
"""
"""Runs after every change of a subscription. A channel that nobody follows is never due."""


FOLLOWED = """
SELECT s.channel_id, coalesce(c.title, '') AS title, c.username, s.folder, s.priority, s.active,
    s.suspended_reason,
       c.newest_message_id, c.newest_posted_at, s.ai_policy, s.history_days, s.wants_media
FROM subscriptions s LEFT JOIN channels c ON c.channel_id = s.channel_id
"""


@dataclass(frozen=True, slots=True)
class ChannelName:
    """The id, title and username by which a person may name a channel."""

    channel_id: ChannelId
    title: str
    username: str | None


class Followed:
    """A tenant's own list of channels. A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def channels(self) -> tuple[FollowedChannel, ...]:
        """All subscriptions of the tenant, suspended ones included, by folder and title."""
        return await self._fetch(f"{FOLLOWED} ORDER BY s.folder NULLS FIRST, c.title, s.channel_id")

    async def names(self) -> tuple[ChannelName, ...]:
        """The channels that the tenant follows, by title."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT c.channel_id, c.title, c.username "
                "FROM subscriptions s JOIN channels c USING (channel_id) "
                "WHERE s.active ORDER BY lower(c.title), c.channel_id"
            )
        return tuple(ChannelName(*row) for row in rows)

    async def some(self, channel_ids: Collection[ChannelId]) -> dict[ChannelId, FollowedChannel]:
        """Those of these channels that the tenant follows."""
        return {
            channel.channel_id: channel
            for channel in await self._fetch(f"{FOLLOWED} WHERE s.channel_id = ANY($1)", list(channel_ids))
        }

    async def find_by_usernames(self, usernames: Collection[str]) -> dict[str, FollowedChannel]:
        """The channels with these usernames that the tenant follows, keyed by lower-case username."""
        channels = await self._fetch(
            f"{FOLLOWED} WHERE s.active AND lower(c.username) = ANY($1)",
            [username.lower() for username in usernames],
        )
        return {channel.username.lower(): channel for channel in channels if channel.username}

    async def poll(self, channel_id: ChannelId, *, mode: Mode | None, first: bool) -> bool:
        """Makes a followed channel due now for one of the tenant's own accounts. Returns False if none is
        running.

        An account that cannot open the channel yet resolves it before reading.
        """
        async with self._transactions.begin() as connection:
            return bool(
                await connection.fetchval(
                    "SELECT poll_followed_channel($1, $2, $3)", channel_id, mode and mode.value, first
                )
            )

    async def page(
        self, which: ChannelFilter, *, limit: int, after: ChannelId | None = None
    ) -> tuple[FollowedChannel, ...]:
        """One page of channels, in the order of their ids, which never change."""
        return await self._fetch(
            f"""
            -- $1 last channel of the previous page, $2 page size, $3 words, $4 folder, $5 priority, $6 active
            {FOLLOWED} WHERE s.channel_id > $1
              AND ($3::text IS NULL OR strpos(lower(coalesce(c.title, '')), lower($3)) > 0
                  OR strpos(lower(coalesce(c.username, '')), lower($3)) > 0)
              AND ($4::text IS NULL OR s.folder = $4) AND ($5::text IS NULL OR s.priority = $5)
                  AND ($6::boolean IS NULL OR s.active = $6)
            ORDER BY s.channel_id LIMIT $2
            """,
            after or 0,
            limit,
            which.words,
            which.folder,
            which.priority.value if which.priority else None,
            which.active,
        )

    async def change(self, subscription: Subscription, *, leaves_folder: bool = False) -> bool:
        """Changes the options of a subscription. Returns False if the tenant does not follow the channel."""
        return bool(
            await self.change_all([subscription.channel_id], subscription, leaves_folder=leaves_folder)
        )

    async def change_all(
        self, channel_ids: Collection[ChannelId], subscription: Subscription, *, leaves_folder: bool = False
    ) -> int:
        """Like `change`, for several channels. Returns how many of them the tenant follows."""
        async with self._transactions.begin() as connection:
            query = (
                f"UPDATE subscriptions SET {kept_options(2)} WHERE channel_id = ANY($1) RETURNING channel_id"
            )
            changed_channels = sorted(
                row["channel_id"]
                for row in await connection.fetch(query, list(channel_ids), *values_of(subscription))
            )
            if leaves_folder:
                await connection.execute(
                    "UPDATE subscriptions SET folder = NULL WHERE channel_id = ANY($1)", changed_channels
                )
            await connection.executemany(SET_TIER, [(channel_id,) for channel_id in changed_channels])
        return len(changed_channels)

    async def leave(self, channel_id: ChannelId) -> bool:
        """Deletes the subscription; the posts stay for other subscribers.

        Returns False if the tenant did not follow the channel.
        """
        return bool(await self.leave_all([channel_id]))

    async def leave_all(self, channel_ids: Collection[ChannelId]) -> int:
        """Like `leave`, for several channels. Returns how many of them the tenant followed."""
        async with self._transactions.begin() as connection:
            query = "DELETE FROM subscriptions WHERE channel_id = ANY($1) RETURNING channel_id"
            left_channels = sorted(
                row["channel_id"] for row in await connection.fetch(query, list(channel_ids))
            )
            await connection.executemany(SET_TIER, [(channel_id,) for channel_id in left_channels])
        return len(left_channels)

    async def _fetch(self, query: str, *values: object) -> tuple[FollowedChannel, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(query, *values)
        return tuple(_followed_channel(row) for row in rows)


def _followed_channel(row: asyncpg.Record) -> FollowedChannel:
    parsed_columns = {
        "priority": Priority(row["priority"]),
        "ai_policy": AiPolicy(row["ai_policy"]),
        "suspended_reason": load_reason(row["suspended_reason"]),
    }
    return FollowedChannel(**{**dict(row.items()), **parsed_columns})
