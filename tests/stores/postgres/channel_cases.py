"""Activity of channels, and changes of several at once, method by method:
the rest of the cases in cases.py.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.stores import TenantStores
from testkit.factories import World
from tests.conftest import Admin

type Case = Callable[[TenantStores, World], Awaitable[set[ChannelId]]]


async def _channels(stores: TenantStores) -> set[ChannelId]:
    return {channel.channel_id for channel in await stores.followed.channels()}


async def _activity_of(stores: TenantStores, world: World) -> set[ChannelId]:
    now = datetime.now(UTC)
    activities = {
        channel: activity
        for channel in world.channels
        if (
            activity := await stores.activity.of(
                channel, zone=ZoneInfo("UTC"), promised=timedelta(minutes=30), now=now
            )
        )
    }
    assert all(
        channel_activity.posts
        and channel_activity.deleted
        and sum(map(sum, channel_activity.hours)) == channel_activity.posts
        for channel_activity in activities.values()
    )
    return set(activities)


async def _activity_recent(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for channel_id, posts in (
            await stores.activity.recent(world.channels, since=datetime(2026, 1, 1, tzinfo=UTC))
        ).items()
        if posts
    }


async def _activity_accounts(stores: TenantStores, world: World) -> set[ChannelId]:
    """Accounts are named after the channel, and each knows every channel there is."""
    accounts = {
        channel: {account.phone_masked for account in await stores.activity.accounts(channel)}
        for channel in world.channels
    }
    own = await _channels(stores)
    assert all(
        names == {str(channel) for channel in own}
        for channel_id, names in accounts.items()
        if channel_id in own
    )
    return {channel_id for channel_id, names in accounts.items() if names}


async def _followed_change_all(stores: TenantStores, world: World) -> set[ChannelId]:
    own = await _channels(stores)
    assert await stores.followed.change_all(
        world.channels, Subscription(channel_id=NOT_KNOWN_YET, folder="test")
    ) == len(own)
    return {channel.channel_id for channel in await stores.followed.channels() if channel.folder == "test"}


async def _followed_leave_all(stores: TenantStores, world: World) -> set[ChannelId]:
    own = await _channels(stores)
    assert await stores.followed.leave_all(world.channels) == len(own)
    assert await _channels(stores) == set()
    return own


CHANNEL_METHODS: dict[str, Case] = {
    "activity.of": _activity_of,
    "activity.recent": _activity_recent,
    "activity.accounts": _activity_accounts,
    "followed.change_all": _followed_change_all,
    "followed.leave_all": _followed_leave_all,
}


async def open_channels(admin: Admin, world: World) -> None:
    """Every account of both tenants can open every channel, as far as Telegram is concerned."""
    await admin.execute(
        """
        INSERT INTO account_channels (account_id, channel_id, access_hash)
        SELECT a.account_id, c, 1 FROM telegram_accounts a CROSS JOIN unnest($1::bigint[]) c
        WHERE a.tenant_id = ANY($2)
        """,
        list(world.channels),
        [world.a, world.b],
    )
