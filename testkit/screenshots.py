"""Pictures of every page of the demo, on every device: python -m testkit.screenshots FOLDER."""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from playwright.async_api import Browser, Page

from telegram_assistant.web.page import Page as WebPage
from telegram_assistant.web.site import OF_TENANT
from testkit.chromium import (
    ALL_DEVICES,
    Device,
    accessibility_violations,
    layout_troubles,
    open_chromium,
    open_tab,
    save_screenshot,
)
from testkit.demos import OpenApi, running_demo
from testkit.engines import free_port

NO_PICTURES = {
    "/search/suggest",
    "/go/found",
    "/setup/login",
    "/operations/numbers",
    "/watches/preview",
    "/ask/stream",
    "/ask/brief",
    "/copy",
    "/lists/add",
}
"""Parts of pages, and forms that another page opens."""
POSTS = {
    "album": ".album:not(.one)",
    "edited": ".chip.warn",
    "copies": ".copies",
    "spoiler": ".spoiler",
    "file": ".filetile",
}
FEED_PAGES = 12
SEARCH = "/search?q=has:image"
QUESTION, WATCHED = "Что+с+мостом%3F", "мост"


async def addresses(page: Page) -> dict[str, str]:
    """The address of every page, with posts that show something special."""
    base = page.url.removesuffix("/feed")
    plain = [
        web_page.path
        for web_page in OF_TENANT
        if isinstance(web_page, WebPage) and "{" not in web_page.path and web_page.path not in NO_PICTURES
    ]
    urls = {path.strip("/").replace("/", "-"): base + path for path in plain} | {
        "found": base + SEARCH,
        "feed-oldest": f"{base}/feed?order=oldest",
    }
    urls |= {"me": "/me", "not-found": "/nothing/here"}
    async for name, post in special_posts(page):
        urls.setdefault(f"post-{name}", post)
    await page.goto(f"{base}/today?window=week")
    if await page.locator("article.story").count():
        urls["story"] = await page.locator("article.story").first.get_attribute("data-post") or ""
    urls |= {
        "answered": f"{base}/ask?q={QUESTION}",
        "watch-previewed": f"{base}/watches/new?kind=words&query={WATCHED}",
    }
    await page.goto(f"{base}/channels")
    if await page.locator("main tbody a").count():
        urls["channel"] = await page.locator("main tbody a").first.get_attribute("href") or ""
    await page.goto(f"{base}/tags")
    if await page.locator("main tbody a").count():
        urls["tag"] = await page.locator("main tbody a").first.get_attribute("href") or ""
    return urls


async def special_posts(page: Page) -> AsyncIterator[tuple[str, str]]:
    for _ in range(FEED_PAGES):
        for name, selector in POSTS.items():
            post = page.locator(f"article[data-post]:has({selector})").first
            if await post.count():
                yield name, await post.get_attribute("data-post") or ""
        more = page.locator("a[rel=next]")
        if not await more.count():
            return
        await more.click()
        await page.wait_for_load_state()


async def take_all(api: OpenApi, folder: Path) -> list[str]:
    """Saves the pictures. Returns what does not fit or is not accessible."""
    async with open_chromium() as chromium:
        async with open_tab(chromium, ALL_DEVICES[0], api.address) as page:
            await page.goto(api.login)
            await page.locator("main button").click()
            await page.wait_for_url("**/t/**")
            await page.goto(page.url.rpartition("/")[0] + "/feed")
            session = await page.context.cookies()
            pages = await addresses(page)
        troubles = []
        for device in ALL_DEVICES:
            troubles += await take(chromium, device, api, folder, pages, session)
    return troubles


async def take(
    chromium: Browser,
    device: Device,
    api: OpenApi,
    folder: Path,
    pages: dict[str, str],
    session: list,  # type: ignore[type-arg]  # Playwright's cookies
) -> list[str]:
    troubles = []
    async with open_tab(chromium, device, api.address) as page:
        await page.context.add_cookies([cookie for cookie in session if cookie["name"] != "tga_zone"])
        for name, address in pages.items():
            await page.goto(address)
            troubles += [
                f"{device.name} {name}: {trouble}"
                for trouble in [*await layout_troubles(page), *await accessibility_violations(page)]
            ]
            await save_screenshot(page, folder, f"{name}.{device.name}")
        print(f"{device.name}: {len(pages)} pictures", flush=True)
    return troubles


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as place,
        running_demo(Path(place) / "demo", os.environ, "--port", str(free_port())) as demo,
    ):
        troubles = asyncio.run(take_all(demo.until_open(), folder))
    print("\n".join(troubles) or "everything fits, axe finds nothing")
    sys.exit(1 if troubles else 0)


if __name__ == "__main__":
    main()
