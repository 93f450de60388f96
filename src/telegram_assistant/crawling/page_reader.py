"""Reads one page: by plain HTTP first, and by a browser only if the page needs one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Protocol

from telegram_assistant.crawling.fetching import FetchedResponse, PageFetcher
from telegram_assistant.crawling.readers import Readers
from telegram_assistant.crawling.robots import Robots
from telegram_assistant.domain.understanding.pages import Extracted, LinkedPage, PageStatus, Unreadable
from telegram_assistant.outbound.guard import Target
from telegram_assistant.reasons import Reason
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import PAGES_READ

log = get_logger()

MAX_INTERVAL_SECONDS = 60.0
"""Upper limit for the interval that a site may demand between two requests."""
TRANSIENT_STATUSES = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
PAGE_EMPTY = Reason("page_empty", "nothing on it could be read")

type Render = Callable[[FetchedResponse], Awaitable[FetchedResponse]]
"""Renders the same page in a browser.

Raises Unreadable if the browser is unreachable or cannot render the page.
"""


class Turn(Protocol):
    """Takes the next turn at a site. Returns the seconds until it, or None if it is too far away."""

    async def __call__(self, site: str, *, every_seconds: float, max_seconds: float) -> float | None: ...


class PageReader:
    """Reads pages. One per process. `render` is None if there is no browser."""

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
        """Read a page, or return why it cannot be read; always within `max_seconds`.

        Raises Busy if a store of ours is unreachable.
        """
        try:
            async with asyncio.timeout(self.max_seconds) as limit:
                page = await self._read_within(url, limit)
        except Unreadable as error:
            page = LinkedPage(url=url, status=error.status, why=error.reason)
        except TimeoutError:
            page = LinkedPage(url=url, status=PageStatus.TOO_SLOW, why=_too_slow(self.max_seconds))
        PAGES_READ.labels(page.status.value).inc()
        return page

    async def _read_within(self, url: str, limit: asyncio.Timeout) -> LinkedPage:
        async def before(target: Target) -> None:
            demanded_seconds = await self._robots.allow(target)
            every_seconds = min(max(self._every_seconds, demanded_seconds), MAX_INTERVAL_SECONDS)
            wait_seconds = await self._turn(
                target.host, every_seconds=every_seconds, max_seconds=_remaining_seconds(limit) / 2
            )
            if wait_seconds is None:
                raise Unreadable(
                    PageStatus.WAITING,
                    Reason("page_waits_for_site", "many pages of the same site wait to be read"),
                )
            await asyncio.sleep(wait_seconds)

        answer = await self._fetcher.get(url, before=before)
        _refuse_errors(answer)
        extracted_page = await self._readers.extract(answer)
        if not extracted_page.needs_browser or self._render is None:
            return _page(answer, extracted_page)
        try:
            rendered_response = await self._render(answer)
            return replace(
                _page(rendered_response, await self._readers.extract(rendered_response)), by_browser=True
            )
        except Unreadable as error:
            log.info("browser_could_not_read", why=str(error))
            return replace(_page(answer, extracted_page), why=error.reason)


def _too_slow(max_seconds: float) -> Reason:
    return Reason("page_too_slow", "it took longer than {max_seconds:g} s", max_seconds=max_seconds)


def _remaining_seconds(limit: asyncio.Timeout) -> float:
    deadline = limit.when()
    assert deadline is not None  # the timeout has a deadline
    return max(deadline - asyncio.get_running_loop().time(), 0.0)


def _refuse_errors(answer: FetchedResponse) -> None:
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status in TRANSIENT_STATUSES:
        raise Unreadable(
            PageStatus.FAILED,
            Reason("page_server_answers", "its server answers {status}", status=answer.status),
        )
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise Unreadable(
            PageStatus.GONE,
            Reason("page_server_answers", "its server answers {status}", status=answer.status),
        )


def _page(answer: FetchedResponse, extracted_page: Extracted) -> LinkedPage:
    return LinkedPage(
        url=answer.target.url,
        status=PageStatus.READ if extracted_page.text else PageStatus.EMPTY,
        title=extracted_page.title,
        author=extracted_page.author,
        published_at=None
        if extracted_page.published_on is None
        else datetime.fromisoformat(extracted_page.published_on).replace(tzinfo=UTC),
        lang=extracted_page.lang,
        text=extracted_page.text,
        image_url=extracted_page.image_url,
        canonical_url=extracted_page.canonical_url,
        why=None if extracted_page.text else PAGE_EMPTY,
    )
