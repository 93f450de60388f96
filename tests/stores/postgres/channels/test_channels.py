from datetime import UTC, datetime

import pytest

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.errors import Rejected
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import World, fresh_number, make_channel, make_tenant
from tests.conftest import Admin


async def load_tier(admin: Admin, channel_id: ChannelId) -> str:
    return str(await admin.fetchval("SELECT tier FROM poll_schedule WHERE channel_id = $1", channel_id))


async def test_a_channel_is_due_as_soon_as_somebody_follows_it(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    assert not await admin.fetchval(
        "SELECT next_poll_at <= now() FROM poll_schedule WHERE channel_id = $1", channel_id
    )
    await system.channels.subscribe(await make_tenant(system), Subscription(channel_id=channel_id))
    assert await admin.fetchval(
        "SELECT next_poll_at <= now() FROM poll_schedule WHERE channel_id = $1", channel_id
    )


async def test_registering_again_brings_the_new_title(system: SystemStores, pool: Pool) -> None:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id))
    await system.channels.register(Channel(channel_id=channel_id, title="Новое имя"))
    assert [channel.title for channel in await tenant_stores(pool, tenant_id).followed.channels()] == [
        "Новое имя"
    ]


async def test_a_tier_is_the_highest_priority_among_subscribers(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    a, b, channel_id = await make_tenant(system), await make_tenant(system), await make_channel(system)
    await system.channels.subscribe(a, Subscription(channel_id=channel_id, priority=Priority.LOW))
    assert await load_tier(admin, channel_id) == "low"
    await system.channels.subscribe(b, Subscription(channel_id=channel_id, priority=Priority.HIGH))
    assert await load_tier(admin, channel_id) == "high"
    await tenant_stores(pool, b).followed.leave(channel_id)
    assert await load_tier(admin, channel_id) == "low"


async def test_an_unknown_channel_cannot_be_followed(system: SystemStores) -> None:
    with pytest.raises(Rejected, match="unknown here"):
        await system.channels.subscribe(
            await make_tenant(system), Subscription(channel_id=ChannelId(fresh_number()))
        )


async def test_a_private_channel_is_followed_only_by_a_tenant_whose_account_reads_it(
    system: SystemStores, admin: Admin
) -> None:
    a, b = await make_tenant(system), await make_tenant(system)
    channel_id = await make_channel(system, is_private=True)
    await let_account_read(admin, a, channel_id)
    await system.channels.subscribe(a, Subscription(channel_id=channel_id))
    with pytest.raises(Rejected, match="private"):
        await system.channels.subscribe(b, Subscription(channel_id=channel_id))


async def let_account_read(admin: Admin, tenant_id: TenantId, channel_id: ChannelId) -> None:
    account_id = await admin.fetchval(
        "INSERT INTO telegram_accounts (tenant_id) VALUES ($1) RETURNING account_id", tenant_id
    )
    await admin.execute(
        "INSERT INTO account_channels (account_id, channel_id, access_hash, read_at) VALUES ($1, $2, 1, $3)",
        account_id,
        channel_id,
        datetime.now(UTC),
    )


async def test_a_suspended_subscription_is_listed_and_shows_nothing(world: World, admin: Admin) -> None:
    await admin.execute(
        "UPDATE subscriptions SET active = false, suspended_reason = 'no account reads it' "
        "WHERE tenant_id = $1",
        world.a,
    )
    assert await world.stores_a.feed.newest() == ()
    listed = await world.stores_a.followed.channels()
    assert {str(channel.suspended_reason) for channel in listed} == {"no account reads it"}
    assert {channel.title for channel in listed} == {""}
