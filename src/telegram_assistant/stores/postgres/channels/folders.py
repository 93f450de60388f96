"""Folders at Telegram that tenants follow, and what was in them at the last look."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.ids import AccountId, ChannelId, TenantId
from telegram_assistant.stores.postgres.channels.channel_requests import options_of, subscription_of
from telegram_assistant.stores.postgres.channels.channels import MAY_FOLLOW, OPTIONS, SET_TIER, Subscription, values_of, wanted_options
from telegram_assistant.stores.postgres.database import SystemTransactions

CLAIM = timedelta(minutes=5)
"""A look that fails or dies is tried again so much later."""


@dataclass(frozen=True, slots=True)
class FollowedFolder:
    """One of them. Telegram knows it by its number, which stays when the title changes."""

    folder_id: int
    tenant_id: TenantId
    account_id: AccountId
    number: int
    title: str
    subscription: Subscription


@dataclass(frozen=True, slots=True)
class FolderStatus:
    """What a person may know about it."""

    folder_id: int
    account_id: AccountId
    title: str
    chats: int
    followed: int
    """Channels that are followed because of this folder."""
    looked_at: datetime | None
    trouble: str | None


# Taken out of one folder, and still in another of the tenant's: that one keeps it.
HAND_OVER = """
UPDATE subscriptions s SET from_folder = other.folder_id
FROM (SELECT DISTINCT ON (channel_id) channel_id, folder_id FROM folder_channels JOIN followed_folders USING (folder_id)
      WHERE tenant_id = $1 AND folder_id <> $2 AND channel_id = ANY($3) ORDER BY channel_id, folder_id) other
WHERE s.tenant_id = $1 AND s.channel_id = other.channel_id AND s.from_folder = $2
"""
LEAVE = "DELETE FROM subscriptions WHERE tenant_id = $1 AND from_folder = $2 AND channel_id = ANY($3) RETURNING channel_id"
ENTER = f"""
INSERT INTO subscriptions (tenant_id, from_folder, channel_id, {", ".join(OPTIONS)})
SELECT $1, $2, c.channel_id, {wanted_options(4)} FROM channels c WHERE c.channel_id = ANY($3) AND {MAY_FOLLOW}
ON CONFLICT (tenant_id, channel_id) DO NOTHING RETURNING channel_id
"""


class FollowedFolders:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def follow(self, tenant_id: TenantId, account_id: AccountId, *, number: int, title: str, subscription: Subscription) -> FollowedFolder:
        """From now on, or with other options from now on."""
        async with self._transactions.begin() as connection:
            folder_id = await connection.fetchval(
                """
                INSERT INTO followed_folders (tenant_id, account_id, number, title, subscription) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (tenant_id, account_id, number) DO UPDATE SET title = excluded.title, subscription = excluded.subscription
                RETURNING folder_id
                """,
                tenant_id,
                account_id,
                number,
                title,
                json.dumps(options_of(subscription)),
            )
        return FollowedFolder(folder_id, tenant_id, account_id, number, title, subscription)

    async def claim(self, account_id: AccountId) -> tuple[FollowedFolder, ...]:
        """Those of the account that are to be looked at now; they come back in a few minutes unless they are settled."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                UPDATE followed_folders SET next_look_at = now() + $2 WHERE account_id = $1 AND next_look_at <= now()
                RETURNING folder_id, tenant_id, account_id, number, title, subscription
                """,
                account_id,
                CLAIM,
            )
        return tuple(FollowedFolder(**{**dict(row), "subscription": subscription_of(json.loads(row["subscription"]))}) for row in rows)

    async def members(self, folder_id: int) -> frozenset[ChannelId]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT channel_id FROM folder_channels WHERE folder_id = $1", folder_id)
        return frozenset(ChannelId(row["channel_id"]) for row in rows)

    async def change(
        self, folder: FollowedFolder, *, put_in: Collection[ChannelId], readable: Collection[ChannelId], taken_out: Collection[ChannelId]
    ) -> int:
        """What was put in is followed, where it is readable and not followed yet; what was taken out no longer, if this folder brought it.

        How many subscriptions came or went. A channel that stays in the folder is left as it is: a person may have stopped following it.
        """
        wanted = folder.subscription
        async with self._transactions.begin() as connection:
            await connection.execute(HAND_OVER, folder.tenant_id, folder.folder_id, list(taken_out))
            gone = await connection.fetch(LEAVE, folder.tenant_id, folder.folder_id, list(taken_out))
            come = await connection.fetch(ENTER, folder.tenant_id, folder.folder_id, list(readable), *values_of(wanted))
            await connection.execute("DELETE FROM folder_channels WHERE folder_id = $1 AND channel_id = ANY($2)", folder.folder_id, list(taken_out))
            await connection.execute(
                "INSERT INTO folder_channels (folder_id, channel_id) SELECT $1, unnest($2::bigint[]) ON CONFLICT DO NOTHING",
                folder.folder_id,
                list(put_in),
            )
            changed = [row["channel_id"] for row in (*gone, *come)]
            await connection.executemany(SET_TIER, [(channel_id,) for channel_id in changed])
        return len(changed)

    async def settle(self, folder: FollowedFolder, *, title: str, trouble: str | None, again_after: timedelta) -> None:
        """It was looked at."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE followed_folders SET title = $2, trouble = $3, looked_at = now(), next_look_at = now() + $4 WHERE folder_id = $1",
                folder.folder_id,
                title,
                trouble,
                again_after,
            )

    async def of(self, tenant_id: TenantId) -> tuple[FolderStatus, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT folder_id, account_id, title, looked_at, trouble,
                       (SELECT count(*) FROM folder_channels c WHERE c.folder_id = f.folder_id) AS chats,
                       (SELECT count(*) FROM subscriptions s WHERE s.from_folder = f.folder_id) AS followed
                FROM followed_folders f WHERE tenant_id = $1 ORDER BY title, folder_id
                """,
                tenant_id,
            )
        return tuple(FolderStatus(**dict(row)) for row in rows)

    async def leave(self, tenant_id: TenantId, folder_id: int, *, with_channels: bool) -> int:
        """Follow it no more. Its channels stay followed as if a person had asked for each, or go with it; how many went."""
        async with self._transactions.begin() as connection:
            gone: list[ChannelId] = []
            if with_channels:
                rows = await connection.fetch("SELECT channel_id FROM folder_channels WHERE folder_id = $1", folder_id)
                channel_ids = [row["channel_id"] for row in rows]
                await connection.execute(HAND_OVER, tenant_id, folder_id, channel_ids)
                gone = [ChannelId(row["channel_id"]) for row in await connection.fetch(LEAVE, tenant_id, folder_id, channel_ids)]
                await connection.executemany(SET_TIER, [(channel_id,) for channel_id in gone])
            await connection.execute("DELETE FROM followed_folders WHERE tenant_id = $1 AND folder_id = $2", tenant_id, folder_id)
        return len(gone)
