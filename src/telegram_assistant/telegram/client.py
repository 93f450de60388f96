"""Telethon's client as we want it, and opening a line with it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

from telethon import TelegramClient
from telethon.crypto import rsa
from telethon.tl import TLObject, TLRequest

from telegram_assistant import __version__
from telegram_assistant.domain.accounts.account import Lease
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.supervision import end
from telegram_assistant.telegram.account_client import AccountClient, Clock, LimitStore
from telegram_assistant.telegram.connection import Connection
from telegram_assistant.telegram.data_centers import DataCenter, DataCenterClient, DataCenterConnections
from telegram_assistant.telegram.history import HistoryRequest, WithoutUpdates
from telegram_assistant.telegram.session import FIRST_DC, LoginSession, session_of
from telegram_assistant.telegram.updates import UpdateReceiver
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()


@asynccontextmanager
async def open_line(
    settings: TelegramSettings,
    session: str,
    lease: Lease,
    *,
    account_id: AccountId,
    limits: LimitStore,
    receiver: UpdateReceiver | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[AccountClient]:
    """The line of one account. It is closed at the end, and in any case before the lease is over.

    Who has an ear is told what is new in the account's channels, while the line is connected.
    """
    async with line_over(session_of(session), settings, lease, account_id=account_id, limits=limits, receiver=receiver, clock=clock) as line:
        yield line


@asynccontextmanager
async def line_over(
    session: LoginSession,
    settings: TelegramSettings,
    lease: Lease,
    *,
    account_id: AccountId,
    limits: LimitStore,
    receiver: UpdateReceiver | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[AccountClient]:
    """The same for who wants to know what becomes of the session. CannotStart when the settings do not allow a line."""
    prepare(session, settings)
    clock = clock or Clock()
    wire = Connection(lambda: make_client(session, settings, receiver), lease, answer_seconds=clock.answer_seconds)

    def wire_to(place: DataCenter) -> Connection:
        return Connection(lambda: DataCenterClient(make_client(session, settings, None), place), lease, answer_seconds=clock.answer_seconds)

    abroad = DataCenterConnections(wire_to, home=lambda: int(session.dc_id), only_at=settings.dc_addr)
    line = AccountClient(wire, abroad, account_id=account_id, lease=lease, limits=limits, kept=await limits.of(account_id), clock=clock)
    watching = asyncio.create_task(wire.hang_up_in_time())
    try:
        yield line
    finally:
        await end([watching])
        await line.leave()
        await wire.hang_up()


def prepare(session: LoginSession, settings: TelegramSettings) -> None:
    """Point the session where the settings say."""
    if not (settings.api_id and settings.api_hash.get_secret_value()):
        raise CannotStart("there is no application to log in with", remedy="Set TELEGRAM_API_ID and TELEGRAM_API_HASH, from my.telegram.org")
    if settings.dc_addr and session.dc_id in {0, FIRST_DC}:  # who lives in another data centre has its address in the session
        session.set_dc(FIRST_DC, settings.dc_addr, settings.dc_port)
    if settings.dc_public_key:
        try:
            rsa.add_key(settings.dc_public_key, old=False)
        except ValueError as error:
            raise CannotStart("TELEGRAM_DC_PUBLIC_KEY is no key", remedy="Set it to what the simulator answers at /key") from error


def make_client(session: LoginSession, settings: TelegramSettings, receiver: UpdateReceiver | None = None) -> "Client":
    """Telethon neither sleeps nor repeats nor reconnects by itself; the line decides about all of it."""
    return Client(
        session,
        settings.api_id,
        settings.api_hash.get_secret_value(),
        receiver=receiver,
        only_at=settings.dc_addr,
        proxy=_proxy(settings),
        flood_sleep_threshold=0,
        request_retries=0,
        raise_last_call_error=True,
        connection_retries=1,
        retry_delay=0,
        auto_reconnect=False,
        receive_updates=receiver is not None,
        app_version=__version__,
    )


class Client(TelegramClient):  # type: ignore[misc]  # Telethon ships no types
    """Telethon without three habits.

    It goes nowhere but to the address that was set: Telethon takes Telegram's own where it cannot use the one it was given.
    It hands updates on as they come: Telethon's own loop asks for differences behind the line's back, and where these are too
    long it loses what was missed without a word. It remembers no flood, which it would answer in Telegram's place.
    """

    def __init__(
        self, session: LoginSession, api_id: int, api_hash: str, *, receiver: UpdateReceiver | None, only_at: str, **options: object
    ) -> None:
        super().__init__(session, api_id, api_hash, **options)
        self._receiver = receiver
        self._only_at = only_at

    async def __call__(self, request: TLRequest) -> Any:  # noqa: ANN401 -- Telethon's answers have no types
        self._flood_waited_requests.clear()
        return await super().__call__(request)

    def ask_for_history(self, request: HistoryRequest) -> Awaitable[TLObject]:
        """Straight to the sender: nothing is looked up, remembered, slept over or tried again on the way."""
        answer: Awaitable[TLObject] = self._sender.send(WithoutUpdates(request))
        return answer

    async def move_to(self, dc_id: int) -> None:
        """Telethon does it by itself only where the error says so; a QR code leads elsewhere with an answer."""
        await self._switch_dc(dc_id)

    async def connect(self) -> None:
        self._stay()
        await super().connect()
        self._stay()

    async def _update_loop(self) -> None:
        """Telethon starts it once per connection, in place of its own."""
        receiver = self._receiver
        if receiver is None:
            return
        receiver.doubt()
        self.disconnected.add_done_callback(self._lost)
        while True:
            updates = await self._updates_queue.get()
            try:
                receiver.hear(updates)
            except Exception:
                log.exception("updates_not_understood", kind=type(updates).__name__)
                receiver.doubt()

    def _lost(self, over: asyncio.Future[None]) -> None:
        if not over.cancelled():
            over.exception()  # it is known; unread, asyncio would complain about it
        if self._receiver is not None:
            self._receiver.doubt()

    def _stay(self) -> None:
        at = self.session.server_address
        if self._only_at and (at != self._only_at or ":" in at):
            raise CannotStart(f"the line would go to {at} instead of {self._only_at}", remedy="Set TELEGRAM_DC_ADDR to the simulator's IPv4 address")


def _proxy(settings: TelegramSettings) -> dict[str, object] | None:
    if not settings.proxy_addr:
        return None
    return {
        "proxy_type": settings.proxy_type.value,
        "addr": settings.proxy_addr,
        "port": settings.proxy_port,
        "username": settings.proxy_username or None,
        "password": settings.proxy_password.get_secret_value() or None,
    }
