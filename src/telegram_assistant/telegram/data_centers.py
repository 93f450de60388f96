"""Connections to data centres other than an account's own, which hold some of the files.

The account's login is transferred to each once (export and import) and lasts as long as the client. Such a
connection works like the one to the home data centre: same lease, same timeout, closed in the same time,
reopened when next needed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from telethon import TelegramClient
from telethon.crypto import AuthKey
from telethon.network import MTProtoSender
from telethon.tl import functions
from telethon.tl.alltlobjects import LAYER

from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.supervision import cancel_and_wait
from telegram_assistant.telegram.connection import Connection

type Ask = Callable[[Any], Awaitable[Any]]


@dataclass(slots=True)
class DataCenter:
    """A data centre and the account's login there: a token until it is used, then a key."""

    dc_id: int
    address: str
    port: int
    token: Any
    key: AuthKey | None = None


class DataCenterClient:
    """A connection to another data centre, with the part of a client's interface that Connection needs.

    Only files are requested there.
    """

    def __init__(self, client: TelegramClient, data_center: DataCenter) -> None:
        self._client = client
        self._data_center = data_center
        # Configured like the client's own sender: it neither reconnects nor retries by itself.
        self._sender = MTProtoSender(
            data_center.key,
            loggers=client._log,  # noqa: SLF001 -- there is no public way
            retries=1,
            delay=0,
            auto_reconnect=False,
            connect_timeout=10,
        )

    async def connect(self) -> None:
        client, data_center = self._client, self._data_center
        make_connection = client._connection  # noqa: SLF001 -- as above
        log, proxy = client._log, client._proxy  # noqa: SLF001 -- as above
        connection = make_connection(
            data_center.address, data_center.port, data_center.dc_id, loggers=log, proxy=proxy
        )
        await self._sender.connect(connection)
        init_request = client._init_request  # noqa: SLF001 -- as above
        has_key = data_center.key is not None
        init_request.query = (
            functions.help.GetConfigRequest()
            if has_key
            else functions.auth.ImportAuthorizationRequest(
                id=data_center.token.id, bytes=data_center.token.bytes
            )
        )
        await self._sender.send(functions.InvokeWithLayerRequest(LAYER, init_request))
        data_center.key, data_center.token = self._sender.auth_key, None

    def __call__(self, request: Any) -> Awaitable[Any]:
        answer: Awaitable[Any] = self._sender.send(functions.InvokeWithoutUpdatesRequest(request))
        return answer

    def is_connected(self) -> bool:
        return bool(self._sender.is_connected())

    async def disconnect(self) -> None:
        await self._sender.disconnect()

    @property
    def disconnected(self) -> "asyncio.Future[None]":
        future: asyncio.Future[None] = self._sender.disconnected
        return future


class DataCenterConnections:
    """The connections of one account to other data centres."""

    def __init__(
        self,
        make_connection: Callable[[DataCenter], Connection],
        *,
        home: Callable[[], int],
        only_address: str = "",
    ) -> None:
        self._make_connection = make_connection
        self._home = home
        self._only_address = only_address
        self._connections: dict[int, tuple[Connection, asyncio.Task[None]]] = {}
        self._opening = asyncio.Lock()

    def is_home(self, dc_id: int) -> bool:
        return dc_id == self._home()

    async def open_connection(self, dc_id: int, ask: Ask) -> Connection:
        """Return the connection to a data centre.

        The first call requests its address and an exported login from the home data centre, through `ask`.
        """
        async with self._opening:
            if dc_id not in self._connections:
                data_center = await self._data_center(dc_id, ask)
                connection = self._make_connection(data_center)
                self._connections[dc_id] = (
                    connection,
                    asyncio.create_task(connection.disconnect_before_lease_ends()),
                )
            return self._connections[dc_id][0]

    async def _data_center(self, dc_id: int, ask: Ask) -> DataCenter:
        config = await ask(functions.help.GetConfigRequest())
        options = [
            dc_option
            for dc_option in config.dc_options
            if dc_option.id == dc_id and not (dc_option.ipv6 or dc_option.cdn or dc_option.tcpo_only)
        ]
        if not options or (self._only_address and options[0].ip_address != self._only_address):
            raise CannotStart(
                Reason("data_center_unreachable", "data centre {dc_id} cannot be reached", dc_id=dc_id),
                remedy=Reason(
                    "set_data_center_address", "Set TELEGRAM_DC_ADDR to the simulator's IPv4 address"
                ),
            )
        token = await ask(functions.auth.ExportAuthorizationRequest(dc_id))
        return DataCenter(dc_id, options[0].ip_address, options[0].port, token)

    async def forget(self, dc_id: int) -> None:
        """Drop a login that is not accepted there. The next request transfers it again."""
        if dc_id in self._connections:
            connection, watchdog = self._connections.pop(dc_id)
            await cancel_and_wait([watchdog])
            await connection.disconnect()

    async def close(self) -> None:
        for dc_id in list(self._connections):
            await self.forget(dc_id)
