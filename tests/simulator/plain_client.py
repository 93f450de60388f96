"""A client that writes packets by hand, for what Telethon never sends."""

import asyncio
import hashlib
import secrets
import struct
import time
from collections.abc import Callable
from typing import Self

import cryptg

from telegram_simulator.mtproto.crypto import key_id_of
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.world import HOME_DC
from tests.simulator.conftest import PHONE


class PlainClient:
    """Intermediate transport, one logged-in key, sessions as one likes."""

    def __init__(self, sim: Simulator, key: bytes | None = None) -> None:
        self.key = key or sim.new_login(PHONE)
        self.salt = sim.salt
        self.session_id = secrets.token_bytes(8)
        self.server_ids: list[int] = []
        self._old_session = self.session_id
        self._where = sim.host, sim.ports[HOME_DC]
        self._last_id = 0
        self._numbers = 0

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection(*self._where)
        self.writer.write(b"\xee" * 4)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        await self.writer.wait_closed()

    def new_session(self, *, back: bool = False) -> None:
        self.server_ids.clear()
        self._old_session, self.session_id = (
            self.session_id,
            self._old_session if back else secrets.token_bytes(8),
        )

    def next_id(self) -> int:
        self._last_id = max(int(time.time() * 2**32) & ~3, self._last_id + 4)
        return self._last_id

    async def send(self, body: bytes, *, msg_id: int | None = None) -> int:
        msg_id = self.next_id() if msg_id is None else msg_id
        self._numbers += 1
        plaintext = (
            struct.pack("<q8sqii", self.salt, self.session_id, msg_id, self._numbers * 2 + 1, len(body))
            + body
        )
        await self.send_plaintext(plaintext)
        return msg_id

    async def send_plaintext(self, plaintext: bytes) -> None:
        padded = plaintext + secrets.token_bytes(12 + -(len(plaintext) + 12) % 16)
        msg_key = hashlib.sha256(self.key[88:120] + padded).digest()[8:24]
        key, iv = self._key_and_iv(msg_key, 0)
        packet = key_id_of(self.key) + msg_key + cryptg.encrypt_ige(padded, key, iv)
        self.writer.write(struct.pack("<i", len(packet)) + packet)
        await self.writer.drain()

    async def receive(self) -> bytes:
        (length,) = struct.unpack("<i", await asyncio.wait_for(self.reader.readexactly(4), 30))
        packet = await self.reader.readexactly(length)
        key, iv = self._key_and_iv(packet[8:24], 8)
        plaintext = cryptg.decrypt_ige(packet[24:], key, iv)
        _, _, msg_id, _, size = struct.unpack_from("<q8sqii", plaintext)
        self.server_ids.append(msg_id)
        return bytes(plaintext[32 : 32 + size])

    async def receive_until(self, fits: Callable[[bytes], bool]) -> bytes:
        while not fits(body := await self.receive()):
            pass
        return body

    async def ping(self) -> None:
        number = secrets.randbits(60)
        await self.send(struct.pack("<Iq", 0x7ABE77EC, number))
        await self.receive_until(
            lambda body: (
                body.startswith(struct.pack("<I", 0x347773C5)) and body.endswith(struct.pack("<q", number))
            )
        )

    def _key_and_iv(self, msg_key: bytes, x: int) -> tuple[bytes, bytes]:
        a = hashlib.sha256(msg_key + self.key[x : x + 36]).digest()
        b = hashlib.sha256(self.key[x + 40 : x + 76] + msg_key).digest()
        return a[:8] + b[8:24] + a[24:32], b[:8] + a[8:24] + b[24:32]
