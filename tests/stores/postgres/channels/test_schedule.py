"""The due-queue, and the plan behind it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.channels.parsing import Mode
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import AccountId, ChannelId, TenantId
from telegram_assistant.reasons import load_reason, quote
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.channels.schedule import Empty
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import fresh_number, make_tenant
from tests.conftest import Admin

NOW = datetime.now(UTC)


async def make_account(system: SystemStores, tenant_id: TenantId) -> AccountId:
    account_id = await system.accounts.add(tenant_id)
    await system.accounts.set_state(account_id, AccountState.ACTIVE)
    return account_id


async def open_channel(
    system: SystemStores, *account_ids: AccountId, joined: bool = False, **more: Any
) -> ChannelId:
    channel_id = ChannelId(fresh_number())
    channel = Channel(channel_id=channel_id, title=f"Channel {channel_id}", **more)
    for account_id in account_ids:
        await system.channels.open_to(account_id, channel, 77, has_joined=joined, read_at=NOW)
    return channel_id


class Crew:
    """A tenant with an account that reads channels."""

    def __init__(self, system: SystemStores, tenant_id: TenantId, account_id: AccountId) -> None:
        self.system, self.tenant_id, self.account_id = system, tenant_id, account_id

    async def follow(self, count: int = 1, **wish: Any) -> list[ChannelId]:
        followed = [await open_channel(self.system, self.account_id) for _ in range(count)]
        for channel_id in followed:
            await self.system.channels.subscribe(self.tenant_id, Subscription(channel_id=channel_id, **wish))
        await self.system.planning.give_accounts()
        return followed

    async def claim(self, epoch: int = 1, most: int = 100) -> set[ChannelId]:
        return {
            channel.channel_id
            for channel in await self.system.schedule.claim(self.account_id, epoch, most=most)
        }


@pytest.fixture
async def crew(system: SystemStores) -> Crew:
    tenant_id = await make_tenant(system)
    return Crew(system, tenant_id, await make_account(system, tenant_id))


async def test_a_followed_channel_is_claimed_once_until_it_is_due_again(crew: Crew) -> None:
    followed = await crew.follow(3)
    assert await crew.claim() == set(followed)
    assert await crew.claim() == set()
    later = datetime.now(UTC) + timedelta(hours=1)
    await crew.system.schedule.complete(
        crew.account_id, 1, [Empty(followed[0], datetime.now(UTC)), Empty(followed[1], later)], polled_at=NOW
    )
    assert await crew.claim() == {followed[0]}


async def test_what_a_dead_process_claimed_comes_back(crew: Crew, admin: Admin) -> None:
    (channel_id,) = await crew.follow()
    await crew.claim()
    waits = await admin.fetchval(
        "SELECT next_poll_at - now() FROM poll_schedule WHERE channel_id = $1", channel_id
    )
    assert timedelta(seconds=100) < waits <= timedelta(seconds=120)


async def test_what_a_former_holder_of_the_account_claimed_is_due_at_once(crew: Crew) -> None:
    claimed, planned = await crew.follow(2)
    later = datetime.now(UTC) + timedelta(seconds=90)
    await crew.claim(epoch=1)
    await crew.system.schedule.complete(crew.account_id, 1, [Empty(planned, later)], polled_at=NOW)
    await crew.system.schedule.take_over(crew.account_id, 2)
    assert await crew.claim(epoch=2) == {claimed}


async def test_an_owner_of_the_past_completes_nothing(crew: Crew, admin: Admin) -> None:
    (channel_id,) = await crew.follow()
    await crew.claim(epoch=1)
    await admin.execute("UPDATE poll_schedule SET next_poll_at = now() WHERE channel_id = $1", channel_id)
    await crew.claim(epoch=2)
    await crew.system.schedule.complete(crew.account_id, 1, [Empty(channel_id, NOW)], polled_at=NOW)
    await crew.system.schedule.fail(channel_id, 1, failures_before=0, reason=quote("late"), now=NOW)
    assert await admin.fetchval(
        "SELECT last_polled_at IS NULL AND fail_count = 0 FROM poll_schedule WHERE channel_id = $1",
        channel_id,
    )


async def test_a_channel_that_nobody_follows_is_never_due(crew: Crew, pool: Pool) -> None:
    (channel_id,) = await crew.follow()
    await tenant_stores(pool, crew.tenant_id).followed.leave(channel_id)
    assert await crew.claim() == set()
    assert not await crew.system.schedule.ask(channel_id, mode=None, first=True)
    await crew.system.channels.subscribe(crew.tenant_id, Subscription(channel_id=channel_id))
    assert await crew.claim() == {channel_id}


async def test_who_is_asked_for_first_is_claimed_first_in_the_mode_that_was_asked_for(crew: Crew) -> None:
    followed = await crew.follow(5)
    assert await crew.system.schedule.ask(followed[3], mode=Mode.HISTORICAL, first=True)
    (claimed,) = await crew.system.schedule.claim(crew.account_id, 1, most=1)
    assert (claimed.channel_id, claimed.asked_mode) == (followed[3], Mode.HISTORICAL)


async def test_who_is_asked_for_during_its_poll_is_read_again_at_once(crew: Crew) -> None:
    (channel_id,) = await crew.follow()
    polled_at = datetime.now(UTC) - timedelta(seconds=1)
    await crew.claim()
    await crew.system.schedule.ask(channel_id, mode=None, first=False)
    later = datetime.now(UTC) + timedelta(hours=1)
    await crew.system.schedule.complete(crew.account_id, 1, [Empty(channel_id, later)], polled_at=polled_at)
    assert await crew.claim() == {channel_id}


async def test_five_failures_in_a_row_park_a_channel_and_a_success_releases_it(crew: Crew) -> None:
    (channel_id,) = await crew.follow()
    pauses = []
    for failures in range(7):
        await crew.system.schedule.ask(channel_id, mode=None, first=False)
        (claimed,) = await crew.system.schedule.claim(crew.account_id, 1, most=1)
        assert claimed.fail_count == failures
        again = await crew.system.schedule.fail(
            channel_id, 1, failures_before=failures, reason=quote("no way in"), now=NOW
        )
        pauses.append((again - NOW).total_seconds())
    assert pauses == [60, 120, 240, 480, 3600, 7200, 14400]
    assert [
        (parked.channel_id, str(parked.reason), parked.failures)
        for parked in await crew.system.schedule.list_parked()
        if parked.channel_id == channel_id
    ] == [(channel_id, "no way in", 7)]
    await crew.system.schedule.complete(
        crew.account_id, 1, [Empty(channel_id, NOW, was_parked=True)], polled_at=NOW
    )
    assert channel_id not in {parked.channel_id for parked in await crew.system.schedule.list_parked()}


async def test_a_parked_channel_is_released_when_somebody_asks_for_it(crew: Crew) -> None:
    (channel_id,) = await crew.follow()
    await crew.claim()
    await crew.system.schedule.fail(
        channel_id, 1, failures_before=4, reason=quote("no way in"), now=datetime.now(UTC)
    )
    assert channel_id in {parked.channel_id for parked in await crew.system.schedule.list_parked()}
    assert await crew.claim() == set()
    assert await crew.system.schedule.ask(channel_id, mode=None, first=False)
    assert channel_id not in {parked.channel_id for parked in await crew.system.schedule.list_parked()}
    assert await crew.claim() == {channel_id}


async def test_a_tier_weighs_in_the_schedule(crew: Crew, admin: Admin) -> None:
    weights = []
    for priority in Priority:
        (channel_id,) = await crew.follow(priority=priority)
        weights.append(
            await admin.fetchval("SELECT weight FROM poll_schedule WHERE channel_id = $1", channel_id)
        )
    assert weights == [4.0, 1.0, 0.25]


async def load_reader(admin: Admin, channel_id: ChannelId) -> AccountId | None:
    reader: AccountId | None = await admin.fetchval(
        "SELECT account_id FROM poll_schedule WHERE channel_id = $1", channel_id
    )
    return reader


async def test_a_channel_is_read_by_an_account_of_its_subscribers_or_of_the_operator(
    system: SystemStores, admin: Admin
) -> None:
    subscriber, stranger, operator = [await make_tenant(system) for _ in range(3)]
    await admin.execute("UPDATE tenants SET is_operator = true WHERE tenant_id = $1", operator)
    of_stranger, of_operator = await make_account(system, stranger), await make_account(system, operator)
    public = await open_channel(system, of_stranger, of_operator, username=f"name{fresh_number()}")
    private = await open_channel(system, of_stranger, of_operator, is_private=True)
    for channel_id in (public, private):
        await admin.execute(
            "INSERT INTO subscriptions (tenant_id, channel_id) VALUES ($1, $2)", subscriber, channel_id
        )
        await admin.execute("UPDATE channels SET is_active = true WHERE channel_id = $1", channel_id)
    await system.planning.give_accounts()
    assert await load_reader(admin, public) == of_operator
    assert await load_reader(admin, private) is None


async def test_a_reader_is_kept_through_a_flood_and_changed_when_it_loses_access(
    system: SystemStores, admin: Admin
) -> None:
    tenant_id = await make_tenant(system)
    account_id, other_id = await make_account(system, tenant_id), await make_account(system, tenant_id)
    channel_id = await open_channel(system, account_id, other_id)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id))
    await system.planning.give_accounts()
    first = await load_reader(admin, channel_id)
    await admin.execute(
        "INSERT INTO account_limits (account_id, method, blocked_until) "
        "VALUES ($1, 'messages.getHistory', now() + interval '1 day')",
        first,
    )
    await system.planning.give_accounts()
    assert await load_reader(admin, channel_id) == first
    assert first is not None
    await system.schedule.lose_access(first, channel_id, quote("private now"))
    await system.planning.give_accounts()
    assert await load_reader(admin, channel_id) == ({account_id, other_id} - {first}).pop()


async def test_channels_are_spread_over_accounts_and_stay_where_they_are(
    system: SystemStores, admin: Admin
) -> None:
    tenant_id = await make_tenant(system)
    accounts = [await make_account(system, tenant_id) for _ in range(3)]
    channels = [await open_channel(system, *accounts) for _ in range(60)]
    for channel_id in channels:
        await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id))
    await system.planning.give_accounts()
    readers = [await load_reader(admin, channel_id) for channel_id in channels]
    assert all(8 <= readers.count(account) <= 35 for account in accounts)
    await system.planning.give_accounts()
    assert [await load_reader(admin, channel_id) for channel_id in channels] == readers


async def give_accounts(crew: Crew, _channels: list[ChannelId]) -> None:
    await crew.system.planning.give_accounts()


async def follow_folder(crew: Crew, channels: list[ChannelId]) -> None:
    wanted = Subscription(channel_id=channels[0])
    folder = await crew.system.folders.follow(
        crew.tenant_id, crew.account_id, number=2, title="News", subscription=wanted
    )
    await crew.system.folders.change(folder, put_in=channels, readable=channels, taken_out=[])


@pytest.mark.parametrize("change", [give_accounts, follow_folder])
async def test_changes_of_many_channels_lock_them_in_one_order_and_never_each_other(
    crew: Crew, admin: Admin, change: Callable[[Crew, list[ChannelId]], Awaitable[None]]
) -> None:
    low, high = [ChannelId(fresh_number()) for _ in range(2)]
    for channel_id in (high, low):  # stored in this order
        await crew.system.channels.open_to(
            crew.account_id, Channel(channel_id=channel_id, title="A"), 77, has_joined=True, read_at=NOW
        )
        if change is give_accounts:
            await crew.system.channels.subscribe(crew.tenant_id, Subscription(channel_id=channel_id))
    lock = "SELECT 1 FROM poll_schedule WHERE channel_id = $1 FOR UPDATE NOWAIT"
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
        "AND datname = current_database()"
    )
    async with admin.transaction():
        await admin.execute(lock, low)
        changing = asyncio.ensure_future(change(crew, [high, low]))
        async with asyncio.timeout(10):
            while not await admin.fetchval(waiting):
                await admin.execute("SELECT pg_stat_clear_snapshot()")
                await asyncio.sleep(0.01)
        await admin.execute(lock, high)
    await changing


async def test_a_private_channel_that_no_own_account_reads_is_suspended_with_the_reason(
    crew: Crew, admin: Admin
) -> None:
    channel_id = await open_channel(crew.system, crew.account_id, is_private=True)
    await crew.system.channels.subscribe(crew.tenant_id, Subscription(channel_id=channel_id))
    assert channel_id not in await crew.system.planning.suspend_unread()
    await admin.execute(
        "UPDATE account_channels SET read_at = now() - interval '8 days' WHERE channel_id = $1", channel_id
    )
    await admin.execute(
        "UPDATE subscriptions SET created_at = now() - interval '8 days' WHERE channel_id = $1", channel_id
    )
    assert channel_id in await crew.system.planning.suspend_unread()
    row = await admin.fetchrow(
        "SELECT active, suspended_reason FROM subscriptions WHERE channel_id = $1", channel_id
    )
    assert row is not None
    assert (row["active"], str(load_reason(row["suspended_reason"]))) == (
        False,
        "none of your accounts has read this private channel for 7 days",
    )
    assert not await admin.fetchval("SELECT is_active FROM channels WHERE channel_id = $1", channel_id)
