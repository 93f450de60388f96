"""Nonsense on the wire: random bytes, mutated packets, and well-encrypted packets with mutated insides.

20,000 packets here; 200,000 with --full. The seed is printed, so that a failure can be repeated.
"""

import asyncio
import contextlib
import gc
import random
import struct
import time
from pathlib import Path

import pytest
from telethon.tl import functions, types

from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY
from telegram_simulator.world.world import HOME_DC
from tests.simulator.conftest import PHONE, MakeClient
from tests.simulator.plain_client import PlainClient

HOSTILE = "79990000077"
TAGS = (b"\xef", b"\xee\xee\xee\xee", b"")
BATCH = 5


def requests(sim: Simulator) -> list[bytes]:
    """One of each method, as a client would send it."""
    account = sim.world.account(HOSTILE)
    channel = types.InputChannel(CITY, sim.world.access_hash(account, CITY))
    peer = types.InputPeerChannel(CITY, sim.world.access_hash(account, CITY))
    photo = types.InputPhotoFileLocation(1, 2, sim.world.file_reference(CITY, 8), "x")
    made = [
        functions.messages.GetHistoryRequest(peer, 5, None, 0, 100, 0, 0, 0),
        functions.channels.GetMessagesRequest(channel, [types.InputMessageID(5), types.InputMessageID(9)]),
        functions.messages.SearchRequest(
            peer, "мост", types.InputMessagesFilterEmpty(), None, None, 0, 0, 10, 0, 0, 0
        ),
        functions.messages.GetMessagesViewsRequest(peer, [1, 2, 3], increment=False),
        functions.messages.GetRepliesRequest(peer, 9, 0, None, 0, 10, 0, 0, 0),
        functions.updates.GetChannelDifferenceRequest(channel, types.ChannelMessagesFilterEmpty(), 5, 100),
        functions.updates.GetDifferenceRequest(1, None, 1),
        functions.upload.GetFileRequest(photo, 0, 4096),
        functions.contacts.ResolveUsernameRequest("gorod_news"),
        functions.messages.GetDialogsRequest(None, 0, types.InputPeerEmpty(), 10, 0),
        functions.auth.SignInRequest("79990000009", "hash", "12345"),
        functions.auth.ImportAuthorizationRequest(5, b"bytes"),
        functions.users.GetUsersRequest([types.InputUserSelf()]),
        functions.ReqPqMultiRequest(5),
    ]
    wrapped = [functions.InvokeWithLayerRequest(229, functions.InvokeWithoutUpdatesRequest(made[0]))]
    container = struct.pack("<Ii", 0x73F1F8DC, 2) + b"".join(
        struct.pack("<qii", 4 * n, 1, len(bytes(made[n]))) + bytes(made[n]) for n in (0, 1)
    )
    return [*(bytes(request) for request in (*made, *wrapped)), container]


def mutate(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        if not changed:
            break
        place = rng.randrange(len(changed))
        match rng.randrange(5):
            case 0:
                changed[place] ^= 1 << rng.randrange(8)
            case 1:
                changed[place] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                del changed[place : place + rng.randint(1, 8)]
            case 3:
                changed[place:place] = rng.randbytes(rng.randint(1, 8))
            case _:
                changed[place : place + 4] = struct.pack(
                    "<i", rng.choice((-1, 0, 1, 2**31 - 1, -(2**31), 10**6))
                )
    return bytes(changed)


async def throw_bytes(sim: Simulator, rng: random.Random, count: int) -> None:
    """Packets that no key made: each costs a connection."""
    for _ in range(count):
        reader, writer = await asyncio.open_connection(sim.host, sim.ports[HOME_DC])
        tag, body = rng.choice(TAGS), rng.randbytes(rng.randint(0, 300))
        framed = struct.pack("<i", len(body)) + body if rng.random() < 0.5 else body
        with contextlib.suppress(ConnectionError):
            writer.write(tag + framed)
            writer.write_eof()
            await asyncio.wait_for(reader.read(), 30)
        writer.close()


async def throw_insides(
    sim: Simulator, rng: random.Random, count: int, bodies: list[bytes], key: bytes
) -> None:
    """Packets that are encrypted well and make no sense inside; a refused one ends the connection."""
    left = count
    while left > 0:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            async with PlainClient(sim, key) as plain:
                while left > 0:
                    for _ in range(BATCH):
                        left -= 1
                        await throw_one(plain, rng, mutate(rng, rng.choice(bodies)))
                    await plain.ping()  # what was thrown so far has been dealt with


async def throw_one(plain: PlainClient, rng: random.Random, body: bytes) -> None:
    if rng.random() < 0.02:
        head = struct.pack("<q8sqii", plain.salt, plain.session_id, plain.next_id(), 1, len(body)) + body
        await plain.send_plaintext(mutate(rng, head))
    else:
        await plain.send(body)


def memory_mb() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * 4096 / 1e6


async def test_nonsense_neither_crashes_nor_hangs_nor_grows(
    sim: Simulator, make_client: MakeClient, request: pytest.FixtureRequest
) -> None:
    packets = 200_000 if request.config.getoption("full") else 20_000
    seed = int(time.time())
    print(f"fuzz seed {seed}")
    rng, bodies, key = random.Random(seed), requests(sim), sim.new_login(HOSTILE)
    bystander = await make_client()
    await throw_insides(sim, rng, 500, bodies, key)
    before, done = memory_mb(), 0
    while done < packets:
        await asyncio.wait_for(
            asyncio.gather(throw_bytes(sim, rng, 100), throw_insides(sim, rng, 900, bodies, key)), 60
        )
        done += 1000
        assert (await asyncio.wait_for(bystander.get_me(), 30)).phone == PHONE
    await asyncio.sleep(0.1)
    assert sim.counters.crashes == 0
    assert len(sim.connections) <= 2  # the bystander, and at most one that is just closing
    assert len(sim.keys) < 20
    assert memory_mb() - before < 60
    assert sum(sim.counters.calls.values()) > packets * 0.15  # much of it went deep, not just to the door
