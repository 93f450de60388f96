"""The process with the browser: `python -m telegram_assistant.crawling.crawler`, installed with the extra
`crawler`.

It has no database and no secrets, and should run in its own container.
Crawl4AI drives the browser over CDP. The browser is replaced after some hundred pages,
because it never frees all its memory.
"""

import asyncio
import os
import signal
import sys

from crawl4ai import AsyncWebCrawler, BrowserConfig, CacheMode, CrawlerRunConfig

from telegram_assistant.crawling.browser import running_browser
from telegram_assistant.crawling.rendering import serving
from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.errors import CannotStart, SettingsError
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import CrawlSettings, read_group

DEFAULT_ADDRESS = "127.0.0.1:8013"
"""Listening address if CRAWLER_ADDRESS is empty."""
MAX_PAGES = 300
MAX_REASON_LENGTH = 200
PAGE_MILLISECONDS = 15_000
SETTLE_SECONDS = 0.5
"""Time for scripts after the page has loaded."""


async def run(settings: CrawlSettings, guard: Guard, stopping: asyncio.Event) -> None:
    """Serve until `stopping` is set, with a new browser every MAX_PAGES pages."""
    while not stopping.is_set():
        await _with_one_browser(settings, guard, stopping)


async def _with_one_browser(settings: CrawlSettings, guard: Guard, stopping: asyncio.Event) -> None:
    is_worn_out = asyncio.Event()
    pages = 0
    run_config = CrawlerRunConfig(
        cache_mode=CacheMode.BYPASS,
        page_timeout=PAGE_MILLISECONDS,
        delay_before_return_html=SETTLE_SECONDS,
        verbose=False,
        log_console=False,
    )
    async with running_browser(guard, settings.browser_path) as browser:
        config = BrowserConfig(
            browser_mode="cdp",
            cdp_url=browser.cdp_url,
            create_isolated_context=True,
            ignore_https_errors=False,
            verbose=False,
        )
        async with AsyncWebCrawler(config=config) as crawler:

            async def load(url: str) -> tuple[str, str]:
                nonlocal pages
                try:
                    result = await crawler.arun(url, config=run_config)
                finally:
                    pages += 1
                    if pages >= MAX_PAGES:
                        is_worn_out.set()
                if (
                    not result.html
                ):  # Crawl4AI calls small pages unsuccessful too; the caller judges their content
                    raise Unreadable(
                        PageStatus.FAILED,
                        Reason(
                            "page_browser_failed",
                            "the browser could not open it: {error}",
                            error=str(result.error_message)[:MAX_REASON_LENGTH],
                        ),
                    )
                return result.redirected_url or url, result.html

            async with serving(
                load,
                settings.crawler_address or DEFAULT_ADDRESS,
                guard=guard,
                max_bytes=settings.max_bytes,
                protection=browser.protection,
            ) as port:
                announcement = f"reading pages on port {port}; {browser.protection}"
                print(announcement, file=sys.stderr, flush=True)  # noqa: T201 -- its only output
                waits = [asyncio.create_task(event.wait()) for event in (is_worn_out, stopping)]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for wait in waits:
                    wait.cancel()


async def main() -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    await run(read_group(CrawlSettings, os.environ), Guard(), stopping)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (CannotStart, SettingsError) as error:
        sys.exit(str(error))
