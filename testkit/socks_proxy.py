"""A small real proxy on loopback: SOCKS5 with or without a password, SOCKS4, and HTTP CONNECT."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

NO_PASSWORD, PASSWORD, NOTHING_SUITS = 0, 2, 0xFF
GRANTED4, GRANTED5 = b"\x00\x5a" + bytes(6), b"\x05\x00\x00\x01" + bytes(6)


@dataclass
class Proxy:
    """A SOCKS proxy that records its requests and the number of bytes that it carried."""

    user: str = ""
    password: str = ""
    slow_seconds: float = 0.0
    port: int = 0
    greetings: list[str] = field(default_factory=list)
    connected_to: list[tuple[str, int]] = field(default_factory=list)
    bytes_carried: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await asyncio.sleep(self.slow_seconds)
            wanted = await self._read_greeting(reader, writer)
            if wanted is not None:
                self.connected_to.append(wanted)
                there_reader, there_writer = await asyncio.open_connection(*wanted)
                await asyncio.gather(self._carry(reader, there_writer), self._carry(there_reader, writer))
        writer.close()

    async def _read_greeting(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, int] | None:
        match await reader.readexactly(1):
            case b"\x05":
                self.greetings.append("socks5")
                return await self._socks5(reader, writer)
            case b"\x04":
                self.greetings.append("socks4")
                port, address = struct.unpack(">xH4s", await reader.readexactly(7))
                await reader.readuntil(b"\x00")
                writer.write(GRANTED4)
                return ".".join(map(str, address)), port
            case _:
                self.greetings.append("http")
                host, _, number = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode().partition(":")
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                return host, int(number)

    async def _socks5(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, int] | None:
        offered = await reader.readexactly((await reader.readexactly(1))[0])
        method = PASSWORD if self.password else NO_PASSWORD
        if method not in offered:
            writer.write(bytes([5, NOTHING_SUITS]))
            return None
        writer.write(bytes([5, method]))
        if method == PASSWORD:
            await reader.readexactly(1)
            given = [(await reader.readexactly((await reader.readexactly(1))[0])).decode() for _ in range(2)]
            right = given == [self.user, self.password]
            writer.write(bytes([1, 0 if right else 1]))
            if not right:
                return None
        address, port = struct.unpack(">xxxx4sH", await reader.readexactly(10))
        writer.write(GRANTED5)
        return ".".join(map(str, address)), port

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                self.bytes_carried += len(data)
                target.write(data)
                await target.drain()
        target.close()


@asynccontextmanager
async def proxy_server(
    *, user: str = "", password: str = "", slow_seconds: float = 0.0
) -> AsyncIterator[Proxy]:
    proxy = Proxy(user, password, slow_seconds)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    async with server:
        yield proxy
