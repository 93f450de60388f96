"""The browser's proxy to the web, which connects to checked addresses only.

A page in a browser may request anything: pictures, frames, scripts, sockets, and workers that outlive it. All
of these go through this proxy, so the guard decides about each connection, and the browser resolves no name
itself.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from telegram_assistant.domain.understanding.pages import Unreadable
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

MAX_HEAD_BYTES = 65_536
HEAD_SECONDS = 10.0
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 30.0
MAX_BYTES = 20_000_000
"""A connection is closed after this many bytes."""
MAX_CONNECTIONS = 256
PIECE_BYTES = 65_536
HOP_BY_HOP = (b"proxy-", b"connection:", b"keep-alive:")

type Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class FilteringProxy:
    """Handles HTTP and CONNECT. Answers what the guard refuses with 403 and the reason."""

    guard: Guard
    port: int = 0
    refused: int = 0
    _free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONNECTIONS))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with self._free:
                await self._answer(reader, writer)
        except (OSError, TimeoutError, EOFError, ValueError):
            pass  # one side has left, or sends nonsense; nobody is left to inform
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            request_head = await reader.readuntil(b"\r\n\r\n")
        method, address, _ = request_head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
        try:
            upstream, first_bytes = await (
                self._tunnel(address) if method == "CONNECT" else self._request(method, address, request_head)
            )
        except Unreadable as error:
            self.refused += 1
            log.info("browser_was_refused", why=str(error))
            writer.write(
                (
                    "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
                    f"{error}\n"
                ).encode()
            )
            return
        upstream_reader, upstream_writer = upstream
        try:
            if method == "CONNECT":
                writer.write(first_bytes)
            else:
                upstream_writer.write(first_bytes)
            await asyncio.gather(_copy(reader, upstream_writer), _copy(upstream_reader, writer))
        finally:
            upstream_writer.close()

    async def _tunnel(self, address: str) -> tuple[Streams, bytes]:
        host, _, port = address.rpartition(":")
        return await self._connect(
            host.removeprefix("[").removesuffix("]"), int(port)
        ), b"HTTP/1.1 200 Connected\r\n\r\n"

    async def _request(self, method: str, address: str, head: bytes) -> tuple[Streams, bytes]:
        """Rewrite a plain request for its server: path only, the checked host,
        and one request per connection.
        """
        target = self.guard.target(address)
        lines = [
            line for line in head.split(b"\r\n")[1:-2] if not line.lower().startswith((b"host:", *HOP_BY_HOP))
        ]
        request_head = [
            f"{method} {target.path} HTTP/1.1".encode(),
            f"Host: {target.authority}".encode(),
            b"Connection: close",
            *lines,
            b"",
            b"",
        ]
        return await self._connect(target.host, target.port), b"\r\n".join(request_head)

    async def _connect(self, host: str, port: int) -> Streams:
        addresses = await self.guard.addresses(host, port)
        for address in addresses[:-1]:
            with suppress(OSError, TimeoutError):
                return await _open(str(address), port)
        return await _open(str(addresses[-1]), port)


async def _open(address: str, port: int) -> Streams:
    async with asyncio.timeout(CONNECT_SECONDS):
        return await asyncio.open_connection(address, port)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    bytes_left = MAX_BYTES
    try:
        while bytes_left > 0:
            async with asyncio.timeout(SILENCE_SECONDS):
                piece = await source.read(PIECE_BYTES)
            if not piece:
                break
            bytes_left -= len(piece)
            target.write(piece)
            await target.drain()
    finally:
        if target.can_write_eof() and not target.is_closing():
            with suppress(OSError):
                target.write_eof()


@asynccontextmanager
async def filtering_proxy(
    guard: Guard, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[FilteringProxy]:
    """Run the proxy while the block lasts.

    It authenticates nobody: listen where only the browser can reach it.
    """
    proxy = FilteringProxy(guard)
    server = await asyncio.start_server(proxy.serve, host, port, limit=MAX_HEAD_BYTES)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
