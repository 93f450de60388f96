"""An owner logs an account in with a QR code, in a real browser that nobody reloads."""

import secrets

import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.web.cookies import SESSION
from telegram_simulator.control.operations import Control
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from testkit.chromium import ENGLISH_DESKTOP, accessibility_violations, layout_troubles, open_tab
from testkit.web_clients import begin_session, load_public_id, serve_web
from tests.telegram.conftest import control, fresh_config, rsa_key, sim, telethons_config
from tests.web.accounts.test_setup import DIGITS, PASSWORD, ingest_beside, nothing_entered

__all__ = [
    "control",
    "fresh_config",
    "ingest_beside",
    "nothing_entered",
    "rsa_key",
    "sim",
    "telethons_config",
]


@pytest.mark.usefixtures("ingest_beside")
async def test_the_page_follows_the_login_by_itself_and_leaves_what_is_typed_alone(
    chromium: Chromium, app: App, tenant_id: TenantId, sim: Simulator, control: Control
) -> None:
    control.account(DIGITS, password=PASSWORD)
    member = await app.system.users.join(tenant_id, f"Анна {secrets.token_hex(3)}")
    begun = await begin_session(app, member.user_id)
    base = f"/t/{await load_public_id(app, begun.token, tenant_id)}"
    async with serve_web(app) as address, open_tab(chromium, ENGLISH_DESKTOP, address) as page:
        await page.context.add_cookies([{"name": SESSION, "value": begun.token, "url": address}])
        start = page.get_by_role("button", name="Log in with a QR code")
        while True:
            await page.goto(f"{base}/setup")
            if await start.count():
                break
        await start.click()
        await expect(page.locator(".qr")).to_be_visible()
        assert [*await layout_troubles(page), *await accessibility_violations(page)] == []
        link = await page.locator("a[href^='tg:']").get_attribute("href")
        assert link is not None
        OtherApps(sim).accept_login(DIGITS, link)
        answer = page.locator("input[name=answer]")
        await answer.fill(PASSWORD)
        async with page.expect_response(lambda response: "/setup/login?seen=" in response.url) as looked:
            pass
        assert (await looked.value).status == 204
        await expect(answer).to_have_value(PASSWORD)
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator("#h-account .chip")).to_have_text("done")
