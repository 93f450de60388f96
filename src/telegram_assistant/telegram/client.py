"""Opens the client of an account: an AccountClient over our subclass of Telethon's client."""

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
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.supervision import cancel_and_wait
from telegram_assistant.telegram.account_client import AccountClient, Clock, LimitStore
from telegram_assistant.telegram.connection import Connection
from telegram_assistant.telegram.data_centers import DataCenter, DataCenterClient, DataCenterConnections
from telegram_assistant.telegram.history import HistoryRequest, WithoutUpdates
from telegram_assistant.telegram.session import FIRST_DC, LoginSession, session_of
from telegram_assistant.telegram.updates import UpdateReceiver
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()


@asynccontextmanager
async def open_account_client(
    settings: TelegramSettings,
    session: str,
    lease: Lease,
    *,
    account_id: AccountId,
    limits: LimitStore,
    receiver: UpdateReceiver | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[AccountClient]:
    """Open the client of one account. It is closed at the end, and in any case before the lease is over.

    While it is connected, the receiver gets the updates of the account's channels.
    """
    async with open_session_client(
        session_of(session),
        settings,
        lease,
        account_id=account_id,
        limits=limits,
        receiver=receiver,
        clock=clock,
    ) as client:
        yield client


@asynccontextmanager
async def open_session_client(
    session: LoginSession,
    settings: TelegramSettings,
    lease: Lease,
    *,
    account_id: AccountId,
    limits: LimitStore,
    receiver: UpdateReceiver | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[AccountClient]:
    """Like `open_account_client`, with a session object that the caller keeps: a login reads the new session
    from it.

    Raises CannotStart if the settings do not allow a connection.
    """
    prepare_session(session, settings)
    clock = clock or Clock()
    connection = Connection(
        lambda: make_client(session, settings, receiver), lease, answer_seconds=clock.answer_seconds
    )

    def connection_to(data_center: DataCenter) -> Connection:
        return Connection(
            lambda: DataCenterClient(make_client(session, settings, None), data_center),
            lease,
            answer_seconds=clock.answer_seconds,
        )

    data_centers = DataCenterConnections(
        connection_to, home=lambda: int(session.dc_id), only_address=settings.dc_addr
    )
    client = AccountClient(
        connection,
        data_centers,
        account_id=account_id,
        lease=lease,
        limits=limits,
        saved=await limits.load_meters(account_id),
        clock=clock,
    )
    watchdog = asyncio.create_task(connection.disconnect_before_lease_ends())
    try:
        yield client
    finally:
        await cancel_and_wait([watchdog])
        await client.close()
        await connection.disconnect()


def prepare_session(session: LoginSession, settings: TelegramSettings) -> None:
    """Set the data centre's address and public key as the settings say.

    Raises CannotStart if they do not allow a connection.
    """
    if not (settings.api_id and settings.api_hash.get_secret_value()):
        raise CannotStart(
            Reason("application_missing", "no Telegram application is configured"),
            remedy=Reason(
                "set_application",
                "Enter api_id and api_hash on the page “Getting started”, or set TELEGRAM_API_ID and "
                "TELEGRAM_API_HASH",
            ),
        )
    if settings.dc_addr and session.dc_id in {
        0,
        FIRST_DC,
    }:  # for an account of another data centre, the session has the address
        session.set_dc(FIRST_DC, settings.dc_addr, settings.dc_port)
    if settings.dc_public_key:
        try:
            rsa.add_key(settings.dc_public_key, old=False)
        except ValueError as error:
            raise CannotStart(
                Reason("data_center_key_invalid", "TELEGRAM_DC_PUBLIC_KEY is not a valid key"),
                remedy=Reason("set_data_center_key", "Set it to the simulator's answer at /key"),
            ) from error


def make_client(
    session: LoginSession, settings: TelegramSettings, receiver: UpdateReceiver | None = None
) -> "TelethonClient":
    """Build Telethon's client so that it neither sleeps nor retries nor reconnects by itself.

    AccountClient decides about these.
    """
    return TelethonClient(
        session,
        settings.api_id,
        settings.api_hash.get_secret_value(),
        receiver=receiver,
        only_address=settings.dc_addr,
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


class TelethonClient(TelegramClient):  # type: ignore[misc]  # Telethon ships no types
    """Telethon without three behaviours.

    It connects to the configured address only: Telethon falls back to Telegram's own where it cannot use the
    given one. It passes updates on as they come: Telethon's own loop requests differences behind our back,
    and silently loses what was missed if they are too long. It remembers no flood, because Telethon would
    then answer in Telegram's place.
    """

    def __init__(
        self,
        session: LoginSession,
        api_id: int,
        api_hash: str,
        *,
        receiver: UpdateReceiver | None,
        only_address: str,
        **options: object,
    ) -> None:
        super().__init__(session, api_id, api_hash, **options)
        self._receiver = receiver
        self._only_address = only_address

    async def __call__(self, request: TLRequest) -> Any:
        self._flood_waited_requests.clear()
        return await super().__call__(request)

    def send_history_request(self, request: HistoryRequest) -> Awaitable[TLObject]:
        """Send straight to the sender: without look-ups, caches, sleeps or retries."""
        answer: Awaitable[TLObject] = self._sender.send(WithoutUpdates(request))
        return answer

    async def move_to(self, dc_id: int) -> None:
        """Switch the data centre.

        Telethon does so itself only after certain errors; for a QR code, Telegram's answer says where to go.
        """
        await self._switch_dc(dc_id)

    async def connect(self) -> None:
        self._check_address()
        await super().connect()
        self._check_address()

    async def _update_loop(self) -> None:
        """Pass updates to the receiver.

        Telethon starts this once per connection, in place of its own loop.
        """
        receiver = self._receiver
        if receiver is None:
            return
        receiver.note_possible_gap()
        self.disconnected.add_done_callback(self._on_disconnect)
        while True:
            updates = await self._updates_queue.get()
            try:
                receiver.receive(updates)
            except Exception:
                log.exception("updates_not_understood", kind=type(updates).__name__)
                receiver.note_possible_gap()

    def _on_disconnect(self, future: asyncio.Future[None]) -> None:
        if not future.cancelled():
            future.exception()  # already handled; if not read, asyncio would log it
        if self._receiver is not None:
            self._receiver.note_possible_gap()

    def _check_address(self) -> None:
        address = self.session.server_address
        if self._only_address and (address != self._only_address or ":" in address):
            raise CannotStart(
                Reason(
                    "connection_elsewhere",
                    "the connection would go to {address} instead of {wanted}",
                    address=address,
                    wanted=self._only_address,
                ),
                remedy=Reason(
                    "set_data_center_address", "Set TELEGRAM_DC_ADDR to the simulator's IPv4 address"
                ),
            )


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
