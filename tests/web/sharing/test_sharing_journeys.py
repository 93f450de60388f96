"""Something leaves the page, in a real browser: a quote in the clipboard, and a link that ends."""

import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from testkit.chromium import Device, Hands, accessibility_violations, layout_troubles, open_tab
from tests.web.browsing import every_way, log_in


@every_way
@pytest.mark.long
@pytest.mark.usefixtures("reading_world")
async def test_a_desk_takes_a_quote_with_its_sources_and_shows_a_story_to_a_stranger(
    chromium: Chromium,
    address: str,
    app_with_files: App,
    reader_tenant: TenantId,
    device: Device,
    by_keys: bool,
) -> None:
    async with open_tab(chromium, device, address) as page, open_tab(chromium, device, address) as stranger:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        hands = Hands(page, by_keys)
        base = await log_in(page, app_with_files, reader_tenant, role=MemberRole.EDITOR, by_keys=by_keys)
        await page.goto(f"{base}/today")
        menu = page.locator("article.story details.drop").first
        await hands.press(menu.locator("summary"))
        await hands.press(menu.locator("[href$='format=markdown']"))
        await expect(page.locator("#notes .notice.ok")).to_be_visible()
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert "SHA-256" in copied
        assert "https://t.me/" in copied
        await hands.press(menu.locator("summary"))
        await page.keyboard.press("Escape")
        await expect(page.locator("details.drop[open]")).to_have_count(0)
        await hands.press(menu.locator("summary"))
        await hands.press(menu.locator("[href*='/links?kind=story']"))
        await page.wait_for_url("**/links?**")
        await hands.press(page.locator("form.card .btn.main"))
        link = await page.locator(".notice .copy").inner_text()
        await stranger.goto(link)
        await expect(stranger.locator(".timeline li").first).to_be_visible()
        assert not [*await layout_troubles(stranger), *await accessibility_violations(stranger)]
        assert not await stranger.context.cookies()
        await hands.press(page.locator("form[action$='/revoke'] button"))
        await expect(page.locator("form[action$='/revoke']")).to_have_count(0)
        await stranger.reload()
        await expect(stranger.locator(".notice.bad")).to_be_visible()
