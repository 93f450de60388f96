"""Small servers on loopback that record their requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class RecordedRequests:
    """The requests of clients, and the port that they send them to."""

    port: int = 0
    requests: list[str] = field(default_factory=list)


@asynccontextmanager
async def listener(
    answer: str = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: "1"\r\nConnection: close\r\n\r\n',
) -> AsyncIterator[RecordedRequests]:
    """An HTTP server that answers everything alike and keeps each request's head."""
    recorded = RecordedRequests()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        recorded.requests.append(head.decode("latin-1"))
        writer.write(answer.encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    recorded.port = server.sockets[0].getsockname()[1]
    async with server:
        yield recorded
