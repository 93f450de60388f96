"""People on their way through the pages, in a real browser: English on a desktop, Russian on a phone."""

import re
import secrets
from datetime import UTC, datetime

import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.stores.postgres.posts.landing import Claim
from testkit.chromium import ENGLISH_DESKTOP, RUSSIAN_PHONE, Device, Hands, open_tab
from testkit.factories import make_page, make_post
from tests.conftest import Admin
from tests.web.browsing import every_way, log_in
from tests.web.operations_world import build_operations
from tests.web.reading_world import ReadingWorld


@every_way
@pytest.mark.long
async def test_a_reader_reads_everything_there_is_leaves_and_returns(
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
        await mark_and_save(hands, reading_world)
        await look_at_everything(hands, reading_world)
        await search_and_keep(hands)
        await page.goto(f"{base}/feed")
        await hands.press(page.locator(f"#p-{reading_world.ferries}-1 [data-act=mute]"))
        await expect(page.locator(f"#p-{reading_world.ferries}-1")).to_have_count(0)
        await leave_and_return(hands)
        await expect(page.locator(f"#p-{reading_world.ferries}-1")).to_have_count(0)
        await page.goto(f"{base}/saved")
        await expect(page.locator("article[data-post]")).to_have_count(1)


async def mark_and_save(hands: Hands, world: ReadingWorld) -> None:
    page = hands.page
    bridge = page.locator(f"#p-{world.copier}-1")
    await hands.press(bridge.locator("[data-act=read]"))
    await expect(page.locator("article.is-read")).to_have_count(1)
    await hands.press(page.locator("[data-act=undo]"))
    await expect(page.locator("article.is-read")).to_have_count(0)
    await hands.press(bridge.locator("[data-act=save]"))
    await expect(bridge.locator("[data-act=save]")).to_have_attribute("aria-pressed", "true")
    await hands.press(bridge.locator(".copies summary"))
    await expect(bridge.locator(".copies li")).to_have_count(1)


async def look_at_everything(hands: Hands, world: ReadingWorld) -> None:
    """A spoiler, an album, a file, a difference."""
    page = hands.page
    secret = page.get_by_text("The vote is on Thursday.").first
    await expect(secret).to_be_hidden()
    await hands.tick(page.locator(".spoiler").first)
    await expect(secret).to_be_visible()

    album = page.locator(f"#p-{world.ferries}-3 .album")
    await album.scroll_into_view_if_needed()
    await expect(album.locator("img")).to_have_count(4)
    await expect(album.locator("img").first).to_have_js_property("complete", value=True)
    assert await album.locator("img").first.evaluate("one => one.naturalWidth") > 0
    async with page.context.expect_page() as picture:
        await hands.press(album.locator("a").first)
    await (await picture.value).close()
    async with page.expect_download() as download:
        await hands.press(page.locator(f"#p-{world.ferries}-2 .filetile a"))
    assert (await (await download.value).path()).read_bytes() == b"every 25 minutes"

    await hands.press(page.locator(f"#p-{world.city}-1 .chip.warn"))
    await page.wait_for_url("**/post/**")
    await expect(page.locator("del")).to_contain_text("март")
    await expect(page.locator("ins")).to_contain_text("апрел")


async def search_and_keep(hands: Hands) -> None:
    """The box stands on every page of a desktop, and on a phone behind the tab."""
    page = hands.page
    tab = page.locator(".tabs a[href$='/search']")
    if await tab.is_visible():
        await expect(page.locator("#q")).to_be_hidden()
        await hands.press(tab)
        await page.wait_for_url("**/search")
    await hands.write(page.locator("#q"), "мост")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/search?q=*")
    await expect(page.locator("mark").first).to_be_visible()
    await hands.write(page.locator("aside input[name=name]"), "Мосты")
    await page.keyboard.press("Enter")
    await expect(page.locator("aside .rows a")).to_have_text("Мосты")
    await hands.press(page.locator("aside .rows a"))
    await expect(page.locator("mark").first).to_be_visible()


async def leave_and_return(hands: Hands) -> None:
    """Chooses a password, logs out, and logs in with it."""
    page, password = hands.page, "correct horse battery"
    await page.goto("/me")
    name = await page.locator("main h1").inner_text()
    await hands.write(page.locator("input[name=new]"), password)
    await page.keyboard.press("Enter")
    await expect(page.locator(".notice.ok")).to_be_visible()
    await hands.press(page.locator("form[action='/logout'] button"))
    await page.wait_for_url("**/login")
    await hands.write(page.locator("input[name=name]"), name)
    await hands.write(page.locator("input[name=password]"), password)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/today")


async def test_the_operators_numbers_refresh_by_themselves_and_a_lost_server_is_said(
    chromium: Chromium, address: str, app_with_files: App, admin: Admin
) -> None:
    async with open_tab(chromium, ENGLISH_DESKTOP, address) as page:
        base = await log_in(
            page, app_with_files, await build_operations(app_with_files, admin), role=MemberRole.OWNER
        )
        await page.goto(f"{base}/operations")
        await page.locator("#ended-processes summary").click()
        await expect(page.locator("#missing-worker")).to_have_count(0)
        await admin.execute(
            "UPDATE processes SET at = now() + CASE WHEN 'api' = ANY(roles) THEN 1 ELSE -1 END * interval "
            "'10 minutes'"
        )
        await expect(page.locator("#missing-worker")).to_be_visible(timeout=15_000)
        assert await page.locator("#ended-processes").evaluate(
            "details => details.open"
        )  # as the person left it
        assert await page.locator("[data-stale]").is_hidden()
        await page.context.set_offline(True)
        await expect(page.locator("[data-stale]")).to_be_visible(timeout=15_000)
        await page.context.set_offline(False)
        await expect(page.locator("[data-stale]")).to_be_hidden(timeout=15_000)


@pytest.mark.usefixtures("reading_world")
async def test_single_keys_read_undo_save_mute_search_and_move(
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
        await press("t")
        await page.wait_for_url("**/today")
        await press("j")
        await press("o")
        await page.wait_for_url("**/story/**")
        await page.locator(".cite a").first.press("Enter")
        await expect(page.locator(".timeline li:target")).to_be_visible()
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


async def test_a_person_goes_anywhere_by_name(
    chromium: Chromium,
    address: str,
    app_with_files: App,
    reader_tenant: TenantId,
    reading_world: ReadingWorld,
) -> None:
    async with open_tab(chromium, ENGLISH_DESKTOP, address) as page:
        await log_in(page, app_with_files, reader_tenant)
        await page.keyboard.press("Control+k")
        await expect(page.locator("#go a").first).to_be_visible()
        await page.keyboard.type("harbour")
        await expect(page.locator("#go [data-found] a").first).to_have_text("Harbour Lines")
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"**/channels/{reading_world.ferries}")


@pytest.mark.usefixtures("reading_world")
async def test_reading_and_searching_need_no_scripts(
    chromium: Chromium, address: str, app_with_files: App, reader_tenant: TenantId
) -> None:
    context = await chromium.new_context(base_url=address, java_script_enabled=False)
    page = await context.new_page()
    base = await log_in(page, app_with_files, reader_tenant)
    await page.locator("[data-act=read]").first.click()
    await expect(page.locator("article.is-read")).to_have_count(1)
    await page.locator("[data-act=undo]").click()
    await expect(page.locator("article.is-read")).to_have_count(0)
    await page.locator("#q").fill("мост")
    await page.locator("#q").press("Enter")
    await expect(page.locator("mark").first).to_be_visible()
    await page.goto(f"{base}/go?q=harbour")
    await expect(page.locator(".places a").first).to_have_text("Harbour Lines")
    await context.close()


async def test_new_posts_are_counted_and_never_inserted(
    chromium: Chromium,
    address: str,
    app_with_files: App,
    admin: Admin,
    reader_tenant: TenantId,
    reading_world: ReadingWorld,
) -> None:
    async with open_tab(chromium, ENGLISH_DESKTOP, address) as page:
        await log_in(page, app_with_files, reader_tenant)
        before = await page.locator("article[data-post]").count()
        await arrive(app_with_files, reading_world)
        button = page.locator("[data-live] a")
        await expect(button).to_have_text("1 new post")
        assert await page.locator("article[data-post]").count() == before
        await Hands(page, by_keys=True).press(button)
        await expect(page.get_by_text("Just arrived")).to_be_visible()
        await admin.execute("UPDATE sessions SET ended_at = now() WHERE ended_at IS NULL")
        await page.wait_for_url(re.compile("/(login|start)"))


async def test_an_owner_invites_a_viewer_who_reads_and_may_not_manage(
    chromium: Chromium,
    address: str,
    app_with_files: App,
    reader_tenant: TenantId,
    reading_world: ReadingWorld,
) -> None:
    async with (
        open_tab(chromium, ENGLISH_DESKTOP, address) as owner,
        open_tab(chromium, RUSSIAN_PHONE, address) as guest,
    ):
        base = await log_in(owner, app_with_files, reader_tenant)
        await owner.goto(f"{base}/members")
        await Hands(owner, by_keys=True).press(owner.get_by_role("button", name="Create a link"))
        link = await owner.locator(".copy").inner_text()
        await guest.goto(link)
        hands = Hands(guest, by_keys=True)
        await hands.write(guest.locator("input[name=name]"), f"Гость {secrets.token_hex(3)}")
        await hands.write(guest.locator("input[name=password]"), "correct horse battery")
        await hands.press(guest.locator("main button"))
        await guest.wait_for_url("**/today")
        await guest.goto(f"{base}/feed")
        await expect(guest.locator(f"#p-{reading_world.ferries}-1")).to_be_visible()
        assert await guest.locator(".rail [href$='/members']").count() == 0
        refused = await guest.goto(f"{base}/members")
        assert refused is not None
        assert refused.status == 403


async def arrive(app: App, world: ReadingWorld) -> None:
    post = make_post(
        channel_id=world.city,
        message_id=50,
        text="Just arrived",
        posted_at=datetime.now(UTC).replace(microsecond=0),
    )
    await app.system.landing.land(make_page(post), Claim(world.city, 0))
