"""An account of a tenant: what it reads, what was asked of it, and what it has joined."""

from datetime import UTC, datetime
from uuid import UUID

from telegram_assistant.domain.ids import ChannelId, TenantId
from tests.api.watched import watch_channels
from tests.conftest import Admin
from tests.stores.postgres.catalogue import insert_row


async def open_account(admin: Admin, tenant_id: TenantId, channels: list[ChannelId]) -> int:
    account_id: int = await admin.fetchval(
        "INSERT INTO telegram_accounts (tenant_id, state, key_id, session) VALUES ($1, 'active', 'k', '') "
        "RETURNING account_id",
        tenant_id,
    )
    await admin.execute(
        "INSERT INTO account_channels (account_id, channel_id, access_hash, read_at) SELECT $1, c, 1, now() "
        "FROM unnest($2::bigint[]) c",
        account_id,
        channels,
    )
    await admin.execute(
        "INSERT INTO channel_requests (request_id, tenant_id, reference) "
        "VALUES ($1, $2::bigint, 'name_of_' || $2::bigint)",
        UUID(int=tenant_id),
        tenant_id,
    )
    listed = {"tenant_id": tenant_id, "account_id": account_id, "channel_id": channels[0]}
    await insert_row(
        admin, "joined_channels", **listed, title=f"listed for {tenant_id}", listed_at=datetime.now(UTC)
    )
    await watch_channels(admin, tenant_id, channels)
    return account_id
