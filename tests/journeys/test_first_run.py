"""The first run in a real browser: from an empty installation to the first posts,
with channels added in every way, and what an owner manages.
"""

import os
import re
from pathlib import Path

import asyncpg
import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import Page, expect

from testkit.chromium import (
    ALL_DEVICES,
    RUSSIAN_PHONE,
    Device,
    accessibility_violations,
    layout_troubles,
    open_chromium,
    open_tab,
)
from tests.journeys.first_run import FOLDER, LINES, LISTED, PASSWORD, WAYS, Installation, empty_installation
from tests.journeys.installation import until
from tests.web.operations_world import PAYLOAD

pytestmark = [pytest.mark.serial, pytest.mark.long]

JOURNEYS = (
    [(device, is_interrupted) for device in ALL_DEVICES for is_interrupted in (False, True)]
    if os.environ.get("ALL_DEVICES")
    else [(RUSSIAN_PHONE, False)]
)
"""CI goes the whole way once. `make journeys` goes it on all devices, and also with the ingest killed at
every step; a login is offered again half a minute after that.
"""
LEASE_ENDS_MS = 180_000
"""Long enough for the lease of a killed process on the account to end."""
API_HASH = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("device", "is_interrupted"),
    JOURNEYS,
    ids=lambda parameter: (
        parameter.name if isinstance(parameter, Device) else "killed" if parameter else "calm"
    ),
)
async def test_an_empty_installation_becomes_one_that_is_read_and_managed(
    migrated_database: dict[str, str], tmp_path: Path, device: Device, is_interrupted: bool
) -> None:
    async with (
        empty_installation(migrated_database, tmp_path, is_interrupted=is_interrupted) as made,
        open_chromium() as chromium,
    ):
        await until(lambda: answers(chromium, made), "the api answers")
        async with open_tab(chromium, device, made.address) as page:
            base = await become_owner(page, made)
            await enter_application(page, base, made)
            await log_in_to_telegram(page, base, made)
            await add_in_every_way(page, base, made)
            await read_the_first_posts(page, base)
            await choose_the_policy_after_its_price(page, base)
            await pause_and_reset_the_account(page, base)
            await replay_a_dead_letter(page, base, made)
            await create_and_suspend_a_tenant(page, base)
    assert made.kills == (5 if is_interrupted else 0)


async def answers(chromium: Chromium, made: Installation) -> bool:
    context = await chromium.new_context()
    try:
        return (await context.request.get(f"{made.address}/ready")).ok
    except Exception:  # noqa: BLE001 -- nobody listens yet
        return False
    finally:
        await context.close()


async def become_owner(page: Page, made: Installation) -> str:
    await page.goto("/")
    await page.wait_for_url("**/start")
    await page.goto(made.owner_link)
    await page.locator("input[name=name]").fill("Анна")
    await page.locator("input[name=password]").fill("correct horse battery")
    await page.locator("main button").click()
    await page.wait_for_url("**/setup")
    return "/t/" + page.url.partition("/t/")[2].partition("/")[0]


async def enter_application(page: Page, base: str, made: Installation) -> None:
    await open_until(page, f"{base}/setup", "input[name=api_id]")
    await page.locator("input[name=api_id]").fill("12345")
    await page.locator("input[name=api_hash]").fill(API_HASH)
    await page.locator("form[action$='/setup/application'] button").click()
    await expect(page.locator("#h-application .chip.ok")).to_be_visible()
    made.interrupt()
    await page.reload()
    await expect(page.locator("#h-application .chip.ok")).to_be_visible()
    await expect(page.locator("#application")).to_contain_text("12345")


async def log_in_to_telegram(page: Page, base: str, made: Installation) -> None:
    """Interrupted while the code is shown, while the password is asked for, and while Telegram checks it."""
    done, start = page.locator("#h-account .chip.ok"), page.locator("form:has(input[value=qr]) button")
    await open_until(page, f"{base}/setup", "form:has(input[value=qr]) button")
    await start.click()
    await expect(page.locator(".qr")).to_be_visible()
    assert [*await layout_troubles(page), *await accessibility_violations(page)] == []
    if made.interrupt():
        await expect(start).to_be_visible()
        await start.click()
    await scan(page, made)
    await expect(page.locator("input[name=answer]")).to_be_visible()
    if made.interrupt():
        await expect(start).to_be_visible()
        await start.click()
        await scan(page, made)
    await page.locator("input[name=answer]").fill(PASSWORD)
    await page.locator("form[action$='/answer'] button").click()
    if made.interrupt():
        await expect(done.or_(start)).to_be_visible()
        if await start.is_visible():
            await start.click()
            await scan(page, made)
            await page.locator("input[name=answer]").fill(PASSWORD)
            await page.locator("form[action$='/answer'] button").click()
    await expect(done).to_be_visible()


async def scan(page: Page, made: Installation) -> None:
    link = await page.locator("a[href^='tg:']").get_attribute("href")
    assert link is not None
    made.telegram.scan(link)


async def add_in_every_way(page: Page, base: str, made: Installation) -> None:
    await open_until(page, f"{base}/channels/add", "form[action$='/channels/joined'] button")
    await page.locator("form[action$='/channels/joined'] button").click()
    pick = page.locator("label.pick").filter(has_text="Channel picked")
    await expect(pick).to_be_visible()
    await pick.click()
    await page.locator("form[action$='/channels/joined/follow'] button.main").click()
    await page.wait_for_url("**/channels/requests")
    await page.goto(f"{base}/channels/add")
    await page.locator("textarea[name=text]").fill(LINES)
    await page.locator("form[action$='/channels/add'] button.main").click()
    await page.wait_for_url("**/channels/requests")
    await page.goto(f"{base}/channels/add")
    await page.locator("input[type=file]").set_input_files(
        {"name": "mine.csv", "mimeType": "text/csv", "buffer": LISTED.encode()}
    )
    await page.locator("form[action$='/channels/add'] button.main").click()
    await page.wait_for_url("**/channels/requests")
    await page.goto(f"{base}/channels/add")
    await page.locator("input[name=title]").fill(FOLDER)
    await page.locator("form[action$='/add/folder'] button.btn").click()
    await page.wait_for_url("**/channels/requests")
    made.interrupt()
    await expect(page.locator("#fates li .chip.warn")).to_have_count(0, timeout=LEASE_ENDS_MS)
    for way in WAYS:
        await expect(
            page.locator("#fates li:has(.chip.ok)").filter(has_text=f"Channel {way}")
        ).not_to_have_count(0)


async def read_the_first_posts(page: Page, base: str) -> None:
    for way in WAYS:
        await open_until(
            page, f"{base}/feed", f"article[data-post]:has-text('The first post, added by {way}.')"
        )
    await page.goto(f"{base}/setup")
    for step in ("application", "account", "channels"):
        await expect(page.locator(f"#h-{step} .chip.ok")).to_be_visible()


async def choose_the_policy_after_its_price(page: Page, base: str) -> None:
    await page.goto(f"{base}/ai")
    await page.locator("input[name=money]").fill("500")
    await page.locator("form[action$='/ai/budget'] button").click()
    await page.locator("form[action$='/ai/consent'] button").click()
    await page.locator("form[action$='/ai/policies'] input[name=channel]").first.check()
    await page.locator("form[action$='/ai/policies'] select").select_option("provider")
    await page.locator("form[action$='/ai/policies'] button").click()
    await expect(page.locator("#channels .chip.new")).to_have_count(1)
    await page.locator("form[action*='h-history'] button").click()
    paid = page.locator("button[name=paid][value=yes]")
    await expect(paid).to_contain_text(re.compile("RUB|₽"))
    await paid.click()
    await expect(page.locator(".notice.ok")).to_be_visible()


async def pause_and_reset_the_account(page: Page, base: str) -> None:
    await page.goto(f"{base}/accounts")
    await expect(page.locator("form[action$='/reset']")).to_have_count(0)
    for action in ("pause", "resume", "pause", "reset"):
        await page.locator(f"form[action$='/{action}'] button").click()
        await expect(page.locator(".notice.ok")).to_be_visible()
    await open_until(page, f"{base}/accounts", "article a.btn.main[href$='/setup']")
    await expect(page.locator("article")).to_have_count(1)


async def replay_a_dead_letter(page: Page, base: str, made: Installation) -> None:
    admin = await asyncpg.connect(made.environ["DATABASE_ADMIN_URL"])
    columns = "(stage, stream, entry_id, payload, reason, attempts)"
    await admin.execute(
        f"INSERT INTO dead_letters {columns} VALUES ('tagging', 'stream:posts:parsed', '1-0', $1, 'it "
        "fell', 3)",
        PAYLOAD,
    )
    await admin.close()
    await page.goto(f"{base}/operations")
    await page.locator("#waiting a[href$='/dead-letters']").click()
    await expect(page.locator("article.card")).to_contain_text("it fell")
    await page.locator("form[action$='/replay'] button").click()
    await expect(page.locator("article.card")).to_have_count(0)


async def create_and_suspend_a_tenant(page: Page, base: str) -> None:
    await page.goto(f"{base}/operations/tenants")
    await page.locator("form[action$='/create'] input[name=name]").fill("Редакция")
    await page.locator("form[action$='/create'] button").click()
    tenant = page.locator("article.card").filter(has_text="Редакция")
    await tenant.locator("summary").click()
    await tenant.locator("input[name=why]").fill("The bill was not paid")
    await tenant.locator("form[action$='/suspend'] button").click()
    await expect(tenant.locator(".chip.bad")).to_be_visible()
    await expect(tenant).to_contain_text("The bill was not paid")
    await tenant.locator("summary").click()
    await tenant.locator("form[action$='/resume'] button").click()
    await expect(tenant.locator(".chip.ok")).to_be_visible()


async def open_until(page: Page, path: str, selector: str) -> None:
    """Opens the page again until it shows that."""

    async def is_shown() -> bool:
        await page.goto(path)
        return await page.locator(selector).count() > 0

    await until(is_shown, f"{path} shows {selector}", seconds=120)
