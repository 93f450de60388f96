"""Accounts and their leases: one login must never be used in two places."""

import asyncio

import pytest

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Rejected
from telegram_assistant.stores.postgres.stores import IngestStores, SystemStores
from testkit.factories import make_tenant
from tests.conftest import Admin


@pytest.fixture(autouse=True)
async def no_other_accounts(admin: Admin) -> None:
    await admin.execute("DELETE FROM telegram_accounts")


async def make_account(
    system: SystemStores, ingest: IngestStores, state: AccountState = AccountState.ACTIVE
) -> AccountId:
    account_id = await system.accounts.add(await make_tenant(system))
    await ingest.accounts.save_session(account_id, key_id="k", session=b"sealed")
    await system.accounts.set_state(account_id, state)
    return account_id


async def pass_time(admin: Admin, seconds: float) -> None:
    await admin.execute(
        "UPDATE telegram_accounts SET lease_until = lease_until - make_interval(secs => $1)", seconds
    )


async def test_an_account_is_taken_by_one_and_only_when_it_is_active(
    system: SystemStores, ingest: IngestStores
) -> None:
    active = await make_account(system, ingest)
    for state in AccountState:
        if state not in {AccountState.ACTIVE, AccountState.LOGGING_OUT}:
            await make_account(system, ingest, state)
    taken = await asyncio.gather(*(ingest.accounts.take(f"host#{number}") for number in range(8)))
    assert [held.account_id for some in taken for held in some] == [active]


@pytest.mark.parametrize(("silent_for", "free"), [(59.0, False), (61.0, False), (74.0, False), (76.0, True)])
async def test_a_silent_holder_loses_it_a_margin_after_the_end(
    system: SystemStores, ingest: IngestStores, admin: Admin, silent_for: float, free: bool
) -> None:
    await make_account(system, ingest)
    (held,) = await ingest.accounts.take("first#1")
    await pass_time(admin, silent_for)
    taken = await ingest.accounts.take("second#2")
    assert bool(taken) is free
    if taken:
        assert taken[0].lease_epoch > held.lease_epoch
        assert await ingest.accounts.renew("first#1", [held.account_id]) == frozenset()


async def test_a_lease_is_renewed_until_it_is_over_or_the_account_is_paused(
    system: SystemStores, ingest: IngestStores, admin: Admin
) -> None:
    account_id = await make_account(system, ingest)
    await ingest.accounts.take("first#1")
    assert await ingest.accounts.renew("first#1", [account_id]) == {account_id}
    assert await ingest.accounts.renew("second#2", [account_id]) == frozenset()
    await system.accounts.set_state(account_id, AccountState.PAUSED)
    assert await ingest.accounts.renew("first#1", [account_id]) == frozenset()
    await system.accounts.set_state(account_id, AccountState.ACTIVE)
    await pass_time(admin, 60.5)
    assert await ingest.accounts.renew("first#1", [account_id]) == frozenset()


async def test_what_the_holder_does_not_use_any_more_runs_out(
    system: SystemStores, ingest: IngestStores
) -> None:
    """It may have tried to give it back while the database was away."""
    account_id = await make_account(system, ingest)
    await ingest.accounts.take("first#1")
    assert await ingest.accounts.renew("first#1", []) == frozenset()
    assert await ingest.accounts.renew("first#1", [account_id]) == {account_id}


async def test_what_is_given_back_can_be_taken_at_once(system: SystemStores, ingest: IngestStores) -> None:
    account_id = await make_account(system, ingest)
    await ingest.accounts.take("first#1")
    await ingest.accounts.release("second#2", account_id)
    assert await ingest.accounts.take("second#2") == ()
    await ingest.accounts.release("first#1", account_id)
    assert len(await ingest.accounts.take("second#2")) == 1


async def test_the_list_tells_who_uses_an_account_and_nothing_of_its_session(
    system: SystemStores, ingest: IngestStores
) -> None:
    await make_account(system, ingest)
    await ingest.accounts.take("first#1")
    (account,) = await system.accounts.all()
    assert (account.state, account.lease_owner) == (AccountState.ACTIVE, "first#1")
    assert "sealed" not in repr(account)


async def test_epochs_of_different_accounts_are_never_equal(
    system: SystemStores, ingest: IngestStores
) -> None:
    for _ in range(3):
        await make_account(system, ingest)
    epochs = []
    for number in range(3):
        held = await ingest.accounts.take(f"host#{number}")
        epochs += [account.lease_epoch for account in held]
        for account in held:
            await ingest.accounts.release(f"host#{number}", account.account_id)
    assert len(set(epochs)) == len(epochs) == 9


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (AccountState.BANNED, AccountState.PAUSED, "is banned; it cannot become paused"),
        (AccountState.NEW, AccountState.ACTIVE, "is new; it cannot become active"),
    ],
)
async def test_a_person_may_not_do_what_makes_no_sense(
    system: SystemStores, ingest: IngestStores, before: AccountState, after: AccountState, words: str
) -> None:
    account_id = await make_account(system, ingest, before)
    with pytest.raises(Rejected, match=words):
        await system.accounts.change(account_id, after)


async def test_an_account_without_a_login_cannot_be_used(system: SystemStores, ingest: IngestStores) -> None:
    account_id = await make_account(system, ingest, AccountState.LOGGED_OUT)
    await ingest.accounts.forget_session(account_id, AccountState.LOGGED_OUT)
    with pytest.raises(Rejected, match="tga accounts login"):
        await system.accounts.change(account_id, AccountState.ACTIVE)
    with pytest.raises(Rejected, match="there is no account 999999999"):
        await system.accounts.change(AccountId(999999999), AccountState.ACTIVE)
