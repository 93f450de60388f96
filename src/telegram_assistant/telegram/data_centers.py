"""Data centres that are not an account's own: where some of the files are.

An account's login is taken there once (export and import) and lives as long as the line. A connection there is a wire like
the one at home: under the same lease, with the same timeout, hung up in the same time, and made anew when it is next needed.
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
from telegram_assistant.supervision import end
from telegram_assistant.telegram.connection import Connection

type Ask = Callable[[Any], Awaitable[Any]]


@dataclass(slots=True)
class DataCenter:
    """A data centre, and the account's login there: a token until it is used, then a key."""

    dc_id: int
    address: str
    port: int
    token: Any
    key: AuthKey | None = None


class DataCenterClient:
    """A connection to another data centre, with as much of a client as a wire needs. Nothing but files is asked there."""

    def __init__(self, client: TelegramClient, place: DataCenter) -> None:
        self._client = client
        self._place = place
        # As the client's own sender: it neither reconnects nor tries again by itself.
        self._sender = MTProtoSender(place.key, loggers=client._log, retries=1, delay=0, auto_reconnect=False, connect_timeout=10)  # noqa: SLF001 -- there is no public way

    async def connect(self) -> None:
        client, place = self._client, self._place
        connection = client._connection(place.address, place.port, place.dc_id, loggers=client._log, proxy=client._proxy)  # noqa: SLF001 -- as above
        await self._sender.connect(connection)
        introduction = client._init_request  # noqa: SLF001 -- as above
        taken = place.key is not None
        introduction.query = (
            functions.help.GetConfigRequest() if taken else functions.auth.ImportAuthorizationRequest(id=place.token.id, bytes=place.token.bytes)
        )
        await self._sender.send(functions.InvokeWithLayerRequest(LAYER, introduction))
        place.key, place.token = self._sender.auth_key, None

    def __call__(self, request: Any) -> Awaitable[Any]:  # noqa: ANN401 -- Telethon's requests and answers have no types
        answer: Awaitable[Any] = self._sender.send(functions.InvokeWithoutUpdatesRequest(request))
        return answer

    def is_connected(self) -> bool:
        return bool(self._sender.is_connected())

    async def disconnect(self) -> None:
        await self._sender.disconnect()

    @property
    def disconnected(self) -> "asyncio.Future[None]":
        over: asyncio.Future[None] = self._sender.disconnected
        return over


class DataCenterConnections:
    """The wires of one line to other data centres."""

    def __init__(self, make_wire: Callable[[DataCenter], Connection], *, home: Callable[[], int], only_at: str = "") -> None:
        self._make_wire = make_wire
        self._home = home
        self._only_at = only_at
        self._wires: dict[int, tuple[Connection, asyncio.Task[None]]] = {}
        self._finding = asyncio.Lock()

    def is_home(self, dc_id: int) -> bool:
        return dc_id == self._home()

    async def wire(self, dc_id: int, ask: Ask) -> Connection:
        """The wire to a data centre. What has to be asked at home for it is asked through `ask`, once."""
        async with self._finding:
            if dc_id not in self._wires:
                place = await self._place(dc_id, ask)
                wire = self._make_wire(place)
                self._wires[dc_id] = wire, asyncio.create_task(wire.hang_up_in_time())
            return self._wires[dc_id][0]

    async def _place(self, dc_id: int, ask: Ask) -> DataCenter:
        config = await ask(functions.help.GetConfigRequest())
        options = [one for one in config.dc_options if one.id == dc_id and not (one.ipv6 or one.cdn or one.tcpo_only)]
        if not options or (self._only_at and options[0].ip_address != self._only_at):
            raise CannotStart(f"there is no way to data centre {dc_id}", remedy="Set TELEGRAM_DC_ADDR to the simulator's IPv4 address")
        token = await ask(functions.auth.ExportAuthorizationRequest(dc_id))
        return DataCenter(dc_id, options[0].ip_address, options[0].port, token)

    async def forget(self, dc_id: int) -> None:
        """The login there is of no use: the next request takes it there anew."""
        if dc_id in self._wires:
            wire, watching = self._wires.pop(dc_id)
            await end([watching])
            await wire.hang_up()

    async def leave(self) -> None:
        for dc_id in list(self._wires):
            await self.forget(dc_id)
