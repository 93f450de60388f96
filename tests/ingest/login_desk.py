"""The desk of the ingest role at which logins are served, against a simulator."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.ingest.logins import LoginWorker
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import IngestStores, SystemStores
from telegram_assistant.telegram.login import open_login
from telegram_assistant.telegram.vault import Vault, make_key, vault_of
from telegram_assistant.telemetry.health import Health
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.world import HOME_DC
from testkit.factories import make_tenant
from testkit.waits import Skipping
from tests.conftest import Admin
from tests.ingest.person import Person


@pytest.fixture(autouse=True)
async def no_other_accounts(admin: Admin) -> None:
    await admin.execute("DELETE FROM telegram_accounts")
    await admin.execute("DELETE FROM login_attempts")


@pytest.fixture
def vault() -> Vault:
    return vault_of(make_key())


@pytest.fixture
async def tenant_id(system: SystemStores) -> TenantId:
    return await make_tenant(system)


@pytest.fixture
async def desk(
    account: TelegramSettings,
    sim: Simulator,
    system: SystemStores,
    ingest: IngestStores,
    vault: Vault,
    skipping: Skipping,
) -> AsyncIterator[asyncio.Event]:
    async with serving(account, sim, system, ingest, vault, skipping) as stopping:
        yield stopping


@asynccontextmanager
async def serving(
    account: TelegramSettings,
    sim: Simulator,
    system: SystemStores,
    ingest: IngestStores,
    vault: Vault,
    skipping: Skipping,
    *,
    owner: str = "first#1",
) -> AsyncIterator[asyncio.Event]:
    at = account.model_copy(update={"dc_addr": sim.host, "dc_port": sim.ports[HOME_DC]})
    running = LoginWorker(
        lambda number: open_login(at, account_id=number, limits=system.limits, clock=skipping.clock),
        owner=owner,
        logins=ingest.logins,
        accounts=ingest.accounts,
        vault=vault,
        health=Health(probes={}),
        look_seconds=0.02,
    )
    stopping = asyncio.Event()
    task = asyncio.create_task(running.run(stopping))
    yield stopping
    stopping.set()
    await asyncio.wait_for(task, 60)


@pytest.fixture
def person(pool: Pool, tenant_id: TenantId) -> Person:
    return Person(pool, tenant_id)
