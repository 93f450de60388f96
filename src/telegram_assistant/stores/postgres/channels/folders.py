"""Telegram folders that tenants follow, and their channels at the last sync."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.ids import AccountId, ChannelId, TenantId
from telegram_assistant.reasons import Reason, dump_reason, load_reason
from telegram_assistant.stores.postgres.channels.channel_requests import options_of, subscription_of
from telegram_assistant.stores.postgres.channels.channels import (
    MAY_FOLLOW,
    OPTIONS,
    SET_TIER,
    Subscription,
    values_of,
    wanted_options,
)
from telegram_assistant.stores.postgres.database import SystemTransactions

CLAIM = timedelta(minutes=5)
"""How long a claim lasts; a sync that fails or dies is tried again after it."""


@dataclass(frozen=True, slots=True)
class FollowedFolder:
    """A followed folder. Telegram identifies it by `number`, which stays when the title changes."""

    folder_id: int
    tenant_id: TenantId
    account_id: AccountId
    number: int
    title: str
    subscription: Subscription


@dataclass(frozen=True, slots=True)
class FolderStatus:
    """The state of a folder, for people."""

    folder_id: int
    account_id: AccountId
    title: str
    chats: int
    followed: int
    """Number of channels followed because of this folder."""
    looked_at: datetime | None
    trouble: Reason | None


# If a channel leaves one folder and is still in another folder of the tenant, its subscription passes to the
# other folder.
HAND_OVER = """
UPDATE subscriptions s SET from_folder = other.folder_id
FROM (SELECT DISTINCT ON (channel_id) channel_id, folder_id FROM folder_channels
    JOIN followed_folders USING (folder_id)
      WHERE tenant_id = $1 AND folder_id <> $2 AND channel_id = ANY($3) ORDER BY channel_id, folder_id) other
WHERE s.tenant_id = $1 AND s.channel_id = other.channel_id AND s.from_folder = $2
"""
LEAVE = (
    "DELETE FROM subscriptions WHERE tenant_id = $1 AND from_folder = $2 AND channel_id = ANY($3) "
    "RETURNING channel_id"
)
ENTER = f"""
-- $1 tenant, $2 folder, $3 channels, $4-$9 OPTIONS: folder name, priority, AI policy, days of history, wants
-- media, keeps protected
INSERT INTO subscriptions (tenant_id, from_folder, channel_id, {", ".join(OPTIONS)})
SELECT $1, $2, c.channel_id, {wanted_options(4)} FROM channels c WHERE c.channel_id = ANY($3) AND {MAY_FOLLOW}
ON CONFLICT (tenant_id, channel_id) DO NOTHING RETURNING channel_id
"""


class FollowedFolders:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def follow(
        self,
        tenant_id: TenantId,
        account_id: AccountId,
        *,
        number: int,
        title: str,
        subscription: Subscription,
    ) -> FollowedFolder:
        """Starts to follow a folder, or changes its options."""
        async with self._transactions.begin() as connection:
            folder_id = await connection.fetchval(
                """
                INSERT INTO followed_folders (tenant_id, account_id, number, title, subscription)
                    VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (tenant_id, account_id, number) DO UPDATE
                    SET title = excluded.title, subscription = excluded.subscription
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
        """The account's folders that are due for a sync.

        A claim expires after CLAIM unless `settle` ends it.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                UPDATE followed_folders SET next_look_at = now() + $2
                WHERE account_id = $1 AND next_look_at <= now()
                RETURNING folder_id, tenant_id, account_id, number, title, subscription
                """,
                account_id,
                CLAIM,
            )
        return tuple(
            FollowedFolder(**{**dict(row), "subscription": subscription_of(json.loads(row["subscription"]))})
            for row in rows
        )

    async def members(self, folder_id: int) -> frozenset[ChannelId]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT channel_id FROM folder_channels WHERE folder_id = $1", folder_id
            )
        return frozenset(ChannelId(row["channel_id"]) for row in rows)

    async def change(
        self,
        folder: FollowedFolder,
        *,
        put_in: Collection[ChannelId],
        readable: Collection[ChannelId],
        taken_out: Collection[ChannelId],
    ) -> int:
        """Applies a folder's changes to the subscriptions; returns how many were added or removed.

        Added channels are followed if they are readable and not followed yet. Removed channels are unfollowed
        if this folder brought them. A channel that stays in the folder is left as it is: a person may have
        stopped following it.
        """
        subscription = folder.subscription
        async with self._transactions.begin() as connection:
            await connection.execute(HAND_OVER, folder.tenant_id, folder.folder_id, list(taken_out))
            left_rows = await connection.fetch(LEAVE, folder.tenant_id, folder.folder_id, list(taken_out))
            entered_rows = await connection.fetch(
                ENTER, folder.tenant_id, folder.folder_id, list(readable), *values_of(subscription)
            )
            await connection.execute(
                "DELETE FROM folder_channels WHERE folder_id = $1 AND channel_id = ANY($2)",
                folder.folder_id,
                list(taken_out),
            )
            await connection.execute(
                "INSERT INTO folder_channels (folder_id, channel_id) SELECT $1, unnest($2::bigint[]) "
                "ON CONFLICT DO NOTHING",
                folder.folder_id,
                list(put_in),
            )
            changed_channels = sorted(row["channel_id"] for row in (*left_rows, *entered_rows))
            await connection.executemany(SET_TIER, [(channel_id,) for channel_id in changed_channels])
        return len(changed_channels)

    async def settle(
        self, folder: FollowedFolder, *, title: str, trouble: Reason | None, again_after: timedelta
    ) -> None:
        """Records that the folder was synced."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE followed_folders SET title = $2, trouble = $3, looked_at = now(), next_look_at = "
                "now() + $4 WHERE folder_id = $1",
                folder.folder_id,
                title,
                dump_reason(trouble),
                again_after,
            )

    async def list_for_tenant(self, tenant_id: TenantId) -> tuple[FolderStatus, ...]:
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
        return tuple(FolderStatus(**{**dict(row), "trouble": load_reason(row["trouble"])}) for row in rows)

    async def leave(self, tenant_id: TenantId, folder_id: int, *, with_channels: bool) -> int:
        """Stops following a folder; returns how many subscriptions were deleted.

        Without `with_channels` its channels stay followed, as if a person had requested each of them.
        """
        async with self._transactions.begin() as connection:
            left_channel_ids: list[ChannelId] = []
            if with_channels:
                rows = await connection.fetch(
                    "SELECT channel_id FROM folder_channels WHERE folder_id = $1", folder_id
                )
                channel_ids = [row["channel_id"] for row in rows]
                await connection.execute(HAND_OVER, tenant_id, folder_id, channel_ids)
                left_channel_ids = sorted(
                    ChannelId(row["channel_id"])
                    for row in await connection.fetch(LEAVE, tenant_id, folder_id, channel_ids)
                )
                await connection.executemany(SET_TIER, [(channel_id,) for channel_id in left_channel_ids])
            await connection.execute(
                "DELETE FROM followed_folders WHERE tenant_id = $1 AND folder_id = $2", tenant_id, folder_id
            )
        return len(left_channel_ids)
