from datetime import UTC, datetime
from uuid import uuid4

import pytest

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.account_risk import Risk
from telegram_assistant.domain.accounts.budget import SavedMeter
from telegram_assistant.domain.accounts.login import LoginWay
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.accounts.accounts import (
    account_health,
    log_out_account,
    one_account,
    pause_account,
    reset_account,
    resume_account,
)
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.stores import IngestStores, SystemStores
from testkit.factories import World
from tests.conftest import Admin


async def make_account(system: SystemStores, ingest: IngestStores, world: World) -> AccountId:
    account_id = await system.accounts.add(world.a)
    await ingest.accounts.save_session(account_id, key_id="k", session=b"sealed")
    await system.accounts.set_state(account_id, AccountState.ACTIVE)
    return account_id


def now() -> datetime:
    return datetime.now(UTC)


async def test_a_tenant_sees_what_is_left_of_its_accounts_budgets(
    system: SystemStores, ingest: IngestStores, world: World
) -> None:
    account_id = await make_account(system, ingest, world)
    await system.limits.keep(account_id, "contacts.resolveUsername", SavedMeter(tokens=(1.0, 15.0, 90.0)))
    await system.limits.keep(account_id, "messages.getHistory", SavedMeter(blocked_seconds=3600, pace=0.49))
    (health,) = await account_health(stores=world.stores_a, now=now())
    methods = {method.method: method for method in health.methods}
    assert [round(allowance.left or 0) for allowance in methods["contacts.resolveUsername"].allowances] == [
        1,
        15,
        90,
    ]
    assert methods["contacts.resolveUsername"].blocked_until is None
    assert [allowance.left for allowance in methods["messages.getHistory"].allowances] == [None]
    assert methods["messages.getHistory"].blocked_until is not None
    assert [allowance.left for allowance in methods["auth.sendCode"].allowances] == [3.0]
    assert "messages.importChatInvite" not in methods  # it shares the budget of joining
    assert health.verdict.risk is Risk.AT_RISK
    assert "messages.getHistory" in str(health.verdict.reasons[0].why)
    assert await account_health(stores=world.stores_b, now=now()) == ()


async def test_who_holds_an_account_and_how_much_it_reads_is_seen(
    system: SystemStores, ingest: IngestStores, world: World
) -> None:
    account_id = await make_account(system, ingest, world)
    await ingest.accounts.take("reader-1#ab")
    channel = Channel(channel_id=world.only_a[0], title="One")
    await system.channels.open_to(account_id, channel, 1, has_joined=False, read_at=now())
    (health,) = await account_health(stores=world.stores_a, now=now())
    assert (health.account.lease_owner, health.account.channels, health.account.lost_channels) == (
        "reader-1#ab",
        1,
        0,
    )
    await system.schedule.lose_access(account_id, channel.channel_id, quote("it is private now"))
    (health,) = await account_health(stores=world.stores_a, now=now())
    assert (health.account.channels, health.account.lost_channels) == (0, 1)


async def test_an_account_is_paused_and_resumed_by_its_own_tenant_only(
    system: SystemStores, ingest: IngestStores, world: World
) -> None:
    account_id = await make_account(system, ingest, world)
    (public_id,) = [
        health.account.public_id for health in await account_health(stores=world.stores_a, now=now())
    ]
    paused = await pause_account(public_id, by="anna", stores=world.stores_a, now=now())
    assert (paused.account.state, str(paused.account.state_reason)) == (AccountState.PAUSED, "paused by anna")
    assert account_id not in {account.account_id for account in await ingest.accounts.take("somebody")}
    resumed = await resume_account(public_id, stores=world.stores_a, now=now())
    assert (resumed.account.state, resumed.account.state_reason) == (AccountState.ACTIVE, None)
    for foreign in (public_id, uuid4()):
        with pytest.raises(Missing):
            await pause_account(foreign, by="b", stores=world.stores_b, now=now())
        with pytest.raises(Missing):
            await resume_account(foreign, stores=world.stores_b, now=now())
        with pytest.raises(Missing):
            await one_account(foreign, stores=world.stores_b, now=now())


async def test_what_telegram_has_ended_is_not_resumed_here(
    system: SystemStores, ingest: IngestStores, world: World
) -> None:
    account_id = await make_account(system, ingest, world)
    (public_id,) = [
        health.account.public_id for health in await account_health(stores=world.stores_a, now=now())
    ]
    await system.accounts.set_state(account_id, AccountState.BANNED, quote("Telegram says so"))
    with pytest.raises(Rejected, match="is banned"):
        await resume_account(public_id, stores=world.stores_a, now=now())
    assert (await one_account(public_id, stores=world.stores_a, now=now())).verdict.risk is Risk.LOST


async def test_ingest_ends_the_session_of_an_account_that_is_logged_out(
    system: SystemStores, ingest: IngestStores, world: World
) -> None:
    account_id = await make_account(system, ingest, world)
    (public_id,) = [
        health.account.public_id for health in await account_health(stores=world.stores_a, now=now())
    ]
    with pytest.raises(Missing):
        await log_out_account(public_id, by="b", stores=world.stores_b, now=now())
    leaving = await log_out_account(public_id, by="anna", stores=world.stores_a, now=now())
    assert (leaving.account.state, str(leaving.account.state_reason)) == (
        AccountState.LOGGING_OUT,
        "logged out by anna",
    )
    held = next(
        account for account in await ingest.accounts.take("somebody") if account.account_id == account_id
    )
    assert held.state is AccountState.LOGGING_OUT
    await ingest.accounts.forget_session(account_id, AccountState.LOGGED_OUT)
    with pytest.raises(Rejected, match="nobody is logged in"):
        await log_out_account(public_id, by="anna", stores=world.stores_a, now=now())


async def test_a_reset_forgets_the_login_and_keeps_what_the_account_can_open(
    system: SystemStores, ingest: IngestStores, world: World, admin: Admin
) -> None:
    account_id = await make_account(system, ingest, world)
    (public_id,) = [
        listed.account.public_id for listed in await account_health(stores=world.stores_a, now=now())
    ]
    await admin.execute(
        "INSERT INTO account_channels (account_id, channel_id, access_hash) VALUES ($1, 7, 70)", account_id
    )
    await system.limits.keep(account_id, "messages.getHistory", SavedMeter(blocked_seconds=600))
    attempt = uuid4()
    assert await world.stores_a.logins.begin(attempt, way=LoginWay.PHONE, door_key=b"k" * 32)
    await admin.execute(
        "UPDATE login_attempts SET account_id = $1 WHERE attempt_id = $2", account_id, attempt
    )
    with pytest.raises(Rejected, match="is active; log it out first"):
        await reset_account(public_id, stores=world.stores_a, now=now())
    await system.accounts.set_state(account_id, AccountState.BANNED, quote("Telegram says so"))
    with pytest.raises(Missing):
        await reset_account(public_id, stores=world.stores_b, now=now())
    health = await reset_account(public_id, stores=world.stores_a, now=now())
    assert (health.account.state, health.account.state_reason, health.account.has_login) == (
        AccountState.NEW,
        None,
        False,
    )
    assert (
        await admin.fetchval("SELECT session FROM telegram_accounts WHERE account_id = $1", account_id)
        is None
    )
    assert (
        await admin.fetchval("SELECT access_hash FROM account_channels WHERE account_id = $1", account_id)
        == 70
    )
    assert [limit.method for limit in health.account.limits if limit.blocked_until] == ["messages.getHistory"]
    ended = await world.stores_a.logins.get(attempt)
    assert ended is not None
    assert str(ended.error) == "the login of the account was deleted"
    with pytest.raises(Rejected, match="cannot become active"):
        await resume_account(public_id, stores=world.stores_a, now=now())
