"""The registry of methods, and how a method refuses."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

from telegram_simulator.faults import Counters
from telegram_simulator.mtproto.keys import KeyRecord, Keys
from telegram_simulator.tl.messages import Raw
from telegram_simulator.world.account import Account, LoginToken
from telegram_simulator.world.channel import Channel
from telegram_simulator.world.files import Files
from telegram_simulator.world.world import World


class RpcError(Exception):
    """The answer to a call is an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code} {message}")
        self.code = code
        self.message = message


class Ready(NamedTuple):
    """A message that is ready to be sent, and the channel it was forwarded from."""

    message: Raw
    origin: int | None


class Server(Protocol):
    """The part of the server that methods use."""

    world: World
    keys: Keys
    counters: Counters
    files: Files
    host: str
    ports: dict[int, int]
    exported: dict[bytes, str]
    login_tokens: dict[bytes, LoginToken]

    @property
    def login_token_seconds(self) -> float: ...
    def now(self) -> float: ...
    def ready(self, channel: Channel, message_id: int) -> Ready: ...
    def push_update(self, update: Any, is_wanted: Callable[[KeyRecord], bool]) -> None: ...


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a method: its auth key, and the data centre that it is connected to."""

    server: Server
    record: KeyRecord
    dc_id: int

    @property
    def world(self) -> World:
        return self.server.world

    @property
    def account(self) -> Account:
        if self.record.phone is None:
            raise RpcError(401, "AUTH_KEY_UNREGISTERED")
        return self.world.account(self.record.phone)

    def channel(self, channel_id: int, access_hash: int) -> Channel:
        """A channel that the caller may look into."""
        channel = self.world.channel(channel_id)
        account = self.account
        if channel is None or access_hash != self.world.access_hash(account, channel_id):
            raise RpcError(400, "CHANNEL_INVALID")
        if account.phone in channel.banned or (channel.is_private and channel_id not in account.joined):
            raise RpcError(406, "CHANNEL_PRIVATE")
        return channel


@dataclass(frozen=True, slots=True)
class Method:
    """One method. Anonymous ones may be called before logging in."""

    answer: Callable[[Any, Caller], bytes]
    anonymous: bool
    cost: Callable[[Any], int]


METHODS: dict[type, Method] = {}


def answers(
    request: type, *, is_anonymous: bool = False, cost: Callable[[Any], int] = lambda _request: 1
) -> Callable[[Callable[[Any, Caller], bytes]], Callable[[Any, Caller], bytes]]:
    """Register a function as the answer to a request; `cost` is how many calls it counts for."""

    def register(function: Callable[[Any, Caller], bytes]) -> Callable[[Any, Caller], bytes]:
        METHODS[request] = Method(function, is_anonymous, cost)
        return function

    return register


@cache
def name_of(request: type) -> str:
    """The method's name as the documentation writes it, like messages.getHistory."""
    name = request.__name__.removesuffix("Request")
    space = request.__module__.removeprefix("telethon.tl.functions").lstrip(".")
    return ".".join(part for part in (space, name[:1].lower() + name[1:]) if part)
