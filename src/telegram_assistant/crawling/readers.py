"""Extracts pages in separate processes."""

import json

from telegram_assistant.crawling.fetching import FetchedResponse
from telegram_assistant.domain.understanding.pages import Extracted, PageStatus, Unreadable
from telegram_assistant.isolation import IsolatedProcesses
from telegram_assistant.reasons import Reason

AT_ONCE = 2
MAX_SECONDS = 5.0
MAX_PAGES = 500


class Readers:
    """The pool of extracting processes. One per process."""

    def __init__(
        self, *, at_once: int = AT_ONCE, max_seconds: float = MAX_SECONDS, max_pages: int = MAX_PAGES
    ) -> None:
        self._max_seconds = max_seconds
        self._isolated = IsolatedProcesses(
            "telegram_assistant.crawling.extraction",
            at_once=at_once,
            max_seconds=max_seconds,
            max_uses=max_pages,
        )

    async def extract(self, answer: FetchedResponse) -> Extracted:
        """Extract a page. Raises Unreadable if that takes too long or kills the process."""
        request = {"url": answer.target.url, "charset": answer.charset, "size": len(answer.body)}
        try:
            reply, _ = await self._isolated.ask(json.dumps(request), answer.body)
        except TimeoutError as error:
            raise Unreadable(
                PageStatus.FAILED,
                Reason(
                    "page_parsing_slow",
                    "parsing it takes longer than {max_seconds:g} s",
                    max_seconds=self._max_seconds,
                ),
            ) from error
        except (OSError, EOFError, ValueError) as error:
            raise Unreadable(
                PageStatus.FAILED, Reason("page_parsing_killed", "parsing it crashed the process")
            ) from error
        if reply is None:
            raise Unreadable(PageStatus.FAILED, Reason("page_not_parsed", "it cannot be parsed"))
        return Extracted(**reply)

    async def close(self) -> None:
        await self._isolated.close()
