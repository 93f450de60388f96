from datetime import datetime

import pytest

from telegram_assistant.domain.channels.coverage import CoverageState, IdRange
from telegram_assistant.domain.ids import AccountId, MessageId
from telegram_assistant.errors import Missing
from telegram_assistant.features.channels.coverage import coverage_of_all, describe_coverage, load_coverage
from telegram_assistant.features.channels.parked import find_parked_channels, release
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import World
from tests.conftest import Admin


async def read_by_own_account(admin: Admin, world: World) -> AccountId:
    account_id = await admin.fetchval(
        "INSERT INTO telegram_accounts (tenant_id, state) VALUES ($1, 'active') RETURNING account_id", world.a
    )
    await admin.execute(
        "UPDATE poll_schedule SET account_id = $1, last_polled_at = now() WHERE channel_id = ANY($2)",
        account_id,
        list(world.of_a),
    )
    return AccountId(account_id)


async def test_a_complete_channel_says_so_in_a_sentence(admin: Admin, world: World) -> None:
    await read_by_own_account(admin, world)
    coverage = await load_coverage(world.only_a[0], stores=world.stores_a)
    assert coverage.complete
    assert coverage.ledger is not None
    assert coverage.ledger.verified == (IdRange(MessageId(1), MessageId(7)),)
    assert str(describe_coverage(coverage.channel)).startswith("Complete: everything ")
    assert "last checked 20" in str(describe_coverage(coverage.channel))


async def test_a_gap_is_counted_and_shown_with_why(admin: Admin, world: World) -> None:
    account_id = await read_by_own_account(admin, world)
    gap = world.only_a[0]
    await admin.execute("UPDATE coverage SET verified = '{[1,3),[5,8)}' WHERE channel_id = $1", gap)
    await admin.execute(
        "INSERT INTO account_limits (account_id, method, blocked_until) "
        "VALUES ($1, 'messages.getHistory', now() + interval '1 hour')",
        account_id,
    )
    coverage = await load_coverage(gap, stores=world.stores_a)
    assert not coverage.complete
    assert coverage.ledger is not None
    assert coverage.ledger.gaps == (IdRange(MessageId(3), MessageId(4)),)
    assert str(describe_coverage(coverage.channel)).startswith(
        "2 message ids are missing: Telegram asks the account to wait (until 20"
    )
    everything = await coverage_of_all(stores=world.stores_a)
    assert (everything.complete, everything.missing_ids, everything.states[CoverageState.MISSING]) == (
        False,
        2,
        1,
    )
    only = await coverage_of_all(stores=world.stores_a, states=[CoverageState.MISSING])
    assert [channel.channel_id for channel in only.channels] == [gap]


async def test_the_wait_of_another_tenants_account_is_its_own_affair(admin: Admin, world: World) -> None:
    account_id = await admin.fetchval(
        "INSERT INTO telegram_accounts (tenant_id, state) VALUES ($1, 'active') RETURNING account_id", world.b
    )
    shared = world.shared[0]
    await admin.execute("UPDATE poll_schedule SET account_id = $1 WHERE channel_id = $2", account_id, shared)
    await admin.execute("UPDATE coverage SET verified = '{[1,3),[5,8)}' WHERE channel_id = $1", shared)
    await admin.execute(
        "INSERT INTO account_limits (account_id, method, blocked_until) "
        "VALUES ($1, 'messages.getHistory', now() + interval '1 hour')",
        account_id,
    )
    await admin.execute(
        "INSERT INTO account_channels (account_id, channel_id, access_hash, lost_at, lost_reason) "
        "VALUES ($1, $2, 1, now(), 'b was thrown out')",
        account_id,
        world.shared[1],
    )
    assert (
        str((await load_coverage(shared, stores=world.stores_a)).channel.status.why)
        == "the next plan will fill it"
    )
    assert "wait" in str((await load_coverage(shared, stores=world.stores_b)).channel.status.why)
    assert (
        str((await load_coverage(world.shared[1], stores=world.stores_a)).channel.status.why)
        == "no account can open it yet"
    )
    assert (
        str((await load_coverage(world.shared[1], stores=world.stores_b)).channel.status.why)
        == "b was thrown out"
    )


async def test_pages_of_the_overview_hold_every_channel_once(admin: Admin, world: World) -> None:
    await admin.execute("UPDATE channels SET title = 'same' WHERE channel_id = ANY($1)", list(world.of_a))
    seen, place = [], None
    while True:
        page = await coverage_of_all(stores=world.stores_a, limit=1, after=place)
        seen += [channel.channel_id for channel in page.channels]
        place = page.next
        if place is None:
            break
    assert sorted(seen) == sorted(world.of_a)
    with pytest.raises(Missing):
        await load_coverage(world.only_b[0], stores=world.stores_a)


async def test_a_parked_channel_is_released_by_hand(
    system: SystemStores, admin: Admin, world: World, now: datetime
) -> None:
    parked = world.shared[0]
    for channel_id in (parked, world.only_b[0]):
        await admin.execute("UPDATE poll_schedule SET fail_count = 5 WHERE channel_id = $1", channel_id)
        await system.schedule.fail(channel_id, 0, failures_before=5, reason=quote("it fails"), now=now)
    (channel,) = await find_parked_channels(stores=world.stores_a)
    assert (channel.channel_id, str(channel.reason), channel.failures) == (parked, "it fails", 6)
    await release(parked, stores=world.stores_a)
    assert await find_parked_channels(stores=world.stores_a) == ()
    assert await admin.fetchval(
        "SELECT next_poll_at <= now() FROM poll_schedule WHERE channel_id = $1", parked
    )
    for wrong in (parked, world.only_b[0]):
        with pytest.raises(Missing):
            await release(wrong, stores=world.stores_a)
    assert [
        parked_channel.channel_id for parked_channel in await find_parked_channels(stores=world.stores_b)
    ] == [world.only_b[0]]
