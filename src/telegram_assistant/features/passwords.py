"""Passwords, hashed with argon2. A hash takes half a second and 64 MB, so two at most are computed at once, away from the event loop."""

import asyncio

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

AT_ONCE = 2


class Passwords:
    """One per process."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._nobodys = ""

    async def hash(self, password: str) -> str:
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def matches(self, password: str, stored: str | None) -> bool:
        """Compares as long if there is no such person, so that the time tells nothing."""
        if stored is None:
            self._nobodys = self._nobodys or await self.hash("nobody")
        async with self._turns:
            return await asyncio.to_thread(self._verify, stored or self._nobodys, password) and stored is not None

    def _verify(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False
