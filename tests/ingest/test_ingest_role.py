"""The loops of the ingest role, with a session that was given to it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from telegram_assistant import ingest_role
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.settings import TelegramSettings, read_settings
from telegram_assistant.stores.postgres.accounts.accounts import Account
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.supervision import keep_running
from telegram_assistant.telegram.vault import make_key
from telegram_assistant.telemetry.health import Health
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from tests.conftest import Admin
from tests.simulator.conftest import PHONE
from tests.streams.conftest import until


@pytest.fixture(autouse=True)
async def no_other_accounts(admin: Admin) -> None:
    await admin.execute("DELETE FROM telegram_accounts")


@asynccontextmanager
async def following(account: TelegramSettings, database: dict[str, str]) -> AsyncIterator[None]:
    environ = {
        **database,
        "TELEGRAM_API_ID": "1",
        "TELEGRAM_API_HASH": "any",
        "TELEGRAM_SESSION_STRING": account.session_string.get_secret_value(),
        "SESSION_ENCRYPTION_KEY": make_key(),
    }
    stopping, health = asyncio.Event(), Health(probes={})
    async with assemble(read_settings(environ), with_accounts=True) as app, asyncio.TaskGroup() as group:
        for loop in ingest_role.loops(app, health):
            group.create_task(keep_running(loop, stopping=stopping, health=health))
        yield
        stopping.set()


async def only_account(system: SystemStores) -> Account:
    (account,) = await system.accounts.all()
    return account


async def test_whose_a_given_session_is_becomes_known(
    account: TelegramSettings, database: dict[str, str], system: SystemStores, admin: Admin
) -> None:
    async def is_known() -> bool:
        return bool(
            await admin.fetchval("SELECT count(*) = 1 FROM telegram_accounts WHERE user_id IS NOT NULL")
        )

    async with following(account, database):
        await until(is_known)
    assert (await only_account(system)).phone_masked == "+7999*****01"


@pytest.mark.parametrize(
    ("trouble", "state", "why"),
    [
        (
            lambda control: control.account(PHONE, state="banned"),
            AccountState.BANNED,
            "UserDeactivatedBanError",
        ),
        (lambda control: control.revoke_keys(PHONE), AccountState.LOGGED_OUT, "SessionRevokedError"),
        (
            lambda control: control.revoke_keys(PHONE, error=(406, "AUTH_KEY_DUPLICATED")),
            AccountState.LOGGED_OUT,
            "AuthKeyDuplicatedError",
        ),
        (lambda control: control.forget_keys(PHONE), AccountState.LOGGED_OUT, "AuthKeyNotFound"),
    ],
    ids=["banned", "revoked", "duplicated", "forgotten"],
)
async def test_an_account_that_telegram_refuses_is_parked_and_says_so(
    account: TelegramSettings,
    database: dict[str, str],
    system: SystemStores,
    control: Control,
    sim: Simulator,
    trouble: Callable[[Control], Any],
    state: AccountState,
    why: str,
) -> None:
    trouble(control)

    async def is_parked() -> bool:
        return any(account.state is state for account in await system.accounts.all())

    with capture_logs() as logged:
        async with following(account, database):
            await until(is_parked)
    assert why in str((await only_account(system)).state_reason)
    assert [event["state"] for event in logged if event["event"] == "account_parked"] == [state.value]
    assert sim.counters.calls[PHONE, "messages.getDialogs"] == 0
