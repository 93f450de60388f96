"""Our side of Telegram, against a simulator in the test's own process."""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from telegram_assistant.domain.accounts.account import Lease
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telegram import client
from telegram_assistant.telegram.account_client import AccountClient, Clock
from telegram_assistant.telegram.client import open_account_client
from telegram_assistant.telegram.reader import ChannelReader
from telegram_assistant.telegram.updates import UpdateBuffer
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY, TECH
from testkit.factories import make_tenant
from testkit.waits import Skipping
from tests.simulator.conftest import PHONE, control, rsa_key, sim
from tests.simulator.conftest import fresh_config as telethons_config

__all__ = ["control", "rsa_key", "sim", "telethons_config"]


@pytest.fixture(autouse=True)
def fresh_config() -> Iterator[None]:
    """As for Telethon's own class, for ours."""
    yield
    client.TelethonClient._config = None  # noqa: SLF001 -- there is no public way


type Lines = Callable[..., AbstractAsyncContextManager[AccountClient]]


@pytest.fixture
def account(sim: Simulator, control: Control) -> TelegramSettings:
    """An account that has joined two channels."""
    assert sim.ports
    control.account(PHONE, joined=[CITY, TECH])
    return TelegramSettings(
        api_id=1, api_hash=SecretStr("any"), session_string=SecretStr(control.session_string(PHONE))
    )


@pytest.fixture
async def account_id(system: SystemStores) -> AccountId:
    return await system.accounts.add(await make_tenant(system))


@pytest.fixture
def skipping() -> Skipping:
    return Skipping()


@pytest.fixture
def lines(
    account: TelegramSettings, account_id: AccountId, system: SystemStores, skipping: Skipping
) -> Lines:
    """Opens lines of that account: with a fresh lease and waits that are over at once,
    unless told otherwise.
    """

    def line(
        *,
        lease: Lease | None = None,
        clock: Clock | None = None,
        number: AccountId = account_id,
        receiver: UpdateBuffer | None = None,
        **changed: Any,
    ) -> Any:
        settings = account.model_copy(update=changed)
        return open_account_client(
            settings,
            settings.session_string.get_secret_value(),
            lease or Lease(begun_at=time.monotonic()),
            account_id=number,
            limits=system.limits,
            receiver=receiver,
            clock=clock or skipping.clock,
        )

    return line


type Readers = Callable[..., AbstractAsyncContextManager[ChannelReader]]


@pytest.fixture
def readers(lines: Lines) -> Readers:
    @asynccontextmanager
    async def reader(**options: Any) -> AsyncIterator[ChannelReader]:
        async with lines(**options) as line:
            yield ChannelReader(line)

    return reader
