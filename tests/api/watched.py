"""The watches and lists of a tenant of the two worlds."""

from uuid import UUID

from telegram_assistant.domain.ids import ChannelId, TenantId
from tests.conftest import Admin


async def watch_channels(admin: Admin, tenant_id: TenantId, channels: list[ChannelId]) -> None:
    """A watch that has raised an alert in each channel, a receiver that waits for it, and a feed address."""
    own, name = UUID(int=tenant_id), f"named for {tenant_id}"
    await admin.execute(
        "INSERT INTO watches (tenant_id, watch_id, name, query, created_by) "
        "VALUES ($1, $2, $3, 'snow', 'anna')",
        tenant_id,
        own,
        name,
    )
    await admin.execute(
        """
        INSERT INTO alerts (tenant_id, alert_id, watch_id, subject, channel_id, message, happened_at)
        SELECT $1, md5($1::bigint || ' ' || c)::uuid, $2, c::text, c, 102, now() - interval '1 hour'
        FROM unnest($3::bigint[]) c
        """,
        tenant_id,
        own,
        channels,
    )
    await admin.execute(
        "INSERT INTO receivers (tenant_id, receiver_id, name, address, created_by) "
        "VALUES ($1, $2, $3, 'https://example.com', 'anna')",
        tenant_id,
        own,
        name,
    )
    await admin.execute(
        "INSERT INTO receiver_secrets (tenant_id, receiver_id, sealed) VALUES ($1, $2, $3)",
        tenant_id,
        own,
        name,
    )
    await admin.execute(
        "INSERT INTO deliveries (tenant_id, receiver_id, alert_id, due_at) SELECT tenant_id, $2, alert_id, "
        "now() FROM alerts WHERE tenant_id = $1",
        tenant_id,
        own,
    )
    await admin.execute(
        "INSERT INTO feed_addresses (tenant_id, address_id, hash, kind, subject, name, created_by) "
        "VALUES ($1, $2, $3, 'folder', 'City', $4, 'anna')",
        tenant_id,
        own,
        name.encode(),
        name,
    )
    await list_posts(admin, tenant_id, channels)


async def list_posts(admin: Admin, tenant_id: TenantId, channels: list[ChannelId]) -> None:
    """A list with a post and a story of the first channel, and a post that the tenant never saw."""
    own, name = UUID(int=tenant_id), f"named for {tenant_id}"
    await admin.execute(
        "INSERT INTO lists (tenant_id, list_id, name, created_by, created_at, changed_at) "
        "VALUES ($1, $2, $3, 'anna', '2026-11-01', '2026-11-01')",
        tenant_id,
        own,
        name,
    )
    await admin.execute(
        """
        INSERT INTO list_items (tenant_id, list_id, item_id, kind, channel_id, message, place, note, added_by)
        VALUES ($1, $2, $2, 'post', $3, 102, 1, $4, 'anna'), ($1, $2, $5, 'story', $3, 102, 2, '', 'anna'),
            ($1, $2, $6, 'post', 1, 1, 3, '', 'anna')
        """,
        tenant_id,
        own,
        channels[-1],
        name,
        UUID(int=tenant_id + 1_000_000),
        UUID(int=tenant_id + 2_000_000),
    )
