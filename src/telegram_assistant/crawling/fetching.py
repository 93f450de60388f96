"""Requests one page over plain HTTP: guarded connection, limited size and time,
redirects followed by hand.
"""

import ssl
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urldefrag, urljoin

import httpcore

from telegram_assistant import __version__
from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.outbound.guard import Guard, Target
from telegram_assistant.outbound.guarded_network import NAME, GuardedNetwork
from telegram_assistant.reasons import Reason

USER_AGENT = f"{NAME}/{__version__} (reads linked pages; obeys robots.txt)"
MAX_REDIRECTS = 5
MAX_CONNECTIONS = 100
SILENCE_SECONDS = 10.0
"""How long a server may be silent before it is given up."""
READABLE = ("text/html", "application/xhtml+xml", "text/plain")
ACCEPT = "text/html,application/xhtml+xml,text/plain;q=0.5"
COMMON_HEADERS = {
    "User-Agent": USER_AGENT,
    "Accept-Encoding": "gzip",
    "Accept-Language": "ru,en;q=0.8,*;q=0.5",
}
REDIRECTS = {301, 302, 303, 307, 308}

type Before = Callable[[Target], Awaitable[None]]
"""Called before each request, redirects included. Raises Unreadable if the request must not be made."""


@dataclass(frozen=True, slots=True)
class FetchedResponse:
    """The response of a server."""

    target: Target
    status: int
    content_type: str
    charset: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class _Redirected:
    url: str


class PageFetcher:
    """Fetches pages. One per process. Keeps neither cookies nor connections between two requests."""

    def __init__(self, guard: Guard, *, max_bytes: int, ssl_context: ssl.SSLContext | None = None) -> None:
        self.guard = guard
        self._max_bytes = max_bytes
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl_context,
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=0,
            network_backend=GuardedNetwork(guard),
        )

    async def get(
        self,
        url: str,
        *,
        before: Before,
        accept: str = ACCEPT,
        kinds: tuple[str, ...] = READABLE,
        first_bytes: int | None = None,
    ) -> FetchedResponse:
        """Fetch a page, after at most five redirects; each hop is checked like the first. Raises Unreadable
        on failure.

        With `first_bytes`, the rest of a larger response is not read; without, a larger response is refused.
        """
        for _ in range(MAX_REDIRECTS + 1):
            target = self.guard.target(url)
            await before(target)
            response = await self._once(target, accept, kinds, first_bytes)
            if isinstance(response, FetchedResponse):
                return response
            url = response.url
        raise Unreadable(
            PageStatus.FAILED,
            Reason(
                "page_redirects_too_often",
                "it redirects more than {max_redirects} times",
                max_redirects=MAX_REDIRECTS,
            ),
        )

    async def close(self) -> None:
        await self._pool.aclose()

    async def _once(
        self, target: Target, accept: str, kinds: tuple[str, ...], first_bytes: int | None
    ) -> FetchedResponse | _Redirected:
        async with self._request(target, accept) as response:
            headers = {
                name.decode("ascii").lower(): value.decode("utf-8", "replace")
                for name, value in response.headers
            }
            if response.status in REDIRECTS and "location" in headers:
                return _Redirected(_join_url(target.url, headers["location"]))
            content_type, _, parameters = headers.get("content-type", "text/html").lower().partition(";")
            if response.status >= HTTPStatus.BAD_REQUEST:
                return FetchedResponse(target, response.status, content_type, None, b"")
            if content_type.strip() not in kinds:
                raise Unreadable(
                    PageStatus.NOT_A_PAGE,
                    Reason(
                        "not_a_page",
                        "its content type is {content_type!r}",
                        content_type=content_type.strip()[:80],
                    ),
                )
            max_bytes = self._max_bytes if first_bytes is None else first_bytes
            body = await _body(response.aiter_stream(), headers.get("content-encoding", ""), max_bytes)
            if len(body) > max_bytes and first_bytes is None:
                raise Unreadable(
                    PageStatus.TOO_LARGE,
                    Reason("page_too_large", "it is larger than {max_bytes:,} bytes", max_bytes=max_bytes),
                )
            body = body[:max_bytes]
            return FetchedResponse(target, response.status, content_type.strip(), _charset(parameters), body)

    @asynccontextmanager
    async def _request(self, target: Target, accept: str) -> AsyncIterator[httpcore.Response]:
        url = httpcore.URL(
            scheme=target.scheme.encode(),
            host=target.host.encode(),
            port=target.port,
            target=target.path.encode(),
        )
        headers = {"Host": target.authority, "Accept": accept, **COMMON_HEADERS}
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), SILENCE_SECONDS)
        try:
            async with self._pool.stream(
                "GET", url, headers=list(headers.items()), extensions={"timeout": timeouts}
            ) as response:
                yield response
        except httpcore.TimeoutException as error:
            raise Unreadable(
                PageStatus.TOO_SLOW, Reason("page_server_silent", "the server does not answer")
            ) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError, zlib.error, OSError) as error:
            raise Unreadable(
                PageStatus.FAILED,
                Reason(
                    "page_connection_failed", "the connection failed ({error})", error=type(error).__name__
                ),
            ) from error


async def _body(chunks: AsyncIterable[bytes], encoding: str, max_bytes: int) -> bytes:
    """Read the body, or at least its first `max_bytes` + 1 bytes.

    It is decompressed piece by piece, so that a small response cannot become a large one in memory.
    Compressed bytes count too, so that a response that decompresses to nothing ends as well. Nothing is read
    after the end of the compressed data.
    """
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise Unreadable(
            PageStatus.FAILED,
            Reason(
                "page_encoded", "it is encoded as {encoding}, which was not requested", encoding=encoding[:40]
            ),
        )
    decompressor = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
    body, compressed_bytes = bytearray(), 0
    async for chunk in chunks:
        compressed_bytes += len(chunk)
        body += decompressor.decompress(chunk, max_bytes - len(body) + 1) if decompressor else chunk
        if len(body) > max_bytes or (decompressor and decompressor.eof):
            break
        if compressed_bytes > max_bytes:
            raise Unreadable(
                PageStatus.TOO_LARGE,
                Reason(
                    "page_too_large_compressed",
                    "it is larger than {max_bytes:,} bytes, compressed",
                    max_bytes=max_bytes,
                ),
            )
    return bytes(body)


def _join_url(url: str, location: str) -> str:
    try:
        return urldefrag(urljoin(url, location)).url
    except ValueError as error:
        raise Unreadable(
            PageStatus.BLOCKED, Reason("page_redirects_to_invalid", "it redirects to an invalid URL")
        ) from error


def _charset(parameters: str) -> str | None:
    for parameter in parameters.split(";"):
        name, _, value = parameter.strip().partition("=")
        if name == "charset":
            return value.strip("\"' ")[:40] or None
    return None
