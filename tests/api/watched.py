"""What a tenant of the two worlds watches."""

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
