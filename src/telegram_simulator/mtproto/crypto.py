"""The cryptography of MTProto 2.0, server side."""

import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path

import cryptg
import rsa
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

KEY_BYTES = 256
RSA_BITS, RSA_EXPONENT = 2048, 65537

DH_G = 3
DH_PRIME = int(
    "C71CAEB9C6B1C9048E6C522F70F13F73980D40238E3E21C14934D037563D930F"
    "48198A0AA7C14058229493D22530F4DBFA336F6E0AC925139543AED44CCE7C37"
    "20FD51F69458705AC68CD4FE6B6B13ABDC9746512969328454F18FAF8C595F64"
    "2477FE96BB2A941D5BCD1D4AC8CC49880708FA9B378E3C4F3A9060BEE67CF9A4"
    "A4A695811051907E162753B56B0F6B410DBA74D8A84B2A14B3144E0EF1284754"
    "FD17ED950D5965B4B9DD46582DB1178D169C6BC465B0D6FF9CA3928FEF5B9AE4"
    "E418FC15E83EBEA0F87FA9FF5EED70050DED2849F47BF959D956850CE929851F"
    "0D8115F635B105EE2E4E15D04B2454BF6F4FADF034B10403119CD8E3B92FCC5B",
    16,
)
"""The 2048-bit safe prime that clients of this protocol expect."""


class NotAuthentic(Exception):
    """A packet was not made with the key it claims."""


def sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()


def key_id_of(auth_key: bytes) -> bytes:
    return sha1(auth_key)[-8:]


def _key_and_iv(auth_key: bytes, msg_key: bytes, *, from_server: bool) -> tuple[bytes, bytes]:
    x = 8 if from_server else 0
    a = hashlib.sha256(msg_key + auth_key[x : x + 36]).digest()
    b = hashlib.sha256(auth_key[x + 40 : x + 76] + msg_key).digest()
    return a[:8] + b[8:24] + a[24:32], b[:8] + a[8:24] + b[24:32]


def _msg_key(auth_key: bytes, plaintext: bytes, *, from_server: bool) -> bytes:
    x = 8 if from_server else 0
    digest = hashlib.sha256(auth_key[88 + x : 120 + x])
    digest.update(plaintext)
    return digest.digest()[8:24]


def encrypt(auth_key: bytes, key_id: bytes, plaintext: bytes) -> bytes:
    """A whole packet for the client; `plaintext` is everything from the salt to the body's end."""
    padded_bytes = plaintext + secrets.token_bytes(12 + -(len(plaintext) + 12) % 16)
    msg_key = _msg_key(auth_key, padded_bytes, from_server=True)
    key, iv = _key_and_iv(auth_key, msg_key, from_server=True)
    return key_id + msg_key + cryptg.encrypt_ige(padded_bytes, key, iv)


def decrypt(auth_key: bytes, packet: bytes) -> bytes:
    """The plaintext of a client's packet, its padding included; NotAuthentic if the key does not fit."""
    msg_key, encrypted_bytes = packet[8:24], packet[24:]
    if len(encrypted_bytes) < 48 or len(encrypted_bytes) % 16:
        raise NotAuthentic
    key, iv = _key_and_iv(auth_key, msg_key, from_server=False)
    plaintext: bytes = cryptg.decrypt_ige(encrypted_bytes, key, iv)
    if _msg_key(auth_key, plaintext, from_server=False) != msg_key:
        raise NotAuthentic
    return plaintext


@dataclass(frozen=True, slots=True)
class RsaKey:
    """The server's key: clients learn its public half beforehand."""

    private: rsa.PrivateKey
    fingerprint: int

    @property
    def public_pem(self) -> str:
        pem: bytes = rsa.PublicKey(self.private.n, self.private.e).save_pkcs1()
        return pem.decode()

    def decrypt(self, data: bytes) -> bytes:
        """Raw RSA: what comes out is SHA1, data and random bytes, 255 in all."""
        return pow(int.from_bytes(data, "big"), self.private.d, self.private.n).to_bytes(KEY_BYTES, "big")[1:]


def load_or_make_key(path: Path) -> RsaKey:
    """The key in the file; made, and kept for the next start, when there is none."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # The rsa library would take seconds, on a slow machine minutes.
        new_key = generate_private_key(RSA_EXPONENT, RSA_BITS).private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
        )
        temporary = path.with_suffix(f".{secrets.token_hex(4)}")
        temporary.touch(mode=0o600)
        temporary.write_bytes(new_key)
        temporary.rename(path)
    private = rsa.PrivateKey.load_pkcs1(path.read_bytes())
    return RsaKey(private, _fingerprint(private))


def _fingerprint(key: rsa.PrivateKey) -> int:
    parts = b"".join(
        _tl_bytes(number.to_bytes((number.bit_length() + 7) // 8, "big")) for number in (key.n, key.e)
    )
    return int.from_bytes(sha1(parts)[-8:], "little", signed=True)


def _tl_bytes(data: bytes) -> bytes:
    length_bytes = bytes([len(data)]) if len(data) < 254 else b"\xfe" + len(data).to_bytes(3, "little")
    return length_bytes + data + bytes(-(len(length_bytes) + len(data)) % 4)
