"""The web site that shows previews: one small request at a time, in turn, to this address and no other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Protocol

import httpx

from telegram_assistant import __version__
from telegram_assistant.errors import AccessLost, Flooded, NoAnswer, Unanswered, UnknownMarkup
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import PreviewSettings
from telegram_assistant.telemetry.metrics import PREVIEW_REQUESTS
from telegram_assistant.telemetry.waits import note_wait

MAX_BYTES = 4 * 1024 * 1024
"""Pages are a tenth of it."""
ANSWER_SECONDS = 20.0
USUAL_WAIT_SECONDS = 300.0
MAX_WAIT_SECONDS = 86_400.0
HEADERS = {
    "User-Agent": f"telegram-assistant/{__version__} (self-hosted reader of public previews)",
    "Accept": "text/html",
    "Accept-Language": "en",
    "Accept-Encoding": "identity",  # an uncompressed body cannot grow while it is decompressed
}


class Turns(Protocol):
    """Orders requests over all processes of an installation."""

    async def next(self) -> None:
        """Wait until one request may be sent.

        Raises Flooded while the site wants none, and LeaseLost if another process reads.
        """

    async def rest(self, seconds: float) -> None:
        """Send no request for so long, because the site demands it."""


class Site:
    """The site. Built by `open_site`."""

    def __init__(self, client: httpx.AsyncClient, turns: Turns) -> None:
        self._client = client
        self._turns = turns

    async def page(self, username: str, **query: int) -> str:
        """Request `/s/NAME`.

        Raises AccessLost if it leads elsewhere, and Flooded or Unanswered if it should be repeated later.
        """
        await self._turns.next()
        try:
            async with (
                asyncio.timeout(ANSWER_SECONDS),
                self._client.stream("GET", f"/s/{username}", params=query) as answer,
            ):
                await self._check(answer, username)
                html = await _body(answer)
        except (httpx.HTTPError, TimeoutError) as error:
            PREVIEW_REQUESTS.labels("failed").inc()
            reason = Reason(
                "previews_silent",
                "{host} does not answer ({error})",
                host=self._client.base_url.host,
                error=type(error).__name__,
            )
            raise Unanswered(reason, kind=_kind_of(error), retry_after_seconds=10) from error
        PREVIEW_REQUESTS.labels("ok").inc()
        return html

    async def _check(self, answer: httpx.Response, username: str) -> None:
        status = answer.status_code
        if status == HTTPStatus.OK:
            return
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            PREVIEW_REQUESTS.labels("flood").inc()
            wait_seconds = _seconds(answer.headers.get("Retry-After", ""))
            await self._turns.rest(wait_seconds)
            note_wait(wait_seconds)
            raise Flooded(
                Reason(
                    "previews_flooded",
                    "{host} asks for a pause of {seconds:.0f} s",
                    host=self._client.base_url.host,
                    seconds=wait_seconds,
                ),
                retry_after_seconds=wait_seconds,
            )
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            PREVIEW_REQUESTS.labels("failed").inc()
            raise Unanswered(
                Reason(
                    "previews_answer_with",
                    "{host} answers {status}",
                    host=self._client.base_url.host,
                    status=status,
                ),
                kind=NoAnswer.NETWORK,
                retry_after_seconds=60,
            )
        PREVIEW_REQUESTS.labels("refused").inc()
        raise AccessLost(
            Reason(
                "preview_not_public",
                "@{username} shows no public preview: it is private or renamed, or its owner turned the "
                "preview off",
                username=username,
            )
        )


@asynccontextmanager
async def open_site(settings: PreviewSettings, turns: Turns) -> AsyncIterator[Site]:
    """Open the site. Redirects are not followed, and proxies from the environment are not used."""
    async with httpx.AsyncClient(
        base_url=settings.url,
        headers=HEADERS,
        timeout=ANSWER_SECONDS,
        follow_redirects=False,
        trust_env=False,
    ) as client:
        yield Site(client, turns)


async def _body(answer: httpx.Response) -> str:
    if answer.headers.get("Content-Encoding", "identity") != "identity" or not answer.headers.get(
        "Content-Type", ""
    ).startswith("text/html"):
        raise UnknownMarkup(Reason("markup_not_plain", "the answer is not a plain page"))
    body = bytearray()
    async for piece in answer.aiter_raw():
        body += piece
        if len(body) > MAX_BYTES:
            raise UnknownMarkup(Reason("markup_too_large", "the page is larger than any preview"))
    return body.decode("utf-8", "replace")


def _kind_of(error: Exception) -> NoAnswer:
    if isinstance(error, (TimeoutError, httpx.TimeoutException)):
        return NoAnswer.TIMEOUT
    return NoAnswer.CONNECTION if isinstance(error, httpx.ConnectError) else NoAnswer.NETWORK


def _seconds(retry_after: str) -> float:
    """Parse Retry-After. Forms other than a number of seconds count as missing."""
    wait_seconds = (
        float(retry_after) if retry_after.isascii() and retry_after.isdecimal() else USUAL_WAIT_SECONDS
    )
    return min(max(wait_seconds, 1.0), MAX_WAIT_SECONDS)
