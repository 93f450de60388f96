"""The installed Chromium, driven through the pages as a person would."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Locator, Page, async_playwright, expect

from testkit.checkouts import CHECKOUT

AXE = CHECKOUT / "browser/node_modules/axe-core/axe.min.js"
PATIENCE_MS = 60_000
"""On a busy machine; nothing waits longer than it must."""
MAX_TABS = 400
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@dataclass(frozen=True, slots=True)
class Device:
    """A screen, a language and a theme."""

    name: str
    viewport: dict[str, int]
    locale: str
    theme: str = "light"


ENGLISH_DESKTOP = Device("english-desktop", DESKTOP, "en-GB")
RUSSIAN_PHONE = Device("russian-phone", PHONE, "ru-RU")
DEVICES = (ENGLISH_DESKTOP, RUSSIAN_PHONE)
ALL_DEVICES = tuple(
    Device(f"{language}-{screen}-{theme}", viewport, locale, theme)
    for language, locale in (("english", "en-GB"), ("russian", "ru-RU"))
    for screen, viewport in (("desktop", DESKTOP), ("phone", PHONE))
    for theme in ("light", "dark")
)


@dataclass(frozen=True, slots=True)
class Hands:
    """A person's hands at a page: with a mouse, or with the keyboard alone."""

    page: Page
    by_keys: bool

    async def press(self, target: Locator) -> None:
        """Presses a button, follows a link, opens a fold."""
        if self.by_keys:
            await self.reach(target)
            await self.page.keyboard.press("Enter")
        else:
            await target.click()

    async def tick(self, label: Locator) -> None:
        """Ticks the box inside a label."""
        if self.by_keys:
            await self.reach(label.locator("input"))
            await self.page.keyboard.press("Space")
        else:
            await label.click()

    async def write(self, target: Locator, text: str) -> None:
        if self.by_keys:
            await self.reach(target)
            await self.page.keyboard.type(text)
        else:
            await target.fill(text)

    async def reach(self, target: Locator) -> None:
        """Goes on with Tab until the target has the focus. Fails if it is never reached."""
        await expect(target).to_be_visible()
        for _ in range(MAX_TABS):
            if await target.evaluate("one => one === document.activeElement"):
                return
            await self.page.keyboard.press("Tab")
        raise AssertionError(f"the keyboard does not reach {target}")


@asynccontextmanager
async def open_chromium() -> AsyncIterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def open_tab(browser: Browser, device: Device, base_url: str) -> AsyncIterator[Page]:
    """A tab of a new person: no cookies. Errors of scripts and violations of the policy fail the test."""
    context = await browser.new_context(
        base_url=base_url,
        viewport=device.viewport,  # type: ignore[arg-type]  # two numbers
        locale=device.locale,
        color_scheme="dark" if device.theme == "dark" else "light",
        timezone_id="Europe/Moscow",
        bypass_csp=False,
    )
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "console",
        lambda message: troubles.append(message.text) if "Content Security Policy" in message.text else None,
    )
    try:
        yield page
    finally:
        await context.close()
    assert troubles == []


async def accessibility_violations(page: Page) -> list[str]:
    """The violations that axe-core finds, of any severity.

    The debugger loads its script, so the content security policy of the page stays as it is.
    """
    await page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    report = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in report["violations"]
        for node in violation["nodes"]
    ]


async def layout_troubles(page: Page) -> list[str]:
    """Finds a page that scrolls sideways, and text that is cut off without an ellipsis."""
    troubles: list[str] = await page.evaluate(
        """() => {
            const found = [];
            const root = document.documentElement;
            if (root.scrollWidth > root.clientWidth) {
                const isWide = (one) => !one.closest(".scroll")
                    && one.getBoundingClientRect().right > root.clientWidth + 1;
                const last = [...document.querySelectorAll("body *")].filter(isWide).at(-1);
                found.push(`the page is ${root.scrollWidth} px wide: ${last?.tagName}.${last?.className} ${
                    last?.textContent.slice(0, 60)}`);
            }
            for (const one of document.querySelectorAll("main *, nav *, aside *")) {
                const style = getComputedStyle(one);
                if (one.closest(".sr, .folded, .scroll, svg, pre") || style.visibility === "hidden") continue;
                const isCut = ["hidden", "clip"].includes(style.overflowX)
                    && one.scrollWidth > one.clientWidth + 1;
                if (!isCut || !one.clientWidth || style.textOverflow === "ellipsis") continue;
                found.push(`${one.tagName}.${one.className}: ${one.textContent.slice(0, 60)}`);
            }
            return found;
        }"""
    )
    return troubles


async def save_screenshot(page: Page, folder: Path, name: str) -> None:
    """Saves a screenshot of the whole page with all its pictures. The tabs are below everything."""
    await page.evaluate(
        """() => {
            const whole = new CSSStyleSheet();
            whole.replaceSync(
                ".post { content-visibility: visible !important; } .tabs { position: static !important; }"
            );
            document.adoptedStyleSheets.push(whole);
            document.querySelectorAll("img").forEach((one) => { one.loading = "eager"; });
        }"""
    )
    for picture in await page.locator("img:visible").all():
        await expect(picture).to_have_js_property("complete", value=True)
    await page.screenshot(path=folder / f"{name}.png", full_page=True)
