"""Reading one page: plain HTTP first, a browser only where the page needs one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Protocol

from telegram_assistant.domain.understanding.pages import Extracted, LinkedPage, PageStatus, Unreadable
from telegram_assistant.pages.fetching import FetchedResponse, PageFetcher
from telegram_assistant.pages.guard import Target
from telegram_assistant.pages.readers import Readers
from telegram_assistant.pages.robots import Robots
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import PAGES_READ

log = get_logger()

MAX_INTERVAL_SECONDS = 60.0
"""A site that asks for more between two requests gets this."""
NOT_NOW = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}

type Render = Callable[[FetchedResponse], Awaitable[FetchedResponse]]
"""The same page as a browser shows it; Unreadable when the browser is away or the page is too much for it."""


class Turn(Protocol):
    """Take the next turn at a site: seconds until it, or None when it is too far away."""

    async def __call__(self, site: str, *, every_seconds: float, max_seconds: float) -> float | None: ...


class PageReader:
    """One per process. `render` is missing where there is no browser."""

    def __init__(
        self,
        *,
        fetcher: PageFetcher,
        robots: Robots,
        readers: Readers,
        turn: Turn,
        render: Render | None,
        every_seconds: float,
        max_seconds: float,
    ) -> None:
        self._fetcher = fetcher
        self._robots = robots
        self._readers = readers
        self._turn = turn
        self._render = render
        self._every_seconds = every_seconds
        self.max_seconds = max_seconds

    async def read(self, url: str) -> LinkedPage:
        """The page, or why it cannot be had; always within `max_seconds`. Busy when a store of ours is away."""
        try:
            async with asyncio.timeout(self.max_seconds) as limit:
                page = await self._read(url, limit)
        except Unreadable as error:
            page = LinkedPage(url=url, status=error.status, why=str(error))
        except TimeoutError:
            page = LinkedPage(url=url, status=PageStatus.TOO_SLOW, why=f"it took longer than {self.max_seconds:g} s")
        PAGES_READ.labels(page.status.value).inc()
        return page

    async def _read(self, url: str, limit: asyncio.Timeout) -> LinkedPage:
        async def before(target: Target) -> None:
            asked_seconds = await self._robots.allow(target)
            every_seconds = min(max(self._every_seconds, asked_seconds), MAX_INTERVAL_SECONDS)
            wait_seconds = await self._turn(target.host, every_seconds=every_seconds, max_seconds=_left(limit) / 2)
            if wait_seconds is None:
                raise Unreadable(PageStatus.WAITING, "many pages of its site wait to be read")
            await asyncio.sleep(wait_seconds)

        answer = await self._fetcher.get(url, before=before)
        _refuse_errors(answer)
        found = await self._readers.extract(answer)
        if not found.needs_browser or self._render is None:
            return _page(answer, found)
        try:
            rendered = await self._render(answer)
            return replace(_page(rendered, await self._readers.extract(rendered)), by_browser=True)
        except Unreadable as error:
            log.info("browser_could_not_read", why=str(error))
            return replace(_page(answer, found), why=str(error))


def _left(limit: asyncio.Timeout) -> float:
    deadline = limit.when()
    assert deadline is not None  # it was given one
    return max(deadline - asyncio.get_running_loop().time(), 0.0)


def _refuse_errors(answer: FetchedResponse) -> None:
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status in NOT_NOW:
        raise Unreadable(PageStatus.FAILED, f"its server answers {answer.status}")
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise Unreadable(PageStatus.GONE, f"its server answers {answer.status}")


def _page(answer: FetchedResponse, found: Extracted) -> LinkedPage:
    return LinkedPage(
        url=answer.target.url,
        status=PageStatus.READ if found.text else PageStatus.EMPTY,
        title=found.title,
        author=found.author,
        published_at=None if found.published_on is None else datetime.fromisoformat(found.published_on).replace(tzinfo=UTC),
        lang=found.lang,
        text=found.text,
        image_url=found.image_url,
        canonical_url=found.canonical_url,
        why="" if found.text else "nothing on it could be read",
    )
