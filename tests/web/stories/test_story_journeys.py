"""From what happened to a watch on it, in a real browser: Today, Story, quiet changes, watches, alerts,
a digest, a question.
"""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from testkit.chromium import Device, Hands, open_tab
from testkit.factories import make_page, make_post
from tests.web.browsing import every_way, log_in
from tests.web.reading_world import ReadingWorld


@every_way
@pytest.mark.long
async def test_a_reader_follows_a_story_watches_its_words_and_asks(
    chromium: Chromium,
    address: str,
    app_with_files: App,
    reader_tenant: TenantId,
    reading_world: ReadingWorld,
    device: Device,
    by_keys: bool,
) -> None:
    async with open_tab(chromium, device, address) as page:
        hands = Hands(page, by_keys)
        base = await log_in(page, app_with_files, reader_tenant, by_keys=by_keys)
        await read_a_story(hands, base)
        await look_at_changes(hands, base)
        await watch_a_word(hands, base)
        await arrive(app_with_files, reading_world, "На мост снова пустили грузовики")
        await open_the_alert(hands, base)
        await change_the_watch(hands, base)
        await make_a_digest(hands, base)
        await ask(hands, base)


async def read_a_story(hands: Hands, base: str) -> None:
    page = hands.page
    await page.goto(f"{base}/today")
    story = page.locator("article.story")
    await hands.press(story.locator("[data-act=done]"))
    await expect(story.locator("[data-act=done]")).to_have_attribute("aria-pressed", "true")
    await hands.press(page.locator("#notes [data-act=undo]"))
    await expect(story.locator("[data-act=done]")).to_have_attribute("aria-pressed", "false")
    await hands.press(story.locator(".more > summary"))
    await hands.press(story.locator("[data-act=mute]"))
    await expect(story).to_have_count(0)
    await hands.press(page.locator("[data-act=undo]"))
    await expect(story).to_have_count(1)
    await hands.press(story.locator("[data-act=open]"))
    await page.wait_for_url("**/story/**")
    await expect(page.locator(".timeline li").first).to_be_visible()
    await expect(page.locator("ins").first).to_contain_text("апрел")


async def look_at_changes(hands: Hands, base: str) -> None:
    page = hands.page
    await page.goto(f"{base}/changes")
    await expect(page.locator("article.diff")).to_have_count(2)
    await hands.press(page.locator(".chip[href*='kind=deleted']"))
    await expect(page.locator("article.diff")).to_have_count(1)
    await hands.press(page.locator("article.diff [data-act=open]"))
    await page.wait_for_url("**/post/**")


async def watch_a_word(hands: Hands, base: str) -> None:
    """A preview of the posts that the watch would have found appears while the person types."""
    page = hands.page
    await page.goto(f"{base}/watches/new")
    await hands.write(page.locator("#watch [name=name]"), "Мосты")
    await hands.write(page.locator("#watch [name=query]"), "мост")
    await expect(page.locator("#preview")).to_contain_text("Мост через реку")
    await hands.press(page.locator("#watch .btn.main"))
    await page.wait_for_url("**/watches?done=created")


async def arrive(app: App, world: ReadingWorld, text: str) -> None:
    post = make_post(
        channel_id=world.city, message_id=60, text=text, posted_at=datetime.now(UTC) + timedelta(seconds=1)
    )
    await app.system.landing.land(make_page(post), Claim(world.city, 0))
    await app.system.watch_matching.raise_alerts([Derived(post, 1, "ru", ())])


async def open_the_alert(hands: Hands, base: str) -> None:
    page = hands.page
    await page.goto(f"{base}/alerts")
    alert = page.locator("details.alert", has_text="снова пустили грузовики")
    await hands.press(alert.locator("summary"))
    await hands.press(alert.locator("[data-act=open]"))
    await page.wait_for_url("**/post/**")
    await page.goto(f"{base}/alerts")
    await expect(alert).to_have_count(0)


async def change_the_watch(hands: Hands, base: str) -> None:
    """The form is there at once, and its preview follows by itself."""
    page = hands.page
    await page.goto(f"{base}/watches")
    await hands.press(page.get_by_role("link", name="Мосты").first)
    await expect(page.locator("#preview")).to_contain_text("Мост через реку")
    await hands.write(page.locator("#watch [name=quiet_from]"), "22:00")
    await hands.write(page.locator("#watch [name=quiet_until]"), "07:00")
    await hands.press(page.locator("#watch .btn.main"))
    await page.wait_for_url("**/watches?done=changed")


async def make_a_digest(hands: Hands, base: str) -> None:
    page = hands.page
    await page.goto(f"{base}/digest")
    await hands.press(page.locator("form[action$='/digest/make'] button"))
    await expect(page.locator("main article").first).to_be_visible()


async def ask(hands: Hands, base: str) -> None:
    page = hands.page
    await page.goto(f"{base}/ask")
    await hands.write(page.locator("form[action$='/ask'] [name=q]"), "Что нашёл осмотр опор?")
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_contain_text("нашёл трещины")
