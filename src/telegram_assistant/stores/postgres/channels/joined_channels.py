"""Lists of what accounts have joined, from which a tenant picks. Access hashes stay with ingest."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.channels.channel import Channel, FoundChannel
from telegram_assistant.domain.ids import AccountId, ChannelId, TenantId
from telegram_assistant.stores.postgres.database import SystemTransactions, TenantTransactions


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedChannel:
    """A channel that an account of the tenant has joined."""

    channel_id: ChannelId
    title: str
    username: str | None
    is_private: bool
    listed_at: datetime
    accounts: tuple[UUID, ...]
    """The accounts that have joined it."""
    is_followed: bool


@dataclass(frozen=True, slots=True)
class ListingAccount:
    """An account of the tenant that can list its channels, and the newest request for its list."""

    account_id: AccountId
    public_id: UUID
    phone_masked: str | None
    request_id: UUID | None


@dataclass(frozen=True, slots=True)
class ListedChannelAccess:
    """A listed channel as the account sees it."""

    account_id: AccountId
    channel: FoundChannel
    listed_at: datetime


class JoinedChannels:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def all(self, channel_ids: Collection[ChannelId] | None = None) -> tuple[JoinedChannel, ...]:
        """The channels that the tenant's accounts had joined when they were last listed, by title;
        of these ids only, if given.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT j.channel_id, (array_agg(j.title ORDER BY j.listed_at DESC))[1] AS title,
                       (array_agg(j.username ORDER BY j.listed_at DESC))[1] AS username,
                       bool_or(j.is_private) AS is_private,
                       max(j.listed_at) AS listed_at, array_agg(a.public_id
                           ORDER BY a.account_id) AS accounts,
                       EXISTS (SELECT 1 FROM subscriptions s
                           WHERE s.channel_id = j.channel_id AND s.active) AS is_followed
                FROM joined_channels j JOIN telegram_accounts a USING (account_id)
                WHERE $1::bigint[] IS NULL OR j.channel_id = ANY($1)
                GROUP BY j.channel_id ORDER BY lower((array_agg(j.title ORDER BY j.listed_at DESC))[1]),
                    j.channel_id
                """,
                None if channel_ids is None else list(channel_ids),
            )
        return tuple(JoinedChannel(**{**dict(row), "accounts": tuple(row["accounts"])}) for row in rows)

    async def accounts(self) -> tuple[ListingAccount, ...]:
        """The tenant's active accounts."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT a.account_id, a.public_id, a.phone_masked,
                       (SELECT r.request_id FROM channel_requests r
                           WHERE r.account_id = a.account_id AND r.kind = 'listing'
                        ORDER BY r.created_at DESC LIMIT 1) AS request_id
                FROM telegram_accounts a WHERE a.state = 'active' ORDER BY a.account_id
                """
            )
        return tuple(ListingAccount(**dict(row)) for row in rows)


class JoinedListings:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def keep(
        self,
        tenant_id: TenantId,
        account_id: AccountId,
        request_id: UUID,
        page: Sequence[FoundChannel],
        *,
        at: datetime,
    ) -> None:
        """Keeps a page of what the account has joined, for its tenant."""
        channels = {channel.channel.channel_id: channel for channel in page}.values()
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                -- $1 tenant, $2 account, $3 request, $4 moment; arrays: $5 channel, $6 title, $7 username, $8
                -- private, $9 protected, $10 access hash
                INSERT INTO joined_channels
                    (tenant_id, account_id, request_id, listed_at, channel_id, title, username, is_private,
                        protected, access_hash)
                SELECT $1, $2, $3, $4, w.* FROM unnest($5::bigint[], $6::text[], $7::text[], $8::boolean[],
                    $9::boolean[], $10::bigint[]) w
                ON CONFLICT (tenant_id, channel_id, account_id) DO UPDATE
                SET request_id = excluded.request_id, listed_at = excluded.listed_at, title = excluded.title,
                    username = excluded.username,
                    is_private = excluded.is_private, protected = excluded.protected,
                    access_hash = excluded.access_hash
                """,
                tenant_id,
                account_id,
                request_id,
                at,
                [channel.channel.channel_id for channel in channels],
                [channel.channel.title for channel in channels],
                [channel.channel.username for channel in channels],
                [channel.channel.is_private for channel in channels],
                [channel.channel.protected for channel in channels],
                [channel.access_hash for channel in channels],
            )

    async def finish(self, tenant_id: TenantId, account_id: AccountId, request_id: UUID) -> int:
        """Forgets what the account has left since the list before; returns the length of the list."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "DELETE FROM joined_channels WHERE account_id = $2 AND (tenant_id <> $1 OR request_id <> $3)",
                tenant_id,
                account_id,
                request_id,
            )
            listed_count: int = await connection.fetchval(
                "SELECT count(*) FROM joined_channels WHERE account_id = $1", account_id
            )
        return listed_count

    async def find(self, tenant_id: TenantId, channel_id: ChannelId) -> ListedChannelAccess | None:
        """The channel in the tenant's newest list that has it."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                """
                SELECT account_id, channel_id, title, username, is_private, protected, access_hash, listed_at
                FROM joined_channels
                WHERE tenant_id = $1 AND channel_id = $2 ORDER BY listed_at DESC LIMIT 1
                """,
                tenant_id,
                channel_id,
            )
        if row is None:
            return None
        channel = Channel(
            channel_id=row["channel_id"],
            title=row["title"],
            username=row["username"],
            is_private=row["is_private"],
            protected=row["protected"],
        )
        return ListedChannelAccess(
            AccountId(row["account_id"]),
            FoundChannel(channel, row["access_hash"], joined=True),
            row["listed_at"],
        )
