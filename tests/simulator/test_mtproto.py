"""The wire, with unmodified Telethon: transports, handshake, sessions, salts, clocks, containers,
errors below the protocol.
"""

import asyncio
import hashlib
import struct
import time
from typing import Any

import cryptg
import pytest
from telethon import TelegramClient, errors
from telethon.crypto import AuthKey
from telethon.helpers import generate_key_data_from_nonce
from telethon.network import ConnectionTcpAbridged, ConnectionTcpFull, ConnectionTcpIntermediate
from telethon.sessions import StringSession
from telethon.tl import functions, types

from telegram_simulator.control.operations import Control
from telegram_simulator.mtproto.handshake import Handshake
from telegram_simulator.simulator import Simulator
from tests.simulator.conftest import PHONE, MakeClient, session_for
from tests.simulator.plain_client import PlainClient


@pytest.mark.parametrize("connection", [ConnectionTcpFull, ConnectionTcpAbridged, ConnectionTcpIntermediate])
async def test_every_transport_carries_small_and_large_answers(
    make_client: MakeClient, connection: Any
) -> None:
    client = await make_client(connection=connection)
    assert (await client.get_me()).phone == PHONE
    assert len(await client.get_messages("load_1", limit=100)) == 100


async def test_a_handshake_makes_a_key_that_works(make_client: MakeClient) -> None:
    client = await make_client(phone=None)
    assert not await client.is_user_authorized()
    await client.send_code_request("+79995550101")
    assert (await client.sign_in("+79995550101", "12345")).phone == "79995550101"


def test_a_key_that_begins_with_zero_has_its_whole_length(sim: Simulator) -> None:
    """One in 256 does. A shorter one would work until its session is stored and loaded again."""
    made: list[bytes] = []
    handshake = Handshake(sim.rsa_key, time.time, made.append, nonce=1, server_nonce=2, new_nonce=3, secret=1)
    inner = bytes(types.ClientDHInnerData(nonce=1, server_nonce=2, retry_id=0, g_b=bytes([1]) * 255))
    hashed = hashlib.sha1(inner, usedforsecurity=False).digest() + inner
    encrypted = cryptg.encrypt_ige(hashed + bytes(-len(hashed) % 16), *generate_key_data_from_nonce(2, 3))
    answer = handshake.answer(bytes(functions.SetClientDHParamsRequest(1, 2, encrypted)))
    assert made == [bytes(1) + bytes([1]) * 255]
    assert AuthKey(made[0]).calc_new_nonce_hash(3, 1).to_bytes(16, "little", signed=True) in answer


async def test_a_session_string_is_all_that_is_needed(control: Control, make_client: MakeClient) -> None:
    string = control.session_string(PHONE)
    client = await make_client(session=StringSession(string))
    assert (await client.get_me()).phone == PHONE
    assert client.session.save() == string


async def test_the_first_message_of_a_session_gets_its_salt_and_is_sent_again(
    sim: Simulator, client: TelegramClient
) -> None:
    assert (await client.get_me()).phone == PHONE
    assert client._sender._state.salt == sim.salt  # noqa: SLF001 -- what the client has learnt


async def test_a_rotated_salt_is_learnt_without_a_failed_call(
    control: Control, client: TelegramClient
) -> None:
    for _ in range(3):
        control.rotate_salt()
        assert (await client.get_me()).phone == PHONE


@pytest.mark.parametrize("skew", [3600.0, -3600.0])
async def test_a_client_adapts_to_the_servers_clock(
    control: Control, make_client: MakeClient, skew: float
) -> None:
    control.skew_clock(skew)
    client = await make_client()
    assert (await client.get_me()).phone == PHONE


async def test_answers_are_compressed_when_asked_for(sim: Simulator, client: TelegramClient) -> None:
    sim.gzip_level = 1
    assert len(await client.get_messages("load_1", limit=100)) == 100


async def test_many_calls_at_once_come_in_containers_and_are_all_answered(
    sim: Simulator, client: TelegramClient
) -> None:
    answers = await asyncio.gather(*(client(functions.help.GetNearestDcRequest()) for _ in range(300)))
    assert len(answers) == 300
    assert sim.counters.calls[PHONE, "help.getNearestDc"] == 300


async def test_a_large_request_may_be_compressed(client: TelegramClient) -> None:
    channel = await client.get_input_entity("load_1")
    ids = list(range(2, 102))
    assert [message.id for message in await client.get_messages(channel, ids=ids)] == ids


async def test_a_message_that_comes_twice_is_processed_once(sim: Simulator) -> None:
    async with PlainClient(sim) as plain:
        request = bytes(functions.help.GetNearestDcRequest())
        msg_id = await plain.send(request)
        await plain.send(request, msg_id=msg_id)
        await plain.receive_until(lambda body: body.startswith(struct.pack("<Iq", 0xF35C6D01, msg_id)))
        await plain.ping()
        assert sim.counters.calls[PHONE, "help.getNearestDc"] == 1


async def test_an_unknown_constructor_is_answered_with_an_error_and_the_connection_lives(
    sim: Simulator,
) -> None:
    async with PlainClient(sim) as plain:
        msg_id = await plain.send(struct.pack("<I", 0xDEADBEEF))
        answer = await plain.receive_until(
            lambda body: body.startswith(struct.pack("<Iq", 0xF35C6D01, msg_id))
        )
        assert b"INPUT_METHOD_INVALID" in answer
        await plain.ping()


async def test_a_key_that_the_server_does_not_know_is_told_below_the_protocol(sim: Simulator) -> None:
    session = session_for(sim, phone=None)
    session.auth_key = AuthKey(bytes(range(256)))
    client = TelegramClient(session, 1, "hash", connection_retries=1, retry_delay=0)
    with pytest.raises((errors.AuthKeyNotFound, ConnectionError)):
        await client.connect()
        await asyncio.wait_for(client.get_me(), 30)
    await client.disconnect()


async def test_too_many_connections_are_turned_away_until_there_is_room(
    sim: Simulator, make_client: MakeClient
) -> None:
    sim.faults.too_many_connections = True
    asyncio.get_running_loop().call_later(
        0.3,
        setattr,
        sim.faults,
        "too_many_connections",
        False,  # noqa: FBT003 -- setattr
    )
    client = await make_client(connection_retries=20, retry_delay=0.1)
    assert (await client.get_me()).phone == PHONE


async def test_refused_connections_are_tried_again(sim: Simulator, make_client: MakeClient) -> None:
    client = await make_client(connection_retries=50, retry_delay=0.05)
    sim.faults.refuse_connections = True
    sim.drop_connections()
    asyncio.get_running_loop().call_later(
        0.3,
        setattr,
        sim.faults,
        "refuse_connections",
        False,  # noqa: FBT003 -- setattr
    )
    await asyncio.sleep(0.05)
    assert (await asyncio.wait_for(client.get_me(), 30)).phone == PHONE


async def test_a_request_in_flight_is_sent_again_after_a_drop(
    sim: Simulator, make_client: MakeClient
) -> None:
    client = await make_client(retry_delay=0)
    channel = await client.get_input_entity("load_1")
    sim.faults.latency_seconds = 0.2
    waiting = asyncio.create_task(client.get_messages(channel, limit=10))
    await asyncio.sleep(0.05)
    assert sim.drop_connections(PHONE) == 1
    sim.faults.latency_seconds = 0.0
    assert len(await asyncio.wait_for(waiting, 60)) == 10


async def test_t17_a_stale_packet_of_the_old_session_is_tolerated(sim: Simulator) -> None:
    async with PlainClient(sim) as plain:
        await plain.ping()
        plain.new_session()
        await plain.ping()
        plain.new_session(back=True)
        await plain.ping()


async def test_t18_layer_and_login_are_remembered_with_the_key(
    sim: Simulator, make_client: MakeClient
) -> None:
    client = await make_client(retry_delay=0)
    record = next(sim.keys.records_of(PHONE))
    assert record.layer is not None
    sessions = set(record.sessions)
    sim.drop_connections(PHONE)
    await asyncio.sleep(0.3)
    assert (await asyncio.wait_for(client.get_me(), 30)).phone == PHONE
    assert set(record.sessions) > sessions  # another session id
    assert sim.counters.calls[PHONE, "help.getConfig"] == 1  # and initConnection was not sent again


async def test_t21_telethon_has_no_request_timeout_and_a_cancelled_call_does_no_harm(
    sim: Simulator, client: TelegramClient
) -> None:
    sim.faults.latency_seconds = 0.5
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.get_me(), 0.1)
    sim.faults.latency_seconds = 0.0
    assert (await client.get_me()).phone == PHONE


async def test_pings_and_future_salts_are_answered(sim: Simulator) -> None:
    async with PlainClient(sim) as plain:
        await plain.ping()
        msg_id = await plain.send(bytes(functions.GetFutureSaltsRequest(num=1)))
        answer = await plain.receive_until(
            lambda body: body.startswith(struct.pack("<Iq", 0xAE500895, msg_id))
        )
        now, count, since, until, salt = struct.unpack_from("<iiiiq", answer, 12)
        assert (count, salt) == (1, sim.salt)
        assert since < now < until
        session = types.DestroySessionOk(5)
        await plain.send(bytes(functions.DestroySessionRequest(5)))
        assert await plain.receive_until(lambda body: body == bytes(session))


async def test_server_messages_are_odd_and_rise(sim: Simulator) -> None:
    async with PlainClient(sim) as plain:
        for _ in range(20):
            await plain.ping()
        assert all(number % 2 == 1 for number in plain.server_ids)
        assert plain.server_ids == sorted(plain.server_ids)
        assert abs(plain.server_ids[-1] / 2**32 - time.time()) < 5
