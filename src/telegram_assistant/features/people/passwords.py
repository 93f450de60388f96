"""Passwords, hashed with argon2. A hash takes half a second and 64 MB, so two at most are computed at once,
away from the event loop.

PostgreSQL compares: it stores the SHA-256 of a hash and gives away its parameters and salt only. A hash that
was computed here is the proof that somebody knows the password.
"""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from enum import StrEnum
from functools import partial

from argon2.low_level import Type, hash_secret_raw
from argon2.profiles import RFC_9106_LOW_MEMORY

from telegram_assistant.domain.people.person import PasswordVerifier
from telegram_assistant.errors import Busy
from telegram_assistant.reasons import Reason

AT_ONCE = 2
SALT_BYTES = 16
HASH_BYTES = 32
RETRY_SECONDS = 5.0
QUEUE_FULL = Reason(
    "passwords_busy",
    "many people are logging in right now; try again in {seconds:.0f} s",
    seconds=RETRY_SECONDS,
)


class PasswordQueue(StrEnum):
    """A queue of requests that wait for a password hash."""

    KNOWN_BROWSER = "known browser"
    """A login from a browser that the person has used before. Strangers cannot fill its queue."""
    LOGIN = "login"
    CHANGE = "change"
    """A new password. One at a time, so that the other place is always left for logins."""


MAX_QUEUED = {PasswordQueue.KNOWN_BROWSER: 6, PasswordQueue.LOGIN: 6, PasswordQueue.CHANGE: 3}
"""Waiting or being computed; one more is refused at once."""


class Passwords:
    """One per process."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(AT_ONCE)
        self._changes = asyncio.Semaphore(1)
        self._queued = dict.fromkeys(PasswordQueue, 0)
        self._nobodys_parameters = _new_parameters()

    async def create_verifier(
        self, password: str, *, queue: PasswordQueue = PasswordQueue.CHANGE
    ) -> PasswordVerifier:
        """Computes the verifier of a new password. Raises Busy if too many wait."""
        parameters = _new_parameters()
        proof = await self._wait_in(queue, lambda: _compute(password, parameters))
        return PasswordVerifier(parameters, hashlib.sha256(proof).digest())

    async def prove(self, password: str, parameters: str | None, *, queue: PasswordQueue) -> bytes:
        """The hash that proves the password.

        It takes as long if nobody has such a name, so that the time tells nothing. Raises Busy as above.
        """
        return await self._wait_in(queue, lambda: _compute(password, parameters or self._nobodys_parameters))

    async def _wait_in(self, queue: PasswordQueue, compute: Callable[[], bytes]) -> bytes:
        if self._queued[queue] >= MAX_QUEUED[queue]:
            raise Busy(QUEUE_FULL, retry_after_seconds=RETRY_SECONDS)
        self._queued[queue] += 1
        try:
            return await self._compute_within(
                compute, [self._changes, self._places] if queue is PasswordQueue.CHANGE else [self._places]
            )
        finally:
            self._queued[queue] -= 1

    async def _compute_within(
        self, compute: Callable[[], bytes], limits: Sequence[asyncio.Semaphore]
    ) -> bytes:
        """A thread cannot be cancelled: its place is free when it has ended,
        not when nobody waits for it any more.
        """
        async with AsyncExitStack() as exit_stack:
            for limit in limits:
                await exit_stack.enter_async_context(limit)
            computing = asyncio.ensure_future(asyncio.to_thread(compute))
            computing.add_done_callback(partial(_release, limits))
            exit_stack.pop_all()  # the callback gives them back
        return await asyncio.shield(computing)


def _release(limits: Sequence[asyncio.Semaphore], _ended: asyncio.Future[bytes]) -> None:
    for limit in limits:
        limit.release()


def _new_parameters() -> str:
    """Algorithm, version, cost and salt, as argon2 writes them in front of a hash."""
    costs = RFC_9106_LOW_MEMORY
    salt = base64.b64encode(secrets.token_bytes(SALT_BYTES)).decode().rstrip("=")
    return (
        f"$argon2id$v={costs.version}$m={costs.memory_cost},t={costs.time_cost},p={costs.parallelism}${salt}"
    )


def _compute(password: str, parameters: str) -> bytes:
    _, _, version, costs, salt = parameters.split("$")
    cost = {name: int(number) for name, _, number in (part.partition("=") for part in costs.split(","))}
    return hash_secret_raw(
        password.encode(),
        base64.b64decode(salt + "=" * (-len(salt) % 4)),
        time_cost=cost["t"],
        memory_cost=cost["m"],
        parallelism=cost["p"],
        hash_len=HASH_BYTES,
        type=Type.ID,
        version=int(version.removeprefix("v=")),
    )
