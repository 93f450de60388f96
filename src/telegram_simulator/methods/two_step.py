"""The two-step password: SRP, so that the password itself is never
sent. telethon.password is the client's half.
"""

import secrets
from hashlib import sha256
from typing import Any

from telethon.password import compute_digest
from telethon.tl import functions, types

from telegram_simulator.methods.registry import Caller, RpcError, answers
from telegram_simulator.mtproto.crypto import DH_G, DH_PRIME, KEY_BYTES
from telegram_simulator.tl.objects import user_object
from telegram_simulator.world.account import Account, Riddle

ALGORITHM = types.PasswordKdfAlgoSHA256SHA256PBKDF2HMACSHA512iter100000SHA256ModPow(
    salt1=b"simulated salt 1", salt2=b"simulated salt 2", g=DH_G, p=DH_PRIME.to_bytes(KEY_BYTES, "big")
)


@answers(functions.account.GetPasswordRequest, is_anonymous=True)
def get_password(_request: Any, caller: Caller) -> bytes:
    account = _half_logged_in(caller)
    details: dict[str, Any] = {"has_password": None}
    if account.password is not None:
        account.riddle = Riddle(
            secrets.randbits(62),
            secrets.randbits(8 * KEY_BYTES),
            int.from_bytes(compute_digest(ALGORITHM, account.password), "big"),
        )
        details = {
            "has_password": True,
            "current_algo": ALGORITHM,
            "srp_B": _bytes(_public(account.riddle)),
            "srp_id": account.riddle.number,
        }
    return bytes(
        types.account.Password(
            types.PasswordKdfAlgoUnknown(),
            types.SecurePasswordKdfAlgoUnknown(),
            secrets.token_bytes(16),
            **details,
        )
    )


@answers(functions.auth.CheckPasswordRequest, is_anonymous=True)
def check_password(request: Any, caller: Caller) -> bytes:
    account, password_check = _half_logged_in(caller), request.password
    if account.riddle is None or password_check.srp_id != account.riddle.number:
        raise RpcError(400, "SRP_ID_INVALID")
    riddle, account.riddle = account.riddle, None
    if _proof(riddle, password_check.A) != password_check.M1:
        raise RpcError(400, "PASSWORD_HASH_INVALID")
    caller.server.keys.log_in(caller.record, account.phone)
    caller.record.awaits_password = None
    return bytes(types.auth.Authorization(user=user_object(account, is_self=True)))


def _half_logged_in(caller: Caller) -> Account:
    """The account that gave the right code but not the password yet, or else the one that is logged in."""
    return (
        caller.account
        if caller.record.awaits_password is None
        else caller.world.account(caller.record.awaits_password)
    )


def _public(riddle: Riddle) -> int:
    multiplier = int.from_bytes(_hash(ALGORITHM.p, _bytes(DH_G)), "big")
    return (multiplier * riddle.verifier + pow(DH_G, riddle.secret, DH_PRIME)) % DH_PRIME


def _proof(riddle: Riddle, a: bytes) -> bytes:
    """The proof that a client sends if it knows the password (`M1` of SRP)."""
    b = _bytes(_public(riddle))
    scramble = int.from_bytes(_hash(a, b), "big")
    shared = pow(int.from_bytes(a, "big") * pow(riddle.verifier, scramble, DH_PRIME), riddle.secret, DH_PRIME)
    mixed_bytes = bytes(
        byte ^ other for byte, other in zip(_hash(ALGORITHM.p), _hash(_bytes(DH_G)), strict=True)
    )
    return _hash(mixed_bytes, _hash(ALGORITHM.salt1), _hash(ALGORITHM.salt2), a, b, _hash(_bytes(shared)))


def _bytes(number: int) -> bytes:
    return number.to_bytes(KEY_BYTES, "big")


def _hash(*parts: bytes) -> bytes:
    return sha256(b"".join(parts)).digest()
