"""What sites ask of programs in their robots.txt, kept for a day.

Kept are the files as they came, so many bytes of them; a process that can be killed reads their rules (`robots_parser.py`).
"""

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.isolation import Isolated
from telegram_assistant.pages.fetching import NAME, PageFetcher
from telegram_assistant.pages.guard import Target

KEPT_SECONDS = 86_400.0
KEPT_AFTER_TROUBLE_SECONDS = 600.0
"""A site whose robots.txt cannot be had, or read, is left alone for so long (RFC 9309)."""
MAX_FILE_BYTES = 500 * 1024
"""What comes later is ignored, as RFC 9309 allows."""
MAX_CACHE_BYTES = 5_000_000
SITE_BYTES = 2_000
"""What a site costs beside its file."""
MAX_JUDGING_SECONDS = 5.0
MAX_USES = 1_000
ANY_KIND = ("text/plain", "text/html", "application/octet-stream", "")
NOTHING_FORBIDDEN = b""


@dataclass(slots=True)
class _Site:
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    file: bytes | None = None
    until: float = float("-inf")

    @property
    def size_bytes(self) -> int:
        return SITE_BYTES + len(self.file or b"")


class Robots:
    """One per process."""

    def __init__(
        self,
        fetcher: PageFetcher,
        *,
        clock: Callable[[], float] = time.monotonic,
        max_cache_bytes: int = MAX_CACHE_BYTES,
        max_judging_seconds: float = MAX_JUDGING_SECONDS,
    ) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._max_cache_bytes = max_cache_bytes
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._parser = Isolated("telegram_assistant.pages.robots_parser", at_once=1, max_seconds=max_judging_seconds, max_uses=MAX_USES)

    async def allow(self, target: Target) -> float:
        """How many seconds the site wants between two requests; Unreadable where it wants none of ours."""
        site = await self._site_of(target)
        if site.file is None:
            raise Unreadable(PageStatus.FAILED, "the robots.txt of its site cannot be had")
        if site.file == NOTHING_FORBIDDEN:
            return 0.0
        asked = {"url": target.url, "name": NAME, "size": len(site.file)}
        try:
            found, _ = await self._parser.ask(json.dumps(asked), site.file)
        except (OSError, EOFError, ValueError) as error:  # TimeoutError is an OSError
            site.file, site.until = None, self._clock() + KEPT_AFTER_TROUBLE_SECONDS
            raise Unreadable(PageStatus.FAILED, "the robots.txt of its site cannot be read") from error
        if not found["allowed"]:
            raise Unreadable(PageStatus.ROBOTS, "its site asks programs to stay away (robots.txt)")
        return float(found["delay"])

    async def close(self) -> None:
        await self._parser.close()

    @property
    def cached_bytes(self) -> int:
        return sum(site.size_bytes for site in self._sites.values())

    async def _site_of(self, target: Target) -> _Site:
        origin = f"{target.scheme}://{target.authority}"
        site = self._sites.setdefault(origin, _Site())
        self._sites.move_to_end(origin)
        async with site.asking:
            if self._clock() >= site.until:
                site.file, kept_seconds = await self._asked(origin)
                site.until = self._clock() + kept_seconds
                self._forget_oldest()
            return site

    def _forget_oldest(self) -> None:
        size_bytes = self.cached_bytes
        while size_bytes > self._max_cache_bytes:
            _, site = self._sites.popitem(last=False)
            size_bytes -= site.size_bytes

    async def _asked(self, origin: str) -> tuple[bytes | None, float]:
        try:
            answer = await self._fetcher.get(
                f"{origin}/robots.txt", before=_straight_away, accept="text/plain", kinds=ANY_KIND, first_bytes=MAX_FILE_BYTES
            )
        except Unreadable as error:
            if error.status == PageStatus.BLOCKED:
                raise
            return None, KEPT_AFTER_TROUBLE_SECONDS
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return None, KEPT_AFTER_TROUBLE_SECONDS
        if answer.status >= HTTPStatus.BAD_REQUEST or answer.content_type == "text/html":  # most often a page that says that there is no such file
            return NOTHING_FORBIDDEN, KEPT_SECONDS
        return answer.body, KEPT_SECONDS


async def _straight_away(_target: Target) -> None:
    """robots.txt is what is asked for before anything else."""
