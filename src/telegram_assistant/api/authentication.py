"""Authentication for `/api/v1`: looks up API keys, caches them for at most a minute,
and applies the limits of key and tenant.
"""

import asyncio
import hmac
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import SecretStr

from telegram_assistant.domain.tenants.access import KEY_BEGINS, Caller, hash_of
from telegram_assistant.features.tenants.keys import find_caller, find_operator
from telegram_assistant.settings import ApiSettings
from telegram_assistant.stores.postgres.tenants.keys import KeyDirectory
from telegram_assistant.stores.redis.limiter import Limiter
from telegram_assistant.stores.redis.rate_limits import Bucket, BucketOwner, RateLimitDecision

CACHE_SECONDS = 60.0
MAX_CACHED = 10_000
KEY_LENGTH = len(KEY_BEGINS) + 43
MAX_CONCURRENT_LOOK_UPS = 2
"""Of keys that are not in the cache, so that guessed keys never occupy all connections to PostgreSQL."""


@dataclass(frozen=True, slots=True)
class _CachedCaller:
    caller: Caller
    until: float
    changes: int | None


class Authenticator:
    """Caches callers by key.

    A revoked key stops working at once: each rate-limit decision says whether keys have changed.
    """

    def __init__(
        self, directory: KeyDirectory, limiter: Limiter, *, settings: ApiSettings, operator_key: SecretStr
    ) -> None:
        self._directory, self._limiter, self._settings = directory, limiter, settings
        self._operator_key = operator_key.get_secret_value().encode()
        self._cache: dict[bytes, _CachedCaller] = {}
        self._uncached_look_ups = asyncio.Semaphore(MAX_CONCURRENT_LOOK_UPS)

    async def authenticate(self, key: str) -> tuple[Caller, RateLimitDecision] | None:
        """Returns the caller and the rate-limit decision; None if the key is unknown."""
        hashed_bytes = hash_of(key)
        cached_caller = await self._find(hashed_bytes, key)
        if cached_caller is None:
            return None
        decision = await self._limiter.take(*self._buckets(cached_caller.caller))
        if decision.changes is not None and decision.changes != cached_caller.changes:
            cached_caller = await self._look_up(hashed_bytes, key, decision.changes)
        return None if cached_caller is None else (cached_caller.caller, decision)

    async def _find(self, hashed_bytes: bytes, key: str) -> _CachedCaller | None:
        cached_caller = self._cache.get(hashed_bytes)
        if cached_caller is not None and cached_caller.until > time.monotonic():
            return cached_caller
        if not self._is_operator_key(key) and not (key.startswith(KEY_BEGINS) and len(key) == KEY_LENGTH):
            return None
        change_count = await self._limiter.changes()
        if cached_caller is not None:
            return await self._look_up(hashed_bytes, key, change_count)
        async with self._uncached_look_ups:
            return await self._look_up(hashed_bytes, key, change_count)

    async def _look_up(self, hashed_bytes: bytes, key: str, change_count: int | None) -> _CachedCaller | None:
        """`changes` was read before this look-up, so a key that is revoked meanwhile is looked up again."""
        caller = await (
            find_operator(directory=self._directory)
            if self._is_operator_key(key)
            else find_caller(hashed_bytes, directory=self._directory)
        )
        if caller is None:
            self._cache.pop(hashed_bytes, None)
            return None
        if len(self._cache) >= MAX_CACHED:
            self._cache.clear()
        self._cache[hashed_bytes] = cached_caller = _CachedCaller(
            caller, time.monotonic() + _cache_seconds(caller), change_count
        )
        return cached_caller

    def _buckets(self, caller: Caller) -> tuple[Bucket, Bucket]:
        settings = self._settings
        return (
            Bucket(BucketOwner.KEY, caller.counted_as, settings.per_minute, settings.burst),
            Bucket(
                BucketOwner.TENANT, str(caller.tenant_id), settings.tenant_per_minute, settings.tenant_burst
            ),
        )

    def _is_operator_key(self, key: str) -> bool:
        return bool(self._operator_key) and hmac.compare_digest(
            key.encode("utf-8", "surrogatepass"), self._operator_key
        )


def _cache_seconds(caller: Caller) -> float:
    """Returns how long to cache the caller: never past the expiry of its key."""
    remaining_seconds = (
        (caller.expires_at - datetime.now(UTC)).total_seconds() if caller.expires_at else CACHE_SECONDS
    )
    return min(remaining_seconds, CACHE_SECONDS)
