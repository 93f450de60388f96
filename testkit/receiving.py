"""A webhook and a mail server on this machine, as receivers have them, and receivers that are confirmed."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from enum import StrEnum
from ipaddress import ip_network
from typing import Any
from uuid import UUID

from telegram_assistant.domain.receivers.delivery import ReceiverKind
from telegram_assistant.features.receivers.receiver_links import code_of
from telegram_assistant.features.receivers.receivers import confirm_receiver, create_receiver
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.sealing import Sealer
from telegram_assistant.stores.postgres.stores import TenantStores

OPEN_GUARD = Guard(ports=frozenset(range(1, 65536)), although_private=(ip_network("127.0.0.0/8"),))
"""Lets receivers be on this machine."""


@dataclass
class Request:
    """A request that a webhook received."""

    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.time)

    @property
    def data(self) -> Any:
        return json.loads(self.body)


@dataclass
class Webhook:
    """A server that keeps every request that it takes."""

    port: int = 0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    """The headers of its answers."""
    answer: Callable[[Request], bytes] = lambda _request: b""
    answers_after_seconds: float = 0.0
    """The delay of each answer. A sender that is killed meanwhile sends the request again."""
    requests: list[Request] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/alerts"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        request = Request(headers, await reader.readexactly(int(headers["content-length"])))
        if self.status == 200:
            self.requests.append(request)
        await asyncio.sleep(self.answers_after_seconds)
        answer = self.answer(request)
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        writer.write(
            f"HTTP/1.1 {self.status} X\r\nContent-Length: {len(answer)}\r\n{more}\r\n".encode() + answer
        )
        await writer.drain()
        writer.close()


class Misbehaviour(StrEnum):
    """Ways in which a receiver keeps a sender busy."""

    DRIP = "drip"
    """One line of a header every half second, without end."""
    HANG = "hang"
    """No answer at all."""
    REDIRECT = "redirect"
    """A redirect to itself."""
    CONTINUE = "continue"
    """`100 Continue`, without end."""


@dataclass
class HostileWebhook:
    """A server that accepts no request and keeps its sender busy."""

    misbehaviour: Misbehaviour
    port: int = 0
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/alerts"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            if self.misbehaviour is Misbehaviour.REDIRECT:
                writer.write(f"HTTP/1.1 307 X\r\nLocation: {self.url}\r\nContent-Length: 0\r\n\r\n".encode())
            elif self.misbehaviour is Misbehaviour.HANG:
                while await reader.read(1000):
                    pass
            else:
                await self._dribble(writer)
        writer.close()

    async def _dribble(self, writer: asyncio.StreamWriter) -> None:
        drips = self.misbehaviour is Misbehaviour.DRIP
        writer.write(b"HTTP/1.1 200 X\r\n" if drips else b"")
        while not writer.is_closing():
            writer.write(b"X-More: x\r\n" if drips else b"HTTP/1.1 100 Continue\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.5)


@dataclass
class MailServer:
    """A server that speaks as much SMTP as a client needs, and keeps every mail that it takes."""

    port: int = 0
    messages: list[EmailMessage] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := (await reader.readline()).decode().strip():
            verb = line.split()[0].upper()
            if verb == "DATA":
                writer.write(b"354 go on\r\n")
                raw = (await reader.readuntil(b"\r\n.\r\n"))[:-3]
                self.messages.append(message_from_bytes(raw, policy=policy.default))
            elif verb == "AUTH":
                self.logins.append(base64.b64decode(line.split()[2]).decode().strip("\0"))
            elif verb == "MAIL":
                self.senders.append(line)
            writer.write(
                b"250-here\r\n250 AUTH PLAIN\r\n"
                if verb == "EHLO"
                else b"235 ok\r\n"
                if verb == "AUTH"
                else b"250 ok\r\n"
            )
            await writer.drain()
            if verb == "QUIT":
                break
        writer.close()


@asynccontextmanager
async def serve[S: (Webhook, MailServer, HostileWebhook)](server: S) -> AsyncIterator[S]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server


@dataclass(frozen=True, slots=True)
class ConfirmedReceiver:
    """A receiver whose owner has typed its code."""

    receiver_id: UUID
    secret: str


async def make_receiver(
    kind: ReceiverKind,
    name: str,
    address: str,
    *,
    stores: TenantStores,
    sealer: Sealer,
    guard: Guard = OPEN_GUARD,
    language: str = "en",
) -> ConfirmedReceiver:
    created = await create_receiver(
        kind, name, address, stores=stores, sealer=sealer, guard=guard, language=language, created_by="anna"
    )
    receiver = created.receiver
    code = code_of(receiver.receiver_id, receiver.code_number, sealer=sealer)
    await confirm_receiver(receiver.receiver_id, code, stores=stores, sealer=sealer)
    return ConfirmedReceiver(receiver.receiver_id, created.secret)
