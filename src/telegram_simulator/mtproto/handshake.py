"""Making an auth key: three questions in the clear, after which both sides know a secret."""

import secrets
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cryptg
from telethon.crypto import AuthKey
from telethon.extensions import BinaryReader
from telethon.helpers import generate_key_data_from_nonce
from telethon.tl import functions, types

from telegram_simulator.mtproto.crypto import DH_G, DH_PRIME, KEY_BYTES, RsaKey, sha1
from telegram_simulator.mtproto.transport import BadFrame

P, Q = 1_229_739_323, 1_402_015_859
"""Two primes whose product a client must factorise; small,
because that proves nothing here and costs time.
"""


@dataclass(slots=True)
class Handshake:
    """One connection's handshake. `finish` is told the new key."""

    rsa_key: RsaKey
    now: Callable[[], float]
    finish: Callable[[bytes], None]
    nonce: int = 0
    server_nonce: int = 0
    new_nonce: int = 0
    secret: int = 0

    def answer(self, body: bytes) -> bytes:
        """The answer to a plain message; BadFrame when it is out of order or wrong."""
        request = BinaryReader(body).tgread_object()
        match request:
            case functions.ReqPqMultiRequest() | functions.ReqPqRequest():
                return bytes(self._begin(request.nonce))
            case functions.ReqDHParamsRequest() if self._fits(request):
                return bytes(self._offer(request))
            case functions.SetClientDHParamsRequest() if self._fits(request) and self.secret:
                return bytes(self._agree(request))
            case _:
                raise BadFrame

    def _fits(self, request: Any) -> bool:
        return bool(self.server_nonce) and (request.nonce, request.server_nonce) == (
            self.nonce,
            self.server_nonce,
        )

    def _begin(self, nonce: int) -> types.ResPQ:
        self.nonce = nonce
        self.server_nonce = int.from_bytes(secrets.token_bytes(16), "little", signed=True)
        pq = (P * Q).to_bytes(8, "big")
        return types.ResPQ(nonce, self.server_nonce, pq, [self.rsa_key.fingerprint])

    def _offer(self, request: functions.ReqDHParamsRequest) -> types.ServerDHParamsOk:
        decrypted_bytes = self.rsa_key.decrypt(request.encrypted_data)
        inner = BinaryReader(decrypted_bytes[20:]).tgread_object()
        if not isinstance(inner, types.PQInnerData) or sha1(bytes(inner)) != decrypted_bytes[:20]:
            raise BadFrame
        self.new_nonce = inner.new_nonce
        self.secret = secrets.randbits(2040)
        answer = bytes(
            types.ServerDHInnerData(
                nonce=self.nonce,
                server_nonce=self.server_nonce,
                g=DH_G,
                dh_prime=DH_PRIME.to_bytes(KEY_BYTES, "big"),
                g_a=pow(DH_G, self.secret, DH_PRIME).to_bytes(KEY_BYTES, "big"),
                server_time=int(self.now()),
            )
        )
        hashed_bytes = sha1(answer) + answer
        key, iv = generate_key_data_from_nonce(self.server_nonce, self.new_nonce)
        encrypted_bytes = cryptg.encrypt_ige(
            hashed_bytes + secrets.token_bytes(-len(hashed_bytes) % 16), key, iv
        )
        return types.ServerDHParamsOk(self.nonce, self.server_nonce, encrypted_bytes)

    def _agree(self, request: functions.SetClientDHParamsRequest) -> types.DhGenOk:
        key, iv = generate_key_data_from_nonce(self.server_nonce, self.new_nonce)
        if not request.encrypted_data or len(request.encrypted_data) % 16:
            raise BadFrame
        inner = BinaryReader(cryptg.decrypt_ige(request.encrypted_data, key, iv)[20:]).tgread_object()
        if not isinstance(inner, types.ClientDHInnerData):
            raise BadFrame
        shared = pow(int.from_bytes(inner.g_b, "big"), self.secret, DH_PRIME)
        # Telethon hashes the key without its leading zero bytes, so one in 256 handshakes fails and is tried
        # again, as with Telegram. With a shorter key it would succeed, but a stored session fills keys up to
        # their length: it would not be known any more.
        auth_key = AuthKey(shared.to_bytes(KEY_BYTES, "big"))
        self.secret = 0
        self.finish(auth_key.key)
        return types.DhGenOk(self.nonce, self.server_nonce, auth_key.calc_new_nonce_hash(self.new_nonce, 1))


def plain(body: bytes, msg_id: int) -> bytes:
    """A message in the clear."""
    return struct.pack("<qqi", 0, msg_id, len(body)) + body
