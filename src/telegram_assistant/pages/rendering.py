"""Between whoever reads pages and the process with the browser: a line of JSON there, a line of JSON back."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.pages.fetching import FetchedResponse
from telegram_assistant.pages.guard import Guard

AT_ONCE = 2
MAX_SECONDS = 30.0
CONNECT_SECONDS = 3.0
MAX_QUESTION_BYTES = 16_384
PROTECTION_QUESTION = {"question": "protection"}

type Load = Callable[[str], Awaitable[tuple[str, str]]]
"""Open a page in a browser: where it ended up, and its HTML then."""


class Renderer:
    """The reading side."""

    def __init__(self, address: str, *, guard: Guard, max_bytes: int) -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._guard = guard
        self._max_bytes = max_bytes

    async def render(self, answer: FetchedResponse) -> FetchedResponse:
        """The page as a browser shows it; Unreadable when the browser is away, or cannot."""
        try:
            async with asyncio.timeout(MAX_SECONDS):
                told = await self._asked({"url": answer.target.url})
        except (OSError, TimeoutError, ValueError) as error:
            raise Unreadable(PageStatus.FAILED, f"the browser is away ({type(error).__name__})") from error
        if "html" not in told:
            raise Unreadable(PageStatus.FAILED, told.get("why", "the browser could not read it"))
        return FetchedResponse(self._guard.target(told["url"]), HTTPStatus.OK, "text/html", "utf-8", told["html"].encode("utf-8", "replace"))

    async def ask_protection(self) -> str:
        """What keeps the browser from this machine, in words; Unreadable when it is away."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return (await self._asked(PROTECTION_QUESTION))["protection"]
        except (OSError, TimeoutError, ValueError, KeyError) as error:
            raise Unreadable(PageStatus.FAILED, f"the browser is away ({type(error).__name__})") from error

    async def _asked(self, question: dict[str, str]) -> dict[str, str]:
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(self._host, self._port, limit=self._max_bytes * 4)
        try:
            writer.write(json.dumps(question).encode() + b"\n")
            told: dict[str, str] = json.loads(await reader.readline())
            return told
        finally:
            writer.close()


@asynccontextmanager
async def serving(load: Load, address: str, *, guard: Guard, max_bytes: int, at_once: int = AT_ONCE, protection: str = "") -> AsyncIterator[int]:
    """The browser's side while the block lasts; yields its port. It asks nobody who they are: listen where only we can reach it."""
    free = asyncio.Semaphore(at_once)

    async def answered(question: bytes) -> dict[str, str]:
        try:
            asked = json.loads(question)
            if asked == PROTECTION_QUESTION:
                return {"protection": protection}
            url = guard.target(str(asked["url"])).url
            async with free, asyncio.timeout(MAX_SECONDS):
                found_at, html = await load(url)
        except (Unreadable, TimeoutError, ValueError, KeyError, TypeError) as error:
            return {"why": str(error) or "it took too long"}
        if len(html) > max_bytes:
            return {"why": f"it is larger than {max_bytes} bytes"}
        return {"url": found_at, "html": html}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(json.dumps(await answered(await reader.readline())).encode() + b"\n")
            await writer.drain()
        except (OSError, ValueError):
            pass  # whoever asked has left, or asked for too much at once
        finally:
            writer.close()

    host, _, port = address.rpartition(":")
    server = await asyncio.start_server(serve, host, int(port), limit=MAX_QUESTION_BYTES)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
