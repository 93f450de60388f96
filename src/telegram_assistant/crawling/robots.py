"""The rules of sites' robots.txt, cached for a day.

The cache keeps the files as they came, up to a limit. A separate process, which can be killed, parses the
rules (`robots_parser.py`).
"""

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from telegram_assistant.crawling.fetching import PageFetcher
from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.isolation import IsolatedProcesses
from telegram_assistant.outbound.guard import Target
from telegram_assistant.outbound.guarded_network import NAME
from telegram_assistant.reasons import Reason

TTL_SECONDS = 86_400.0
TTL_AFTER_FAILURE_SECONDS = 600.0
"""How long a site is left alone if its robots.txt cannot be fetched or parsed (RFC 9309)."""
MAX_FILE_BYTES = 500 * 1024
"""The rest is ignored, as RFC 9309 allows."""
MAX_CACHE_BYTES = 5_000_000
SITE_BYTES = 2_000
"""Estimated size of a cache entry without its file."""
MAX_JUDGING_SECONDS = 5.0
MAX_USES = 1_000
ANY_KIND = ("text/plain", "text/html", "application/octet-stream", "")
NOTHING_FORBIDDEN = b""


@dataclass(slots=True)
class _SiteRules:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    file: bytes | None = None
    until: float = float("-inf")

    @property
    def size_bytes(self) -> int:
        return SITE_BYTES + len(self.file or b"")


class Robots:
    """Checks and caches robots.txt. One per process."""

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
        self._sites: OrderedDict[str, _SiteRules] = OrderedDict()
        self._parser = IsolatedProcesses(
            "telegram_assistant.crawling.robots_parser",
            at_once=1,
            max_seconds=max_judging_seconds,
            max_uses=MAX_USES,
        )

    async def allow(self, target: Target) -> float:
        """Return how many seconds the site wants between two requests.

        Raises Unreadable if it forbids this one.
        """
        site = await self._load_site(target)
        if site.file is None:
            raise Unreadable(
                PageStatus.FAILED,
                Reason("robots_not_fetched", "the robots.txt of its site cannot be fetched"),
            )
        if site.file == NOTHING_FORBIDDEN:
            return 0.0
        request = {"url": target.url, "name": NAME, "size": len(site.file)}
        try:
            reply, _ = await self._parser.ask(json.dumps(request), site.file)
        except (OSError, EOFError, ValueError) as error:  # TimeoutError is an OSError
            site.file, site.until = None, self._clock() + TTL_AFTER_FAILURE_SECONDS
            raise Unreadable(
                PageStatus.FAILED, Reason("robots_not_parsed", "the robots.txt of its site cannot be parsed")
            ) from error
        if not reply["allowed"]:
            raise Unreadable(
                PageStatus.ROBOTS,
                Reason("robots_forbid", "its site forbids programs to read it (robots.txt)"),
            )
        return float(reply["delay"])

    async def close(self) -> None:
        await self._parser.close()

    @property
    def cached_bytes(self) -> int:
        return sum(site.size_bytes for site in self._sites.values())

    async def _load_site(self, target: Target) -> _SiteRules:
        origin = f"{target.scheme}://{target.authority}"
        site = self._sites.setdefault(origin, _SiteRules())
        self._sites.move_to_end(origin)
        async with site.lock:
            if self._clock() >= site.until:
                site.file, ttl_seconds = await self._fetch(origin)
                site.until = self._clock() + ttl_seconds
                self._evict_oldest()
            return site

    def _evict_oldest(self) -> None:
        size_bytes = self.cached_bytes
        while size_bytes > self._max_cache_bytes:
            _, site = self._sites.popitem(last=False)
            size_bytes -= site.size_bytes

    async def _fetch(self, origin: str) -> tuple[bytes | None, float]:
        try:
            answer = await self._fetcher.get(
                f"{origin}/robots.txt",
                before=_allow_at_once,
                accept="text/plain",
                kinds=ANY_KIND,
                first_bytes=MAX_FILE_BYTES,
            )
        except Unreadable as error:
            if error.status == PageStatus.BLOCKED:
                raise
            return None, TTL_AFTER_FAILURE_SECONDS
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return None, TTL_AFTER_FAILURE_SECONDS
        if (
            answer.status >= HTTPStatus.BAD_REQUEST or answer.content_type == "text/html"
        ):  # most often a page that says "not found"
            return NOTHING_FORBIDDEN, TTL_SECONDS
        return answer.body, TTL_SECONDS


async def _allow_at_once(_target: Target) -> None:
    """Do not wait or check: robots.txt is fetched before anything else."""
