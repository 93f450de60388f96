"""People on their way through the pages, in a real browser: English on a desktop, Russian on a phone."""

import os
import re
import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import Page, expect

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.features.people import make_login_link
from telegram_assistant.settings import FilesSettings, Settings
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.chromium import (
    ALL_DEVICES,
    DEVICES,
    ENGLISH_DESKTOP,
    RUSSIAN_PHONE,
    Device,
    accessibility_violations,
    layout_troubles,
    open_chromium,
    open_tab,
    save_screenshot,
)
from testkit.factories import make_page, make_post, make_tenant
from testkit.web_clients import served_web
from tests.conftest import Admin
from tests.web.reading_world import ReadingWorld, build_world

SCREENSHOTS = os.environ.get("SCREENSHOTS", "")
WANTED = ALL_DEVICES if os.environ.get("ALL_DEVICES") else DEVICES


@pytest.fixture(scope="module")
async def chromium() -> AsyncIterator[Chromium]:
    async with open_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
async def app_with_files(installation: Settings, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("files")
    async with assemble(installation.model_copy(update={"files": FilesSettings(folder=folder)})) as app:
        yield app


@pytest.fixture(scope="module")
async def address(app_with_files: App) -> AsyncIterator[str]:
    async with served_web(app_with_files) as served:
        yield served


@pytest.fixture
async def reader_tenant(system: SystemStores) -> TenantId:
    return await make_tenant(system)


@pytest.fixture
async def reading_world(app_with_files: App, admin: Admin, reader_tenant: TenantId, tmp_path: Path) -> ReadingWorld:
    return await build_world(app_with_files, admin, reader_tenant, tmp_path)


async def log_in(page: Page, app: App, tenant_id: TenantId) -> str:
    """Opens a one-time link and presses its button. Returns the path of the tenant."""
    member = await app.system.users.join(tenant_id, f"Анна {secrets.token_hex(3)}")
    token = await make_login_link(member.user_id, users=app.system.users, created_by="test")
    await page.goto(f"/link/{token}")
    await page.locator("main button").click()
    await page.wait_for_url("**/feed")
    return "/t/" + page.url.partition("/t/")[2].partition("/")[0]


@pytest.mark.parametrize("device", WANTED, ids=lambda one: one.name)
async def test_every_page_fits_is_accessible_and_speaks_its_language(
    chromium: Chromium, address: str, app_with_files: App, reader_tenant: TenantId, reading_world: ReadingWorld, device: Device
) -> None:
    async with open_tab(chromium, device, address) as page:
        base = await log_in(page, app_with_files, reader_tenant)
        paths = {
            "feed": "/feed",
            "feed-oldest": "/feed?order=oldest",
            "post": f"/post/{reading_world.ferries}/1",
            "album": f"/post/{reading_world.ferries}/3",
            "edited": f"/post/{reading_world.city}/1",
            "search": "/search",
            "found": "/search?q=мост",
            "nothing-found": "/search?q=никогда",
            "wrong-query": "/search?q=has:nothing",
            "changes": "/changes",
            "tags": "/tags",
            "tag": "/tags/ferries",
            "saved": "/saved",
            "mutes": "/mutes",
            "members": "/members",
            "missing": "/post/1/1",
        }
        troubles = []
        for name, path in paths.items():
            await page.goto(base + path)
            troubles += [f"{name}: {one}" for one in [*await layout_troubles(page), *await accessibility_violations(page)]]
            if SCREENSHOTS:
                await save_screenshot(page, Path(SCREENSHOTS), f"{device.name}-{name}")
        for name, path in {"me": "/me", "not-found": "/nothing/here"}.items():
            await page.goto(path)
            troubles += [f"{name}: {one}" for one in [*await layout_troubles(page), *await accessibility_violations(page)]]
            if SCREENSHOTS:
                await save_screenshot(page, Path(SCREENSHOTS), f"{device.name}-{name}")
        assert not troubles, "\n".join(troubles)


@pytest.mark.usefixtures("reading_world")
async def test_a_reader_on_a_desktop_reads_undoes_saves_mutes_and_searches_by_keys_alone(
    chromium: Chromium, address: str, app_with_files: App, reader_tenant: TenantId
) -> None:
    async with open_tab(chromium, ENGLISH_DESKTOP, address) as page:
        await log_in(page, app_with_files, reader_tenant)
        press = page.keyboard.press
        await press("j")
        first = page.locator("article.here")
        await expect(first).to_have_count(1)
        await press("r")
        await expect(page.locator("article.here.is-read")).to_have_count(1)
        await press("s")
        await expect(page.locator("article.here [data-act=save]")).to_have_attribute("aria-pressed", "true")
        await press("j")
        await press("r")
        await expect(page.locator("article.is-read")).to_have_count(2)
        await press("u")
        await page.wait_for_load_state()
        await expect(page.locator("article.is-read")).to_have_count(1)
        await press("g")
        await press("s")
        await page.wait_for_url("**/saved")
        await expect(page.locator("article[data-post]")).to_have_count(1)
        await press("/")
        await page.keyboard.type("мост")
        await press("Enter")
        await page.wait_for_url("**/search?q=*")
        await expect(page.locator("mark").first).to_be_visible()
        await press("j")
        await press("o")
        await page.wait_for_url("**/post/**")
        await press("g")
        await press("f")
        await page.wait_for_url("**/feed")
        await press("?")
        await expect(page.locator("dialog[open]")).to_be_visible()
        await press("Escape")
        await press("j")
        await press("m")
        await page.wait_for_load_state()
        await expect(page.locator("article[data-post]").filter(has_text="Пересказ дня")).to_have_count(0)


async def test_a_reader_on_a_phone_uncovers_a_spoiler_looks_at_an_album_and_a_difference(
    chromium: Chromium, address: str, app_with_files: App, reader_tenant: TenantId, reading_world: ReadingWorld
) -> None:
    async with open_tab(chromium, RUSSIAN_PHONE, address) as page:
        base = await log_in(page, app_with_files, reader_tenant)
        secret = page.get_by_text("The vote is on Thursday.").first
        await expect(secret).to_be_hidden()
        await page.locator(".spoiler").first.click()
        await expect(secret).to_be_visible()
        album = page.locator(f"#p-{reading_world.ferries}-3")
        await album.scroll_into_view_if_needed()
        await expect(album.locator(".album img")).to_have_count(4)
        await expect(album.locator(".album img").first).to_have_js_property("complete", value=True)
        assert await album.locator(".album img").first.evaluate("one => one.naturalWidth") > 0
        await page.goto(f"{base}/post/{reading_world.city}/1")
        await expect(page.locator("del")).to_contain_text("март")
        await expect(page.locator("ins")).to_contain_text("апрел")


async def test_new_posts_are_counted_and_never_inserted(
    chromium: Chromium, address: str, app_with_files: App, admin: Admin, reader_tenant: TenantId, reading_world: ReadingWorld
) -> None:
    async with open_tab(chromium, ENGLISH_DESKTOP, address) as page:
        await log_in(page, app_with_files, reader_tenant)
        before = await page.locator("article[data-post]").count()
        await arrive(app_with_files, reading_world)
        button = page.locator("[data-live] a")
        await expect(button).to_have_text("1 new post")
        assert await page.locator("article[data-post]").count() == before
        await button.click()
        await expect(page.get_by_text("Just arrived")).to_be_visible()
        await admin.execute("UPDATE sessions SET ended_at = now() WHERE ended_at IS NULL")
        await page.wait_for_url(re.compile("/(login|start)"))


async def test_an_owner_invites_a_viewer_who_reads_and_may_not_manage(
    chromium: Chromium, address: str, app_with_files: App, reader_tenant: TenantId, reading_world: ReadingWorld
) -> None:
    async with open_tab(chromium, ENGLISH_DESKTOP, address) as owner, open_tab(chromium, RUSSIAN_PHONE, address) as guest:
        base = await log_in(owner, app_with_files, reader_tenant)
        await owner.goto(f"{base}/members")
        await owner.get_by_role("button", name="make a link").click()
        link = await owner.locator(".copy").inner_text()
        await guest.goto(link)
        await guest.locator("input[name=name]").fill(f"Гость {secrets.token_hex(3)}")
        await guest.locator("input[name=password]").fill("correct horse battery")
        await guest.locator("main button").click()
        await guest.wait_for_url("**/feed")
        await expect(guest.locator(f"#p-{reading_world.ferries}-1")).to_be_visible()
        assert await guest.locator(".rail [href$='/members']").count() == 0
        refused = await guest.goto(f"{base}/members")
        assert refused is not None
        assert refused.status == 403


async def arrive(app: App, world: ReadingWorld) -> None:
    post = make_post(channel_id=world.city, message_id=50, text="Just arrived", posted_at=datetime.now(UTC).replace(microsecond=0))
    await app.system.landing.land(make_page(post), Claim(world.city, 0))
