"""The pages of one installation, and a tenant of its own for each test."""

from collections.abc import AsyncIterator

import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_tenant
from testkit.web_clients import Browser, browser_of, member_browser


@pytest.fixture(scope="session")
async def app(installation: Settings) -> AsyncIterator[App]:
    async with assemble(installation) as made:
        yield made


@pytest.fixture
async def tenant_id(system: SystemStores) -> TenantId:
    return await make_tenant(system)


@pytest.fixture
async def browser(app: App) -> AsyncIterator[Browser]:
    """Of somebody who is not logged in."""
    async with browser_of(app) as made:
        yield made


@pytest.fixture
async def owner(app: App, tenant_id: TenantId) -> AsyncIterator[Browser]:
    async with member_browser(app, tenant_id) as made:
        yield made
