"""The server: data centres that listen, a world behind them, and what is wrong with them at present."""

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from telethon.tl import types

from telegram_simulator.faults import Counters, Faults, Traced
from telegram_simulator.floods import TELEGRAM, Floods, Rule
from telegram_simulator.methods import METHODS, Caller, Ready, RpcError, name_of
from telegram_simulator.mtproto.connection import Connection
from telegram_simulator.mtproto.crypto import KEY_BYTES, RsaKey
from telegram_simulator.mtproto.keys import KeyRecord, Keys, Session
from telegram_simulator.mtproto.packets import Call, error_answer
from telegram_simulator.tl.objects import message, moment_of
from telegram_simulator.world.account import FROZEN, LoginToken
from telegram_simulator.world.channel import Channel
from telegram_simulator.world.files import Files
from telegram_simulator.world.world import HOME_DC, World

log = logging.getLogger(__name__)

DATA_CENTRES = (HOME_DC, 4)
MAX_READY = 50_000
FROZEN_MAY = {"help.getConfig", "users.getUsers", "updates.getState", "updates.getDifference", "auth.logOut"}
BOTS_MAY = {
    *(
        "help.getConfig",
        "help.getNearestDc",
        "users.getUsers",
        "updates.getState",
        "updates.getDifference",
        "updates.getChannelDifference",
    ),
    *(
        "auth.exportAuthorization",
        "auth.importAuthorization",
        "auth.importBotAuthorization",
        "auth.logOut",
        "contacts.resolveUsername",
    ),
    *(
        "channels.getChannels",
        "channels.getFullChannel",
        "channels.getMessages",
        "channels.leaveChannel",
        "upload.getFile",
    ),
}
DUPLICATED = (406, "AUTH_KEY_DUPLICATED")


@dataclass(frozen=True, slots=True)
class Options:
    """How the server is set up."""

    host: str = "127.0.0.1"
    ports: tuple[int, ...] = (0, 0)
    gzip_level: int = 0
    limits: Mapping[str, tuple[Rule, ...]] | None = None
    """None: as Telegram's."""


class Simulator:
    """One simulated Telegram. `running()` starts and stops it."""

    def __init__(self, world: World, rsa_key: RsaKey, options: Options) -> None:
        self.world = world
        self.rsa_key = rsa_key
        self.host = options.host
        self.gzip_level = options.gzip_level
        self.ports: dict[int, int] = {}
        self.web_url = ""
        """The address of the web server; empty without one."""
        self.keys = Keys()
        self.floods = Floods(TELEGRAM if options.limits is None else options.limits)
        self.faults = Faults()
        self.counters = Counters()
        self.files = Files()
        self.exported: dict[bytes, str] = {}
        """Tokens by which a login is taken to another data centre, each good once."""
        self.login_tokens: dict[bytes, LoginToken] = {}
        """QR codes that somebody shows, the oldest first."""
        self.salt = _new_salt()
        self.connections: set[Connection] = set()
        self._ready: OrderedDict[tuple[int, int], Ready] = OrderedDict()

    # --- what connections need ---

    def now(self) -> float:
        """The time on the server's clock."""
        return time.time() + self.faults.clock_skew_seconds

    @property
    def login_token_seconds(self) -> float:
        return self.faults.login_token_seconds

    def latency_seconds(self) -> float:
        return self.faults.latency_seconds

    def call(self, call: Call, connection: Connection, record: KeyRecord, _session: Session) -> bytes:
        """Answer a call; every refusal is an answer too."""
        method, began_at = name_of(call.request.__class__), time.perf_counter()
        try:
            answer, outcome = self._answer(method, call.request, connection, record), "ok"
        except RpcError as error:
            answer, outcome = error_answer(error.code, error.message), error.message
            self.counters.errors[error.message] += 1
        except Exception:  # a mistake of ours must not look like a silent network
            log.exception("the simulator failed in %s", method)
            answer, outcome = error_answer(500, "INTERNAL_SERVER_ERROR"), "INTERNAL_SERVER_ERROR"
            self.counters.crashes += 1
        self.counters.calls[record.phone or "", method] += 1
        elapsed_seconds = (time.perf_counter() - began_at) * 1000
        self.counters.trace.append(
            Traced(
                time.time(), record.phone, connection.dc_id, method, outcome, connection.peer, elapsed_seconds
            )
        )
        return answer

    def _answer(self, method: str, request: Any, connection: Connection, record: KeyRecord) -> bytes:
        self._watch_double_use(connection, record)
        if record.dead is not None:
            raise RpcError(*record.dead)
        failure = self.faults.failure_of(method, record.phone)
        if failure is not None:
            raise RpcError(failure.code, failure.message)
        known_method = METHODS.get(type(request))
        if known_method is None:
            raise RpcError(400, "INPUT_METHOD_INVALID")
        caller = Caller(self, record, connection.dc_id)
        if not known_method.anonymous:
            trouble = caller.account.trouble
            if trouble is not None and not (trouble == FROZEN and method in FROZEN_MAY):
                raise RpcError(*trouble)
            if caller.account.bot_token is not None and method not in BOTS_MAY:
                raise RpcError(400, "BOT_METHOD_INVALID")
        self._watch_flood(method, request, record)
        return known_method.answer(request, caller)

    def _watch_flood(self, method: str, request: Any, record: KeyRecord) -> None:
        caller = record.phone or getattr(request, "phone_number", "").lstrip("+")
        is_premium = bool(record.phone) and self.world.account(caller).premium
        wait = self.floods.check(
            caller, method, now=time.time(), is_premium=is_premium, cost=METHODS[type(request)].cost(request)
        )
        if wait is not None:
            raise RpcError(420, wait.message)

    def _watch_double_use(self, connection: Connection, record: KeyRecord) -> None:
        """One login, one connection: a call over an older one, after a newer one has called, is counted;
        from two machines, it kills the key.
        """
        connection.calls += 1
        newer = record.connections[record.connections.index(connection) + 1 :]
        if any(other.calls for other in newer):
            record.double_use += 1
        if record.phone is not None and any(
            other.peer != connection.peer and other.calls for other in record.connections
        ):
            record.double_use += 1
            record.dead = DUPLICATED

    # --- what is ready to be sent ---

    def ready(self, channel: Channel, message_id: int) -> Ready:
        """The message as bytes; kept until it changes."""
        key = (channel.channel_id, message_id)
        ready_server = self._ready.get(key)
        if ready_server is None:
            post = channel.get(message_id)
            assert post is not None
            origin = None if post.origin is None else post.origin.channel_id
            ready_server = self._ready[key] = Ready(message(self.world, channel, post), origin)
            if len(self._ready) > MAX_READY:
                self._ready.popitem(last=False)
        return ready_server

    def forget_ready(self, channel_id: int | None = None, message_id: int | None = None) -> None:
        if channel_id is None or message_id is None:
            self._ready.clear()
        else:
            self._ready.pop((channel_id, message_id), None)

    # --- keys and connections ---

    def new_login(self, phone: str) -> bytes:
        """A fresh auth key that is logged in at the account's data centre, as after handshake and code."""
        key = secrets.token_bytes(KEY_BYTES)
        self.keys.add(key, self.world.account(phone).home_dc, phone=phone)
        return key

    def push(self, channel: Channel, make: Callable[[str], Any]) -> None:
        """Sends an update to every account that has joined. `make` gets the phone: access hashes differ."""
        for connection, record in self._listening():
            if record.phone is None:
                continue
            account = self.world.account(record.phone)
            if connection.dc_id == account.home_dc and channel.channel_id in account.joined:
                connection.push(make(record.phone))
                self.counters.updates_sent += 1

    def push_update(self, update: Any, is_wanted: Callable[[KeyRecord], bool]) -> None:
        """Sends an update that belongs to no channel to every wanted key, logged in or not."""
        for connection, record in self._listening():
            if is_wanted(record):
                connection.push(types.UpdateShort(update, moment_of(self.now())))
                self.counters.updates_sent += 1

    def _listening(self) -> list[tuple[Connection, KeyRecord]]:
        """The newest connection of every key, unless updates get lost at present."""
        if self.faults.drop_updates:
            return []
        known_connections = ((connection, connection.record) for connection in self.connections)
        return [
            (connection, record)
            for connection, record in known_connections
            if record is not None and record.dead is None and record.connections[-1:] == [connection]
        ]

    def drop_connections(self, phone: str | None = None, *, abruptly: bool = True) -> int:
        dropped_connections = [
            connection
            for connection in self.connections
            if phone is None or (connection.record is not None and connection.record.phone == phone)
        ]
        for connection in dropped_connections:
            connection.close(abruptly=abruptly)
        return len(dropped_connections)

    async def serve(self, dc_id: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.faults.refuse_connections:
            writer.transport.abort()
            return
        connection = Connection(self, dc_id, reader, writer)
        self.connections.add(connection)
        self.counters.connections += 1
        try:
            await connection.run(too_many=self.faults.too_many_connections)
        finally:
            self.connections.discard(connection)


def _new_salt() -> int:
    return int.from_bytes(secrets.token_bytes(8), "little", signed=True) or 1


@asynccontextmanager
async def running(world: World, rsa_key: RsaKey, options: Options | None = None) -> AsyncIterator[Simulator]:
    """Listen on one port per data centre until the block ends."""
    chosen_options = options or Options()
    simulator = Simulator(world, rsa_key, chosen_options)
    servers = []
    try:
        for dc_id, port in zip(DATA_CENTRES, chosen_options.ports, strict=True):

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, dc_id: int = dc_id) -> Any:
                return simulator.serve(dc_id, reader, writer)

            server = await asyncio.start_server(accept, chosen_options.host, port, limit=4 * 1024 * 1024)
            servers.append(server)
            simulator.ports[dc_id] = server.sockets[0].getsockname()[1]
        yield simulator
    finally:
        for server in servers:
            server.close()
        simulator.drop_connections()
        await asyncio.sleep(0)
