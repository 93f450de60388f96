"""Connects to the addresses that the guard has checked, and to no others."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

import httpcore

from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.reasons import Reason

NAME = "telegram-assistant"
"""Our name in robots.txt, and the first word of every User-Agent."""


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to checked addresses only. TLS still verifies the host name."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._plain = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- httpcore's own signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        *other_addresses, last_address = await self._guard.addresses(host, port)
        for address in other_addresses:
            with suppress(httpcore.NetworkError, httpcore.TimeoutException):
                return await self._plain.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
        return await self._plain.connect_tcp(str(last_address), port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,  # noqa: ARG002 -- httpcore's own signature
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 -- as above
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 -- as above
    ) -> httpcore.AsyncNetworkStream:
        raise Unreadable(PageStatus.BLOCKED, Reason("page_is_socket", "a Unix socket is not a page"))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
