"""A provider's access token, fetched once and shared by all processes.

It is encrypted with a key derived from the credentials.
"""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from telegram_assistant.stores.redis.client import FREE, Redis, await_reply

MARGIN_SECONDS = 60.0
"""A token that expires within this time is not used any more."""
FETCH_SECONDS = 30
ASK_SECONDS = 0.1
NONCE_BYTES = 12


class AiToken:
    """One per process and key. Without the credentials the token can be neither found nor decrypted."""

    def __init__(self, redis: Redis, *, credentials: str, scope: str) -> None:
        sealed_for = hashlib.sha256(f"{scope}\n{credentials}".encode()).digest()
        self._redis = redis
        self._cipher = AESGCM(hashlib.sha256(b"seal" + sealed_for).digest())
        self._key = f"ai:token:{hashlib.sha256(b'name' + sealed_for).hexdigest()[:16]}"
        self._free = redis.register_script(FREE)
        self._fetching = asyncio.Lock()

    async def current(self) -> str | None:
        return self._open_token(await await_reply(self._redis.get(self._key)))

    async def renew(
        self, fetch: Callable[[], Awaitable[tuple[str, float]]], *, instead_of: str | None
    ) -> str:
        """A token other than `instead_of`, fetched here or by another process that was faster."""
        holder = os.urandom(8).hex()
        async with self._fetching:
            while True:
                current_token = await self.current()
                if current_token is not None and current_token != instead_of:
                    return current_token
                if await await_reply(self._redis.set(f"{self._key}:lock", holder, nx=True, ex=FETCH_SECONDS)):
                    break
                await asyncio.sleep(ASK_SECONDS)
            try:
                token, seconds = await fetch()
                good_for = max(1, int(1000 * (seconds - MARGIN_SECONDS)))
                await await_reply(self._redis.set(self._key, self._seal_token(token), px=good_for))
            finally:
                await asyncio.shield(await_reply(self._free(keys=[f"{self._key}:lock"], args=[holder])))
        return token

    def _seal_token(self, token: str) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, token.encode(), None)

    def _open_token(self, sealed: bytes | str | None) -> str | None:
        if not isinstance(sealed, bytes):
            return None
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None).decode()
        except (InvalidTag, ValueError):
            return None  # the value is foreign or damaged: fetch a new token
