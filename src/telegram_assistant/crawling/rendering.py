"""The protocol between the page reader and the process with the browser: one line of JSON each way."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

from telegram_assistant.crawling.fetching import FetchedResponse
from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.reasons import Reason

AT_ONCE = 2
MAX_SECONDS = 30.0
CONNECT_SECONDS = 3.0
MAX_QUESTION_BYTES = 16_384
MAX_WHY = 300
PROTECTION_QUESTION = {"question": "protection"}

type Load = Callable[[str], Awaitable[tuple[str, str]]]
"""Opens a page in a browser. Returns its final URL and its HTML."""


class Renderer:
    """The client: asks the process with the browser."""

    def __init__(self, address: str, *, guard: Guard, max_bytes: int) -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._guard = guard
        self._max_bytes = max_bytes

    async def render(self, answer: FetchedResponse) -> FetchedResponse:
        """Render a page in the browser. Raises Unreadable if the browser is unreachable or fails."""
        try:
            async with asyncio.timeout(MAX_SECONDS):
                reply = await self._request_rendering({"url": answer.target.url})
        except (OSError, TimeoutError, ValueError) as error:
            raise Unreadable(
                PageStatus.FAILED,
                Reason(
                    "page_browser_unreachable",
                    "the browser is unreachable ({error})",
                    error=type(error).__name__,
                ),
            ) from error
        if "html" not in reply:
            raise Unreadable(
                PageStatus.FAILED,
                Reason(
                    "page_not_rendered",
                    "the browser could not read it: {why}",
                    why=reply.get("why", "")[:MAX_WHY],
                ),
            )
        return FetchedResponse(
            self._guard.target(reply["url"]),
            HTTPStatus.OK,
            "text/html",
            "utf-8",
            reply["html"].encode("utf-8", "replace"),
        )

    async def ask_protection(self) -> str:
        """Return a description of the browser's sandbox. Raises Unreadable if the browser is unreachable."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return (await self._request_rendering(PROTECTION_QUESTION))["protection"]
        except (OSError, TimeoutError, ValueError, KeyError) as error:
            raise Unreadable(
                PageStatus.FAILED,
                Reason(
                    "page_browser_unreachable",
                    "the browser is unreachable ({error})",
                    error=type(error).__name__,
                ),
            ) from error

    async def _request_rendering(self, question: dict[str, str]) -> dict[str, str]:
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(self._host, self._port, limit=self._max_bytes * 4)
        try:
            writer.write(json.dumps(question).encode() + b"\n")
            reply: dict[str, str] = json.loads(await reader.readline())
            return reply
        finally:
            writer.close()


@asynccontextmanager
async def serving(
    load: Load, address: str, *, guard: Guard, max_bytes: int, at_once: int = AT_ONCE, protection: str = ""
) -> AsyncIterator[int]:
    """Serve the browser while the block lasts, and yield the port.

    It authenticates nobody: listen where only we can reach it.
    """
    free = asyncio.Semaphore(at_once)

    async def answer_question(question: bytes) -> dict[str, str]:
        try:
            request = json.loads(question)
            if request == PROTECTION_QUESTION:
                return {"protection": protection}
            url = guard.target(str(request["url"])).url
            async with free, asyncio.timeout(MAX_SECONDS):
                final_url, html = await load(url)
        except (Unreadable, TimeoutError, ValueError, KeyError, TypeError) as error:
            return {"why": str(error) or "it took too long"}
        if len(html) > max_bytes:
            return {"why": f"it is larger than {max_bytes} bytes"}
        return {"url": final_url, "html": html}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(json.dumps(await answer_question(await reader.readline())).encode() + b"\n")
            await writer.drain()
        except (OSError, ValueError):
            pass  # the client has left, or has sent too much
        finally:
            writer.close()

    host, _, port = address.rpartition(":")
    server = await asyncio.start_server(serve, host, int(port), limit=MAX_QUESTION_BYTES)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
