"""Every page in a real browser: it fits, is accessible and speaks its language."""

import os

import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from testkit.chromium import ALL_DEVICES, DEVICES, Device, accessibility_violations, layout_troubles, open_tab
from tests.conftest import Admin
from tests.web.browsing import log_in
from tests.web.managing_world import build_member
from tests.web.operations_world import build_operations
from tests.web.reading_world import ReadingWorld, build_list

pytestmark = pytest.mark.long

WANTED = ALL_DEVICES if os.environ.get("ALL_DEVICES") else DEVICES


@pytest.mark.parametrize("device", WANTED, ids=lambda device: device.name)
async def test_every_page_fits_is_accessible_and_speaks_its_language(
    chromium: Chromium,
    address: str,
    app_with_files: App,
    reader_tenant: TenantId,
    reading_world: ReadingWorld,
    admin: Admin,
    device: Device,
) -> None:
    async with open_tab(chromium, device, address) as page:
        base = await log_in(page, app_with_files, reader_tenant)
        paths = {
            "today": "/today",
            "today-week": "/today?window=week&folder=Город",
            "today-none": "/today?folder=никогда",
            "story": f"/story/{reading_world.city}/2",
            "story-copy": f"/story/{reading_world.city}/2/copy?format=markdown",
            "links": f"/links?kind=story&subject={reading_world.city}/2",
            "feed": "/feed",
            "feed-oldest": "/feed?order=oldest",
            "post": f"/post/{reading_world.ferries}/1",
            "album": f"/post/{reading_world.ferries}/3",
            "edited": f"/post/{reading_world.city}/1",
            "search": "/search",
            "found": "/search?q=мост",
            "nothing-found": "/search?q=никогда",
            "ask": "/ask",
            "answered": "/ask?q=Для+кого+закрыли+мост+через+реку%3F",
            "wrong-query": "/search?q=has:nothing",
            "changes": "/changes",
            "caught": "/changes/caught",
            "caught-none": "/changes/caught/2020-01-01",
            "digest-none": "/digest",
            "digest-plan": "/digest/plan",
            "interests": "/interests",
            "trends": "/trends",
            "alerts": "/alerts",
            "alerts-all": "/alerts?show=all",
            "watches": "/watches",
            "watch-new": "/watches/new",
            "watch-previewed": "/watches/new?kind=words&query=мост",
            "watch-wrong": "/watches/new?kind=words&query=-мост",
            "receivers": "/receivers",
            "tags": "/tags",
            "tag": "/tags/ferries",
            "saved": "/saved",
            "lists": "/lists",
            "list": f"/lists/{await build_list(admin, reader_tenant, reading_world)}",
            "list-add": f"/lists/add?kind=story&post={reading_world.city}/2",
            "mutes": "/mutes",
            "go": "/go?q=go",
            "spread": f"/spread/{reading_world.city}",
            "channels": "/channels",
            "channels-worst": "/channels?order=health&health=waiting",
            "no-channels-found": "/channels?q=никогда",
            "channel": f"/channels/{reading_world.city}",
            "channel-record": f"/channels/{reading_world.city}/record/deleted",
            "channel-changes": f"/changes?channel={reading_world.city}",
            "add-channels": "/channels/add",
            "requests": "/channels/requests",
            "requests-none": "/channels/requests?fate=already_followed",
            "members": "/members",
            "member": f"/members/{await build_member(admin, reader_tenant)}",
            "setup": "/setup",
            "accounts": "/accounts",
            "ai": "/ai?days=7",
            "keys": "/keys",
            "audit": "/audit",
            "missing": "/post/1/1",
        }
        troubles = []
        for name, path in paths.items():
            await page.goto(base + path)
            troubles += [
                f"{name}: {trouble}"
                for trouble in [*await layout_troubles(page), *await accessibility_violations(page)]
            ]
        for name, path in {"me": "/me", "not-found": "/nothing/here"}.items():
            await page.goto(path)
            troubles += [
                f"{name}: {trouble}"
                for trouble in [*await layout_troubles(page), *await accessibility_violations(page)]
            ]
        assert not troubles, "\n".join(troubles)


async def test_checks_appear_on_the_page_that_asks_for_them(
    chromium: Chromium, address: str, app_with_files: App, admin: Admin
) -> None:
    async with open_tab(chromium, WANTED[0], address) as page:
        base = await log_in(
            page, app_with_files, await build_operations(app_with_files, admin), role=MemberRole.OWNER
        )
        await page.goto(f"{base}/operations")
        for _ in range(2):
            await page.locator("#findings a.btn").click()
            await expect(page.locator("#findings code", has_text="postgres").first).to_be_visible(
                timeout=30_000
            )
        assert page.url.endswith("/operations")


@pytest.mark.parametrize("device", WANTED, ids=lambda device: device.name)
async def test_every_page_of_operations_fits_is_accessible_and_speaks_its_language(
    chromium: Chromium, address: str, app_with_files: App, admin: Admin, device: Device
) -> None:
    async with open_tab(chromium, device, address) as page:
        base = await log_in(
            page, app_with_files, await build_operations(app_with_files, admin), role=MemberRole.OWNER
        )
        troubles = []
        for name, path in {
            "operations": "/operations",
            "checks": "/operations/checks",
            "dead-letters": "/operations/dead-letters",
            "tenants": "/operations/tenants",
        }.items():
            answer = await page.goto(base + path)
            assert answer is not None
            assert answer.ok
            for folded in await page.locator("main details > summary").all():
                await folded.click()
            troubles += [
                f"{name}: {trouble}"
                for trouble in [*await layout_troubles(page), *await accessibility_violations(page)]
            ]
        assert not troubles, "\n".join(troubles)
