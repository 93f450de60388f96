"""A simulator in the test's own process, and unmodified clients that connect to it over TCP."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from telethon import TelegramClient
from telethon.crypto import AuthKey, rsa
from telethon.sessions import MemorySession

from telegram_simulator.control.operations import Control
from telegram_simulator.mtproto.crypto import RsaKey, load_or_make_key
from telegram_simulator.simulator import Options, Simulator, running
from telegram_simulator.world.tiny import tiny_channels
from telegram_simulator.world.world import HOME_DC, Many, World

PHONE = "79990000001"

type MakeClient = Callable[..., Awaitable[TelegramClient]]


@pytest.fixture(scope="session")
def rsa_key(tmp_path_factory: pytest.TempPathFactory) -> RsaKey:
    """One key for all test processes: making it takes seconds."""
    shared = Path(tmp_path_factory.getbasetemp()).parent / "simulator-key.pem"
    key = load_or_make_key(shared)
    rsa.add_key(key.public_pem, old=False)
    return key


@pytest.fixture
async def sim(rsa_key: RsaKey) -> AsyncIterator[Simulator]:
    """The tiny world beside a thousand channels of load, without flood rules."""
    now = int(time.time())
    world = World(seed=1, clock=time.time, channels=tiny_channels(now), many=Many(1, 1000, 5000, now))
    async with running(world, rsa_key, Options(limits={})) as simulator:
        yield simulator
        assert simulator.counters.crashes == 0


@pytest.fixture
def control(sim: Simulator) -> Control:
    return Control(sim)


@pytest.fixture(autouse=True)
def fresh_config() -> Iterator[None]:
    """Telethon keeps the list of data centres in the class; every simulator has its own ports."""
    TelegramClient._config = None  # noqa: SLF001 -- there is no public way
    yield
    TelegramClient._config = None  # noqa: SLF001 -- as above


def session_for(sim: Simulator, phone: str | None = PHONE) -> MemorySession:
    session = MemorySession()
    session.set_dc(HOME_DC, sim.host, sim.ports[HOME_DC])
    if phone is not None:
        session.auth_key = AuthKey(sim.new_login(phone))
    return session


@pytest.fixture
async def make_client(sim: Simulator) -> AsyncIterator[MakeClient]:
    made: list[TelegramClient] = []

    async def make(phone: str | None = PHONE, *, session: Any = None, **options: Any) -> TelegramClient:
        client = TelegramClient(
            session if session is not None else session_for(sim, phone), 1, "hash", **options
        )
        made.append(client)
        await client.connect()
        assert client.session.server_address == sim.host  # a client that went elsewhere must not be trusted
        return client

    yield make
    for client in made:
        if client.is_connected():
            await client.disconnect()


@pytest.fixture
async def client(make_client: MakeClient) -> TelegramClient:
    return await make_client()
