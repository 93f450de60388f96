"""The connection of an account's client: opened when needed, and closed at the first sign of trouble.

A Telethon client that lost its connection, an answer or its caller is discarded: Telethon would send its
unanswered requests again, over the next connection. The next request gets a new client.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from telethon import TelegramClient, errors

from telegram_assistant.domain.accounts.account import AccountRefused, Lease
from telegram_assistant.errors import NoAnswer, Unanswered
from telegram_assistant.reasons import Reason
from telegram_assistant.supervision import cancel_and_wait
from telegram_assistant.telegram.error_mapping import demanded_wait_seconds, map_error
from telegram_assistant.telegram.history import HistoryRequest
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

DISCONNECT_SECONDS = 10.0
MAX_LOOK_SECONDS = 60.0


class WaitRequired(Exception):
    """Telegram demands a wait of so many seconds. AccountClient handles it and never lets it out."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Telegram asks to wait {seconds:g} s")
        self.seconds = seconds


class Connection:
    """Raises our errors: WaitRequired, Unanswered, LeaseLost, AccountRefused.

    Errors about the request itself stay Telethon's.
    """

    def __init__(
        self, make_client: Callable[[], TelegramClient], lease: Lease, *, answer_seconds: float
    ) -> None:
        self.refused: AccountRefused | None = None
        """Set for ever once Telegram has refused the account."""
        self._make_client = make_client
        self._lease = lease
        self._answer_seconds = answer_seconds
        self._client: TelegramClient | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        return self._client is not None and bool(self._client.is_connected())

    async def connect(self) -> None:
        await self.disconnect()
        self._lease.check()
        self._client = self._make_client()
        self._connecting = asyncio.create_task(self._client.connect())
        try:
            await self._await_answer(self._connecting)
        except BaseException:
            await self.disconnect()
            raise

    async def call(self, request: Any) -> Any:
        self._lease.check()
        if self._client is None:
            raise Unanswered(
                Reason("telegram_closed", "the connection to Telegram was closed"), kind=NoAnswer.CONNECTION
            )
        ask = self._client.send_history_request if isinstance(request, HistoryRequest) else self._client
        return await self._await_answer(ask(request))

    async def move_to(self, dc_id: int) -> None:
        """Connect to another data centre, with a new key."""
        self._lease.check()
        if self._client is None:
            raise Unanswered(
                Reason("telegram_closed", "the connection to Telegram was closed"), kind=NoAnswer.CONNECTION
            )
        await self._await_answer(self._client.move_to(dc_id))

    async def disconnect(self) -> None:
        """Close the connection, and return when it is closed. A cancelled caller does not stop it."""
        client, self._client = self._client, None
        if client is not None:
            self._closing = asyncio.create_task(_close(client, self._connecting))
        if self._closing is not None:
            await asyncio.shield(self._closing)

    async def disconnect_before_lease_ends(self) -> None:
        """Run for ever, and disconnect before the lease ends if nobody renews it,
        because Telethon pings and reads updates by itself.
        """
        while True:
            remaining_seconds = self._lease.remaining_seconds
            if remaining_seconds <= 0 and self._client is not None:
                log.warning("line_hung_up", why="the lease of the account is over")
                await self.disconnect()
            await asyncio.sleep(min(remaining_seconds, MAX_LOOK_SECONDS) if remaining_seconds > 0 else 1.0)

    async def _await_answer(self, call: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(self._answer_seconds):
                return await call
        except errors.RPCError as error:
            seconds = demanded_wait_seconds(error)
            if seconds is not None:
                raise WaitRequired(seconds) from error
            self._raise_mapped(error)
            raise
        except asyncio.CancelledError:
            await self.disconnect()
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # this task was not cancelled: Telethon cancels unanswered requests when it disconnects
            self._lease.check()
            raise Unanswered(
                Reason("telegram_closed", "the connection to Telegram was closed"), kind=NoAnswer.CONNECTION
            ) from None
        except Exception as error:
            await self.disconnect()
            self._raise_mapped(error)
            raise

    def _raise_mapped(self, error: Exception) -> None:
        mapped_error = map_error(error)
        if isinstance(mapped_error, AccountRefused):
            self.refused = mapped_error
        if mapped_error is not None:
            raise mapped_error from error


async def _close(client: TelegramClient, connecting: asyncio.Task[None] | None) -> None:
    if connecting is not None:
        await cancel_and_wait(
            [connecting]
        )  # Telethon forgets a connection that is closed while it is being opened
    try:
        async with asyncio.timeout(DISCONNECT_SECONDS):
            await client.disconnect()
    except (OSError, TimeoutError) as error:
        log.warning("line_closed_badly", why=type(error).__name__)
    future = client.disconnected
    if future.done() and not future.cancelled():
        future.exception()  # already handled; if not read, asyncio would log it
