"""Telethon's client as we want it, and opening a line with it."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from telethon import TelegramClient
from telethon.crypto import rsa
from telethon.tl import TLObject

from telegram_assistant import __version__
from telegram_assistant.domain.account import Lease
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.supervision import end
from telegram_assistant.telegram.abroad import Abroad, Elsewhere, Place
from telegram_assistant.telegram.history import HistoryRequest, Unheard
from telegram_assistant.telegram.line import Clock, Limits, Line
from telegram_assistant.telegram.session import FIRST_DC, KeptSession, UpdateStates, session_of
from telegram_assistant.telegram.wire import Wire


@asynccontextmanager
async def open_line(
    settings: TelegramSettings,
    session: str,
    lease: Lease,
    *,
    account_id: AccountId,
    limits: Limits,
    states: UpdateStates,
    clock: Clock | None = None,
) -> AsyncIterator[Line]:
    """The line of one account. It is closed at the end, and in any case before the lease is over."""
    kept = session_of(session, account_id=account_id, states=states)
    async with line_over(kept, settings, lease, account_id=account_id, limits=limits, clock=clock) as line:
        yield line


@asynccontextmanager
async def line_over(
    session: KeptSession, settings: TelegramSettings, lease: Lease, *, account_id: AccountId, limits: Limits, clock: Clock | None = None
) -> AsyncIterator[Line]:
    """The same for who wants to know what becomes of the session. CannotStart when the settings do not allow a line."""
    prepare(session, settings)
    clock = clock or Clock()
    wire = Wire(lambda: make_client(session, settings), lease, answer_seconds=clock.answer_seconds)

    def wire_to(place: Place) -> Wire:
        return Wire(lambda: Elsewhere(make_client(session, settings), place), lease, answer_seconds=clock.answer_seconds)

    abroad = Abroad(wire_to, home=lambda: int(session.dc_id), only_at=settings.dc_addr)
    line = Line(wire, abroad, account_id=account_id, lease=lease, limits=limits, kept=await limits.of(account_id), clock=clock)
    watching = asyncio.create_task(wire.hang_up_in_time())
    try:
        yield line
    finally:
        await end([watching])
        await line.leave()
        await wire.hang_up()


def prepare(session: KeptSession, settings: TelegramSettings) -> None:
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


def make_client(session: KeptSession, settings: TelegramSettings, *, receive_updates: bool = False, catch_up: bool = False) -> "Client":
    """Telethon neither sleeps nor repeats nor reconnects by itself; the line decides about all of it."""
    # Coroutines in sessions are new in Telethon, and it says so at every call.
    warnings.filterwarnings("ignore", message="Using async sessions support")
    return Client(
        session,
        settings.api_id,
        settings.api_hash.get_secret_value(),
        only_at=settings.dc_addr,
        proxy=_proxy(settings),
        flood_sleep_threshold=0,
        request_retries=0,
        raise_last_call_error=True,
        connection_retries=1,
        retry_delay=0,
        auto_reconnect=False,
        receive_updates=receive_updates,
        catch_up=catch_up,
        app_version=__version__,
    )


class Client(TelegramClient):  # type: ignore[misc]  # Telethon ships no types
    """Goes nowhere but to the address that was set: Telethon takes Telegram's own where it cannot use the one it was given."""

    def __init__(self, session: KeptSession, api_id: int, api_hash: str, *, only_at: str, **options: object) -> None:
        super().__init__(session, api_id, api_hash, **options)
        self._only_at = only_at

    def ask_for_history(self, request: HistoryRequest) -> Awaitable[TLObject]:
        """Straight to the sender: nothing is looked up, remembered, slept over or tried again on the way."""
        answer: Awaitable[TLObject] = self._sender.send(Unheard(request))
        return answer

    async def connect(self) -> None:
        self._stay()
        await super().connect()
        self._stay()

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
