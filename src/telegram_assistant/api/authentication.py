"""Authentication of /api/v1: keys, remembered for a minute at most, and how often each key and tenant may ask."""

import asyncio
import hmac
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import SecretStr

from telegram_assistant.api.rate_limiting import Limiter
from telegram_assistant.domain.tenants.access import KEY_BEGINS, Caller, hash_of
from telegram_assistant.settings import ApiSettings
from telegram_assistant.stores.postgres.tenants.keys import KeyDirectory
from telegram_assistant.stores.redis.rate_limits import Bucket, BucketOwner, RateLimitDecision

REMEMBERED_SECONDS = 60.0
MAX_REMEMBERED = 10_000
KEY_LETTERS = len(KEY_BEGINS) + 43
LOOK_UPS_AT_ONCE = 2
"""Keys that this process has never seen wait for each other, so that strangers who try keys never hold all connections to PostgreSQL."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    caller: Caller
    until: float
    changes: int | None


class Authenticator:
    """Remembers whose keys are whose. A revoked key is forgotten at once: every request that is counted says whether keys have changed."""

    def __init__(self, directory: KeyDirectory, limiter: Limiter, *, settings: ApiSettings, operator_key: SecretStr) -> None:
        self._directory, self._limiter, self._settings = directory, limiter, settings
        self._operator_key = operator_key.get_secret_value().encode()
        self._known: dict[bytes, _Remembered] = {}
        self._strangers = asyncio.Semaphore(LOOK_UPS_AT_ONCE)

    async def admitted(self, key: str) -> tuple[Caller, RateLimitDecision] | None:
        """Whoever asks, and whether they may ask now; None when nobody has such a key."""
        hashed = hash_of(key)
        known = await self._remembered(hashed, key)
        if known is None:
            return None
        taken = await self._limiter.take(*self._buckets(known.caller))
        if taken.changes is not None and taken.changes != known.changes:
            known = await self._look_up(hashed, key, taken.changes)
        return None if known is None else (known.caller, taken)

    async def _remembered(self, hashed: bytes, key: str) -> _Remembered | None:
        known = self._known.get(hashed)
        if known is not None and known.until > time.monotonic():
            return known
        if not self._is_operators(key) and not (key.startswith(KEY_BEGINS) and len(key) == KEY_LETTERS):
            return None
        changes = await self._limiter.changes()
        if known is not None:
            return await self._look_up(hashed, key, changes)
        async with self._strangers:
            return await self._look_up(hashed, key, changes)

    async def _look_up(self, hashed: bytes, key: str, changes: int | None) -> _Remembered | None:
        """`changes` was read before, so a key that is revoked meanwhile is looked up again."""
        caller = await (self._directory.operator() if self._is_operators(key) else self._directory.caller(hashed))
        if caller is None:
            self._known.pop(hashed, None)
            return None
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
        self._known[hashed] = found = _Remembered(caller, time.monotonic() + _remembered_seconds(caller), changes)
        return found

    def _buckets(self, caller: Caller) -> tuple[Bucket, Bucket]:
        settings = self._settings
        return (
            Bucket(BucketOwner.KEY, caller.counted_as, settings.per_minute, settings.burst),
            Bucket(BucketOwner.TENANT, str(caller.tenant_id), settings.tenant_per_minute, settings.tenant_burst),
        )

    def _is_operators(self, key: str) -> bool:
        return bool(self._operator_key) and hmac.compare_digest(key.encode("utf-8", "surrogatepass"), self._operator_key)


def _remembered_seconds(caller: Caller) -> float:
    """No longer than its key lives."""
    left = (caller.expires_at - datetime.now(UTC)).total_seconds() if caller.expires_at else REMEMBERED_SECONDS
    return min(left, REMEMBERED_SECONDS)
