"""The connection under a line: made when it is needed, and given up at the first sign of trouble.

A client that lost its connection, an answer or its caller is thrown away: Telethon would send again, over the next
connection, whatever is unanswered in it. The next request gets a new client.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from telethon import TelegramClient, errors

from telegram_assistant.domain.accounts.account import AccountRefused, Lease
from telegram_assistant.errors import NoAnswer, Unanswered
from telegram_assistant.supervision import end
from telegram_assistant.telegram.error_mapping import verdict_on, wait_in
from telegram_assistant.telegram.history import HistoryRequest
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

HANG_UP_SECONDS = 10.0
MAX_LOOK_SECONDS = 60.0


class WaitRequired(Exception):
    """Telegram's answer is to wait so long. A line never lets it out."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Telegram asks to wait {seconds:g} s")
        self.seconds = seconds


class Connection:
    """Speaks our errors: ToldToWait, Unanswered, LeaseLost, AccountRefused. Errors about the request itself stay Telethon's."""

    def __init__(self, make_client: Callable[[], TelegramClient], lease: Lease, *, answer_seconds: float) -> None:
        self.refused: AccountRefused | None = None
        """Set for ever, once Telegram has refused the account."""
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
        await self.hang_up()
        self._lease.check()
        self._client = self._make_client()
        self._connecting = asyncio.create_task(self._client.connect())
        try:
            await self._answer(self._connecting)
        except BaseException:
            await self.hang_up()
            raise

    async def call(self, request: Any) -> Any:  # noqa: ANN401 -- Telethon's requests and answers have no types
        self._lease.check()
        if self._client is None:
            raise Unanswered("the line to Telegram was closed", reason=NoAnswer.CONNECTION)
        ask = self._client.ask_for_history if isinstance(request, HistoryRequest) else self._client
        return await self._answer(ask(request))

    async def move_to(self, dc_id: int) -> None:
        """Connect to another data centre, with a new key."""
        self._lease.check()
        if self._client is None:
            raise Unanswered("the line to Telegram was closed", reason=NoAnswer.CONNECTION)
        await self._answer(self._client.move_to(dc_id))

    async def hang_up(self) -> None:
        """Returns when the connection is gone. Who is cancelled meanwhile does not stop it."""
        client, self._client = self._client, None
        if client is not None:
            self._closing = asyncio.create_task(_close(client, self._connecting))
        if self._closing is not None:
            await asyncio.shield(self._closing)

    async def hang_up_in_time(self) -> None:
        """For ever: when nobody renews the lease, hang up before its end. Telethon pings and looks for updates by itself."""
        while True:
            left = self._lease.seconds_left
            if left <= 0 and self._client is not None:
                log.warning("line_hung_up", why="the lease of the account is over")
                await self.hang_up()
            await asyncio.sleep(min(left, MAX_LOOK_SECONDS) if left > 0 else 1.0)

    async def _answer(self, call: Awaitable[Any]) -> Any:  # noqa: ANN401 -- as above
        try:
            async with asyncio.timeout(self._answer_seconds):
                return await call
        except errors.RPCError as error:
            seconds = wait_in(error)
            if seconds is not None:
                raise WaitRequired(seconds) from error
            self._raise_verdict(error)
            raise
        except asyncio.CancelledError:
            await self.hang_up()
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self._lease.check()  # nobody has cancelled us: Telethon cancels what is unanswered when it hangs up
            raise Unanswered("the line to Telegram was closed", reason=NoAnswer.CONNECTION) from None
        except Exception as error:
            await self.hang_up()
            self._raise_verdict(error)
            raise

    def _raise_verdict(self, error: Exception) -> None:
        verdict = verdict_on(error)
        if isinstance(verdict, AccountRefused):
            self.refused = verdict
        if verdict is not None:
            raise verdict from error


async def _close(client: TelegramClient, connecting: asyncio.Task[None] | None) -> None:
    if connecting is not None:
        await end([connecting])  # Telethon forgets a connection that it is told to close while it makes it
    try:
        async with asyncio.timeout(HANG_UP_SECONDS):
            await client.disconnect()
    except (OSError, TimeoutError) as error:
        log.warning("line_closed_badly", why=type(error).__name__)
    over = client.disconnected
    if over.done() and not over.cancelled():
        over.exception()  # it is known; unread, asyncio would complain about it
