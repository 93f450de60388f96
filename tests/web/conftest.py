"""The pages of one installation, and a tenant of its own for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser as Chromium

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.settings import FilesSettings, Settings
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.chromium import open_chromium
from testkit.factories import make_tenant
from testkit.web_clients import Browser, member_browser, open_browser, serve_web, without_page_limits
from tests.conftest import Admin
from tests.web.feed_reading import load_address
from tests.web.managing_world import build_managed
from tests.web.reading_world import ReadingWorld, build_world


@pytest.fixture(scope="session")
async def app(installation: Settings) -> AsyncIterator[App]:
    async with assemble(without_page_limits(installation)) as made:
        yield made


@pytest.fixture
async def tenant_id(system: SystemStores) -> TenantId:
    return await make_tenant(system)


@pytest.fixture
async def browser(app: App) -> AsyncIterator[Browser]:
    """Of somebody who is not logged in."""
    async with open_browser(app) as made:
        yield made


@pytest.fixture
async def owner(app: App, tenant_id: TenantId) -> AsyncIterator[Browser]:
    async with member_browser(app, tenant_id) as made:
        yield made


@pytest.fixture(scope="session")
async def chromium() -> AsyncIterator[Chromium]:
    async with open_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
async def app_with_files(
    installation: Settings, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("files")
    async with assemble(
        without_page_limits(installation).model_copy(update={"files": FilesSettings(folder=folder)})
    ) as app:
        yield app


@pytest.fixture(scope="session")
async def address(app_with_files: App) -> AsyncIterator[str]:
    async with serve_web(app_with_files) as served:
        yield served


@pytest.fixture
async def reader_tenant(system: SystemStores) -> TenantId:
    return await make_tenant(system)


@pytest.fixture
async def reading_world(
    app_with_files: App, admin: Admin, reader_tenant: TenantId, tmp_path: Path
) -> ReadingWorld:
    await build_managed(admin, reader_tenant)
    return await build_world(app_with_files, admin, reader_tenant, tmp_path)


@pytest.fixture
async def feed_reader(app_with_files: App) -> AsyncIterator[httpx.AsyncClient]:
    """A program without cookies and without a login."""
    async with open_browser(app_with_files) as browser:
        yield browser.client


@pytest.fixture
async def folder_feed(app_with_files: App, reading_world: ReadingWorld, reader_tenant: TenantId) -> str:
    """The address of a feed of the folder of `reading_world.ferries`, without the ending."""
    assert reading_world.ferries
    return await load_address(app_with_files, reader_tenant, FeedKind.FOLDER, "Transport")
