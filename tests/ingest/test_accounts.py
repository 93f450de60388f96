"""The accounts of a process: taken, used, renewed, given back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from telegram_assistant.domain.account import AccountState, Lease
from telegram_assistant.errors import CannotStart
from telegram_assistant.ingest.accounts import Holder, Use, adopt
from telegram_assistant.stores.postgres.accounts import Account
from telegram_assistant.stores.postgres.stores import SystemStores
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


@asynccontextmanager
async def holding(use: Use, system: SystemStores, vault: Vault, owner: str = "first#1") -> AsyncIterator[asyncio.Event]:
    stopping = asyncio.Event()
    holder = Holder(use, owner=owner, accounts=system.accounts, vault=vault, health=Health(probes={}), look_seconds=0.05)
    task = asyncio.create_task(holder.run(stopping))
    try:
        yield stopping
    finally:
        stopping.set()
        await asyncio.wait_for(task, 10)


async def only_account(system: SystemStores) -> Account:
    (account,) = await system.accounts.all()
    return account


async def test_a_session_string_is_taken_over_once_and_kept_sealed(system: SystemStores, vault: Vault, admin: Admin) -> None:
    for session in ("the session", "another one"):
        await adopt(session, accounts=system.accounts, tenants=system.tenants, vault=vault)
    account = await only_account(system)
    assert (account.tenant, account.state) == ("default", AccountState.ACTIVE)
    row = await admin.fetchrow("SELECT key_id, session FROM telegram_accounts")
    assert row is not None
    assert b"the session" not in row["session"]
    assert vault.open(Sealed(row["key_id"], row["session"]), account_id=account.account_id) == "the session"


async def test_an_account_is_used_by_one_process_and_handed_over_when_it_stops(system: SystemStores, vault: Vault) -> None:
    await adopt("the session", accounts=system.accounts, tenants=system.tenants, vault=vault)
    using: list[str] = []

    def user(name: str) -> Use:
        async def use(session: str, lease: Lease, stopping: asyncio.Event) -> None:
            lease.check()
            using.append(f"{name} {session}")
            await stopping.wait()

        return use

    async with holding(user("first"), system, vault):
        await until(lambda: _is(using, ["first the session"]))
        async with holding(user("second"), system, vault, owner="second#2"):
            await asyncio.sleep(0.3)
            assert using == ["first the session"]
    async with holding(user("third"), system, vault, owner="third#3"):
        await until(lambda: _is(using, ["first the session", "third the session"]))
    assert (await only_account(system)).lease_owner is None


async def test_a_session_of_no_use_parks_the_account_and_says_why(system: SystemStores, vault: Vault) -> None:
    await adopt("the session", accounts=system.accounts, tenants=system.tenants, vault=vault)
    tries: list[str] = []

    async def use(session: str, lease: Lease, stopping: asyncio.Event) -> None:
        del lease, stopping
        tries.append(session)
        raise CannotStart("Telegram refuses the session (UserDeactivatedBanError)", remedy="Log in again")

    async with holding(use, system, vault):
        await until(lambda: _in_state(system, AccountState.LOGGED_OUT))
        await asyncio.sleep(0.3)
    account = await only_account(system)
    assert "UserDeactivatedBanError" in (account.state_reason or "")
    assert tries == ["the session"]


async def test_a_session_under_an_old_key_is_sealed_anew_when_it_is_used(system: SystemStores, admin: Admin) -> None:
    old, new = make_key(), make_key()
    await adopt("the session", accounts=system.accounts, tenants=system.tenants, vault=vault_of(old))
    used = asyncio.Event()

    async def use(session: str, lease: Lease, stopping: asyncio.Event) -> None:
        del lease
        assert session == "the session"
        used.set()
        await stopping.wait()

    async with holding(use, system, vault_of(f"{new},{old}")):
        await asyncio.wait_for(used.wait(), 5)
    row = await admin.fetchrow("SELECT account_id, key_id, session FROM telegram_accounts")
    assert row is not None
    assert vault_of(new).open(Sealed(row["key_id"], row["session"]), account_id=row["account_id"]) == "the session"


async def _is(items: list[str], expected: list[str]) -> bool:
    return items == expected


async def _in_state(system: SystemStores, state: AccountState) -> bool:
    return (await only_account(system)).state is state
