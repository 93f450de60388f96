"""How many presses are between Today and what a desk needs: texts, a quote, a watch, the diff of an alert."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.domain.watches.watch import WatchKind, WatchOptions, WatchTarget
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from testkit.chromium import DEVICES, Hands, open_tab
from testkit.factories import make_page, make_post
from tests.web.browsing import log_in
from tests.web.reading_world import ReadingWorld


@pytest.mark.long
async def test_from_today_texts_a_quote_a_watch_and_a_diff_are_one_or_two_presses_away(
    chromium: Chromium,
    address: str,
    app_with_files: App,
    reader_tenant: TenantId,
    reading_world: ReadingWorld,
) -> None:
    async with open_tab(chromium, DEVICES[0], address) as page:
        hands = Hands(page, by_keys=False)
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        base = await log_in(page, app_with_files, reader_tenant, role=MemberRole.EDITOR)

        await page.goto(f"{base}/today")
        await hands.press(page.locator("article.story [data-act=open]").first)
        texts = page.locator(".timeline .full")
        assert await texts.count() > 1
        for index in range(await texts.count()):
            await expect(texts.nth(index)).to_be_visible()

        await page.goto(f"{base}/today")
        menu = page.locator("article.story details.drop").first
        await hands.press(menu.locator("summary"))
        await hands.press(menu.locator("[href$='format=markdown']"))
        await expect(page.locator("#notes .notice.ok")).to_be_visible()
        assert "https://t.me/" in await page.evaluate("navigator.clipboard.readText()")

        await page.goto(f"{base}/search?q=мост")
        await hands.press(page.locator("a[href*='/watches/new']"))
        await hands.press(page.locator("#watch .btn.main"))
        await page.wait_for_url("**/watches?done=created")

        await change_a_watched_post(app_with_files, reader_tenant, reading_world)
        await page.goto(f"{base}/today")
        await hands.press(page.locator(".beside form[action$='/open'] button").first)
        await page.wait_for_url("**/post/**#versions")
        await expect(page.locator("#versions ins").first).to_contain_text("май")


async def change_a_watched_post(app: App, tenant_id: TenantId, world: ReadingWorld) -> None:
    now = datetime.now(UTC)
    await create_watch(
        "Движение",
        WatchTarget(kind=WatchKind.CHANGES, query="движение"),
        WatchOptions(),
        stores=app.tenant(tenant_id),
        created_by="anna",
        now=now,
        zone=UTC,
    )
    changed = make_post(
        channel_id=world.city,
        message_id=1,
        text="Движение откроют в мае, а может, и в май не успеют",
        posted_at=now - timedelta(hours=3),
        edited_at=now + timedelta(seconds=1),
    )
    await app.system.landing.land(
        make_page(changed, read_at=now + timedelta(seconds=2)), Claim(world.city, 0)
    )
    await app.system.watch_matching.raise_alerts([Derived(changed, 3, "ru", ())])
