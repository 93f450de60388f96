"""What sites ask of programs in their robots.txt, kept for a day."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from protego import Protego

from telegram_assistant.domain.pages import PageStatus
from telegram_assistant.errors import Unreadable
from telegram_assistant.pages.fetching import NAME, Fetcher
from telegram_assistant.pages.guard import Target

KEPT_SECONDS = 86_400.0
KEPT_AFTER_TROUBLE_SECONDS = 600.0
"""A site whose robots.txt cannot be had is left alone for so long (RFC 9309)."""
MOST_SITES = 5_000
ANY_KIND = ("text/plain", "text/html", "application/octet-stream", "")
NOTHING_FORBIDDEN = ""


@dataclass(slots=True)
class _Site:
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    rules: Protego | None = None
    until: float = float("-inf")


class Robots:
    """One per process."""

    def __init__(self, fetcher: Fetcher, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._sites: OrderedDict[str, _Site] = OrderedDict()

    async def allow(self, target: Target) -> float:
        """How many seconds the site wants between two requests; Unreadable where it wants none of ours."""
        rules = await self._rules_of(target)
        if not rules.can_fetch(target.url, NAME):
            raise Unreadable(PageStatus.ROBOTS, "its site asks programs to stay away (robots.txt)")
        return float(rules.crawl_delay(NAME) or 0.0)

    async def _rules_of(self, target: Target) -> Protego:
        origin = f"{target.scheme}://{target.authority}"
        site = self._sites.setdefault(origin, _Site())
        self._sites.move_to_end(origin)
        while len(self._sites) > MOST_SITES:
            self._sites.popitem(last=False)
        async with site.asking:
            if self._clock() >= site.until:
                text, kept_seconds = await self._asked(origin)
                site.rules = None if text is None else Protego.parse(text)
                site.until = self._clock() + kept_seconds
            if site.rules is None:
                raise Unreadable(PageStatus.FAILED, "the robots.txt of its site cannot be had")
            return site.rules

    async def _asked(self, origin: str) -> tuple[str | None, float]:
        try:
            answer = await self._fetcher.get(f"{origin}/robots.txt", before=_straight_away, accept="text/plain", kinds=ANY_KIND)
        except Unreadable as error:
            if error.status == PageStatus.BLOCKED:
                raise
            return None, KEPT_AFTER_TROUBLE_SECONDS
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return None, KEPT_AFTER_TROUBLE_SECONDS
        if answer.status >= HTTPStatus.BAD_REQUEST or answer.content_type == "text/html":  # most often a page that says that there is no such file
            return NOTHING_FORBIDDEN, KEPT_SECONDS
        return answer.body.decode("utf-8", "replace"), KEPT_SECONDS


async def _straight_away(_target: Target) -> None:
    """robots.txt is what is asked for before anything else."""
