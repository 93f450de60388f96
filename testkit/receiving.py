"""A webhook and a mail server on this machine, as receivers have them."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any


@dataclass
class Request:
    """What a webhook was sent."""

    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


@dataclass
class Webhook:
    """A server that keeps every request that it takes."""

    port: int = 0
    status: int = 200
    answers_after_seconds: float = 0.0
    """It has the request long before the sender knows: whoever is killed meanwhile sends it again."""
    taken: list[Request] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/alerts"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers["content-length"]))
        if self.status == 200:
            self.taken.append(Request(headers, body))
        await asyncio.sleep(self.answers_after_seconds)
        writer.write(f"HTTP/1.1 {self.status} X\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()


@dataclass
class MailServer:
    """A server that speaks as much SMTP as a client needs, and keeps every mail that it takes."""

    port: int = 0
    taken: list[EmailMessage] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := (await reader.readline()).decode().strip():
            verb = line.split()[0].upper()
            if verb == "DATA":
                writer.write(b"354 go on\r\n")
                raw = (await reader.readuntil(b"\r\n.\r\n"))[:-3]
                self.taken.append(message_from_bytes(raw, policy=policy.default))
            elif verb == "AUTH":
                self.logins.append(base64.b64decode(line.split()[2]).decode().strip("\0"))
            elif verb == "MAIL":
                self.senders.append(line)
            writer.write(b"250-here\r\n250 AUTH PLAIN\r\n" if verb == "EHLO" else b"235 ok\r\n" if verb == "AUTH" else b"250 ok\r\n")
            await writer.drain()
            if verb == "QUIT":
                break
        writer.close()


@asynccontextmanager
async def served[S: (Webhook, MailServer)](server: S) -> AsyncIterator[S]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server
