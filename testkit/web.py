"""A small web on this machine: 127.0.0.2 plays the public web,
127.0.0.1 and ::1 what must never be reached.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_network

from telegram_assistant.outbound.addresses import Network
from telegram_assistant.outbound.guard import Guard

OUTSIDE = "127.0.0.2"
INSIDE = ("127.0.0.1", "::1")
ONLY_OUTSIDE: tuple[Network, ...] = (ip_network(f"{OUTSIDE}/32"),)
EVERYTHING: tuple[Network, ...] = (ip_network("0.0.0.0/0"), ip_network("::/0"))

type Reply = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answer(
    body: str | bytes = "", *, status: str = "200 OK", kind: str = "text/html; charset=utf-8", **headers: str
) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
        f"Connection: close\r\n{more}\r\n".encode()
        + content
    )


def redirect(location: str, status: str = "302 Found") -> bytes:
    return answer(status=status, Location=location)


@dataclass
class Site:
    """One server: what it answers, and what it was asked."""

    pages: dict[str, bytes | Reply] = field(default_factory=dict)
    requested_paths: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ")[1]
            self.requested_paths.append(path)
            self.heads.append(head)
            page = (
                self.pages.get(path)
                or self.pages.get(path.partition("?")[0])
                or answer("not here", status="404 Not Found")
            )
            if callable(page):
                await page(reader, writer)
            else:
                writer.write(page)
            await writer.drain()
        writer.close()

    def count(self, path: str) -> int:
        return self.requested_paths.count(path)


@dataclass
class Web:
    port: int
    outside: Site
    inside: Site
    names: dict[str, Sequence[str]]
    looked_up: list[str] = field(default_factory=list)

    async def resolve(self, host: str) -> Sequence[str]:
        self.looked_up.append(host)
        if host not in self.names:
            raise OSError("no such name")
        return self.names[host]

    def guard(self, although_private: tuple[Network, ...] = ONLY_OUTSIDE) -> Guard:
        return Guard(self.resolve, frozenset({self.port}), although_private)

    def url(self, path: str = "/", host: str = "news.example", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@asynccontextmanager
async def small_web(
    names: Mapping[str, Sequence[str]] | None = None, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Web]:
    outside, inside = Site(), Site()
    inside.pages["/"] = answer("<title>the secret</title>")
    async with AsyncExitStack() as stack:
        port = await _listen(stack, outside, inside, tls)
        yield Web(port, outside, inside, {"news.example": [OUTSIDE], **(names or {})})


async def _listen(stack: AsyncExitStack, outside: Site, inside: Site, tls: ssl.SSLContext | None) -> int:
    """One port on all addresses; a number that somebody else uses on one of them is given back."""
    while True:
        async with AsyncExitStack() as opened:
            first = await opened.enter_async_context(
                await asyncio.start_server(outside.serve, OUTSIDE, 0, ssl=tls)
            )
            port = int(first.sockets[0].getsockname()[1])
            with suppress(OSError):
                for address in INSIDE:
                    await opened.enter_async_context(await asyncio.start_server(inside.serve, address, port))
                stack.push_async_exit(opened.pop_all())
                return port


async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Say nothing until the other side leaves."""
    await reader.read()
