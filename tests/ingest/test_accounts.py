"""The accounts of a process: taken, used, renewed, given back."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import structlog

from telegram_assistant.domain.accounts.account import LEASE_SECONDS, AccountRefused, AccountState, Lease
from telegram_assistant.errors import CannotStart
from telegram_assistant.ingest.accounts import Holder, LogOutAccount, UseAccount, adopt_session_string
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.accounts.accounts import Account, HeldAccount
from telegram_assistant.stores.postgres.stores import IngestStores, SystemStores
from telegram_assistant.telegram.vault import Sealed, Vault, make_key, vault_of
from telegram_assistant.telemetry.health import Health
from tests.conftest import Admin
from tests.streams.conftest import until


@pytest.fixture(autouse=True)
async def no_other_accounts(admin: Admin) -> None:
    await admin.execute("DELETE FROM telegram_accounts")


@pytest.fixture
def vault() -> Vault:
    return vault_of(make_key())


async def nobody_leaves(held_account: HeldAccount, session: str, lease: Lease) -> None:
    del held_account, session, lease
    raise AssertionError("nobody has asked for it")


@asynccontextmanager
async def holding(
    use: UseAccount,
    ingest: IngestStores,
    vault: Vault,
    owner: str = "first#1",
    leave: LogOutAccount = nobody_leaves,
) -> AsyncIterator[asyncio.Event]:
    stopping = asyncio.Event()
    holder = Holder(
        use,
        leave,
        owner=owner,
        accounts=ingest.accounts,
        vault=vault,
        health=Health(probes={}),
        look_seconds=0.05,
        finish_seconds=0.5,
    )
    task = asyncio.create_task(holder.run(stopping))
    try:
        yield stopping
    finally:
        stopping.set()
        await asyncio.wait_for(task, 60)


async def only_account(system: SystemStores) -> Account:
    (account,) = await system.accounts.all()
    return account


async def test_a_session_string_is_taken_over_once_and_kept_sealed(
    system: SystemStores, ingest: IngestStores, vault: Vault, admin: Admin
) -> None:
    for session in ("the session", "another one"):
        await adopt_session_string(session, accounts=ingest.accounts, tenants=system.tenants, vault=vault)
    account = await only_account(system)
    assert (account.tenant, account.state) == ("default", AccountState.ACTIVE)
    row = await admin.fetchrow("SELECT key_id, session FROM telegram_accounts")
    assert row is not None
    assert b"the session" not in row["session"]
    assert vault.open(Sealed(row["key_id"], row["session"]), account_id=account.account_id) == "the session"


async def test_an_account_is_used_by_one_process_and_handed_over_when_it_stops(
    system: SystemStores, ingest: IngestStores, vault: Vault
) -> None:
    await adopt_session_string("the session", accounts=ingest.accounts, tenants=system.tenants, vault=vault)
    using: list[str] = []

    def user(name: str) -> UseAccount:
        async def use(held_account: HeldAccount, session: str, lease: Lease, stopping: asyncio.Event) -> None:
            del held_account
            lease.check()
            using.append(f"{name} {session}")
            await stopping.wait()

        return use

    async with holding(user("first"), ingest, vault):
        await until(lambda: _is(using, ["first the session"]))
        async with holding(user("second"), ingest, vault, owner="second#2"):
            await asyncio.sleep(0.3)
            assert using == ["first the session"]
    async with holding(user("third"), ingest, vault, owner="third#3"):
        await until(lambda: _is(using, ["first the session", "third the session"]))
    assert (await only_account(system)).lease_owner is None


async def test_who_is_told_to_stop_finishes_what_is_in_hand_before_the_account_is_given_back(
    system: SystemStores, ingest: IngestStores, vault: Vault
) -> None:
    await adopt_session_string("the session", accounts=ingest.accounts, tenants=system.tenants, vault=vault)
    begun, done = asyncio.Event(), list[str | None]()

    async def use(held_account: HeldAccount, session: str, lease: Lease, stopping: asyncio.Event) -> None:
        del held_account, session, lease
        begun.set()
        await stopping.wait()
        await asyncio.sleep(0.1)
        done.append((await only_account(system)).lease_owner)

    async with holding(use, ingest, vault):
        await asyncio.wait_for(begun.wait(), 30)
    assert done == ["first#1"]
    assert (await only_account(system)).lease_owner is None


async def test_who_does_not_stop_in_time_is_cut_off_and_holds_up_no_other_account(
    system: SystemStores, ingest: IngestStores, vault: Vault, admin: Admin
) -> None:
    tenant = await system.tenants.ensure("default", is_operator=True)
    for _ in range(2):
        account_id = await system.accounts.add(tenant.tenant_id)
        sealed = vault.seal("the session", account_id=account_id)
        await ingest.accounts.save_session(account_id, key_id=sealed.key_id, session=sealed.content)
        await system.accounts.set_state(account_id, AccountState.ACTIVE)
    slow_one, using, free_meanwhile = account_id, set[int](), list[int]()

    async def use(held_account: HeldAccount, session: str, lease: Lease, stopping: asyncio.Event) -> None:
        del session, lease
        using.add(held_account.account_id)
        await stopping.wait()
        if held_account.account_id == slow_one:
            try:
                await asyncio.sleep(60)
            finally:
                free_meanwhile.append(
                    await admin.fetchval("SELECT count(*) FROM telegram_accounts WHERE lease_owner IS NULL")
                )

    async with holding(use, ingest, vault):
        await until(lambda: _is_used(lambda: len(using) == 2))
    assert free_meanwhile == [1]
    assert {account.lease_owner for account in await system.accounts.all()} == {None}


@pytest.mark.parametrize(
    ("raised", "state"),
    [
        (AccountRefused(quote("Telegram has banned it"), state=AccountState.BANNED), AccountState.BANNED),
        (
            AccountRefused(quote("Telegram has frozen it"), state=AccountState.QUARANTINED),
            AccountState.QUARANTINED,
        ),
        (
            AccountRefused(quote("the key was used twice"), state=AccountState.LOGGED_OUT),
            AccountState.LOGGED_OUT,
        ),
        (CannotStart(quote("there is no application"), remedy=quote("Set it")), AccountState.QUARANTINED),
    ],
    ids=["banned", "frozen", "logged out", "no settings"],
)
async def test_an_account_of_no_use_is_parked_says_why_once_and_is_not_tried_again(
    system: SystemStores, ingest: IngestStores, vault: Vault, raised: Exception, state: AccountState
) -> None:
    await adopt_session_string("the session", accounts=ingest.accounts, tenants=system.tenants, vault=vault)
    tries: list[str] = []

    async def use(held_account: HeldAccount, session: str, lease: Lease, stopping: asyncio.Event) -> None:
        del held_account, lease, stopping
        tries.append(session)
        raise raised

    with structlog.testing.capture_logs() as logged:
        async with holding(use, ingest, vault):
            await until(lambda: _in_state(system, state))
            await asyncio.sleep(0.3)
    assert str((await only_account(system)).state_reason) == str(raised)
    assert tries == ["the session"]
    assert [event["why"] for event in logged if event["event"] == "account_parked"] == [str(raised)]


async def test_an_account_is_logged_out_by_whoever_holds_it_and_its_session_is_forgotten(
    system: SystemStores, ingest: IngestStores, vault: Vault, admin: Admin
) -> None:
    await adopt_session_string("the session", accounts=ingest.accounts, tenants=system.tenants, vault=vault)
    account = await only_account(system)
    await system.accounts.change(account.account_id, AccountState.LOGGING_OUT)
    left: list[str] = []

    async def use(held_account: HeldAccount, session: str, lease: Lease, stopping: asyncio.Event) -> None:
        raise AssertionError((held_account, session, lease, stopping))

    async def leave(held_account: HeldAccount, session: str, lease: Lease) -> None:
        lease.check()
        assert held_account.account_id == account.account_id
        left.append(session)

    async with holding(use, ingest, vault, leave=leave):
        await until(lambda: _in_state(system, AccountState.LOGGED_OUT))
    assert left == ["the session"]
    assert await admin.fetchval("SELECT session FROM telegram_accounts") is None


async def test_a_lease_that_was_lost_ends_the_work_before_the_account_is_taken_again(
    system: SystemStores, ingest: IngestStores, vault: Vault, admin: Admin
) -> None:
    """As after a database that was away for long: the same process may get the account back."""
    await adopt_session_string("the session", accounts=ingest.accounts, tenants=system.tenants, vault=vault)
    using = most = 0

    async def use(held_account: HeldAccount, session: str, lease: Lease, stopping: asyncio.Event) -> None:
        nonlocal using, most
        del held_account, session
        using += 1
        most = max(most, using)
        lease.extend(time.monotonic() - LEASE_SECONDS)
        try:
            await stopping.wait()
        finally:
            using -= 1

    async with holding(use, ingest, vault):
        for _ in range(3):
            await until(lambda: _is_used(lambda: using))
            await admin.execute(
                "UPDATE telegram_accounts SET lease_until = now() - interval '16 seconds' "
                "WHERE lease_until IS NOT NULL"
            )
            await asyncio.sleep(0.15)
    assert most == 1


async def test_a_session_under_an_old_key_is_sealed_anew_when_it_is_used(
    system: SystemStores, ingest: IngestStores, admin: Admin
) -> None:
    old, new = make_key(), make_key()
    await adopt_session_string(
        "the session", accounts=ingest.accounts, tenants=system.tenants, vault=vault_of(old)
    )
    used = asyncio.Event()

    async def use(held_account: HeldAccount, session: str, lease: Lease, stopping: asyncio.Event) -> None:
        del held_account, lease
        assert session == "the session"
        used.set()
        await stopping.wait()

    async with holding(use, ingest, vault_of(f"{new},{old}")):
        await asyncio.wait_for(used.wait(), 30)
    row = await admin.fetchrow("SELECT account_id, key_id, session FROM telegram_accounts")
    assert row is not None
    assert (
        vault_of(new).open(Sealed(row["key_id"], row["session"]), account_id=row["account_id"])
        == "the session"
    )


async def _is(items: list[str], expected: list[str]) -> bool:
    return items == expected


async def _is_used(count: Callable[[], int]) -> bool:
    return count() > 0


async def _in_state(system: SystemStores, state: AccountState) -> bool:
    return (await only_account(system)).state is state
