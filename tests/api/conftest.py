"""The site, a tenant of its own for each test, and its key."""

from collections.abc import AsyncIterator

import httpx
import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.api_clients import UNLIMITED, create_key_header, make_client, open_app_and_client
from testkit.factories import make_tenant


@pytest.fixture
async def app(installation: Settings) -> AsyncIterator[App]:
    async with open_app_and_client(installation, **UNLIMITED) as (made, _):
        yield made


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with make_client(app) as made:
        yield made


@pytest.fixture
async def tenant_id(system: SystemStores) -> TenantId:
    return await make_tenant(system)


@pytest.fixture
async def key(app: App, tenant_id: TenantId) -> dict[str, str]:
    return await create_key_header(app, tenant_id)
