"""Who asks: keys, remembered for a minute at most, and how often each may ask."""

import asyncio
import hmac
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import SecretStr

from telegram_assistant.domain.access import KEY_BEGINS, Caller, hash_of
from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.keys import KeyDirectory
from telegram_assistant.stores.redis.rate_limits import RateLimits, Taken
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

REMEMBERED_SECONDS = 60.0
MOST_REMEMBERED = 10_000
KEY_LETTERS = len(KEY_BEGINS) + 43
REDIS_SECONDS = 0.5
WITHOUT_REDIS_SECONDS = 5.0


class Limiter:
    """Counts in Redis, for all processes; while it is away, for this process alone, so that nobody waits for it."""

    def __init__(self, limits: RateLimits, *, per_minute: int, burst: int) -> None:
        self._limits, self._per_minute, self._burst = limits, per_minute, burst
        self._full_at: dict[str, float] = {}
        self._away_until = 0.0

    async def take(self, name: str) -> Taken:
        taken = await self._asked(self._limits.take(name, per_minute=self._per_minute, burst=self._burst)) if self._is_there() else None
        return taken or self._take_here(name)

    async def changes(self) -> int | None:
        """How often keys have changed so far; None when Redis does not say."""
        return await self._asked(self._limits.changes()) if self._is_there() else None

    def _is_there(self) -> bool:
        return time.monotonic() >= self._away_until

    async def _asked[T](self, question: Awaitable[T]) -> T | None:
        try:
            async with asyncio.timeout(REDIS_SECONDS):
                answer = await question
        except (Busy, TimeoutError) as error:
            if not self._away_until:
                log.warning("rate_limits_without_redis", why=str(error) or "no answer in time")
            self._away_until = time.monotonic() + WITHOUT_REDIS_SECONDS
            return None
        if self._away_until:
            log.info("rate_limits_with_redis_again")
            self._away_until = 0.0
        return answer

    def _take_here(self, name: str) -> Taken:
        now, each = time.monotonic(), 60 / self._per_minute
        if len(self._full_at) > MOST_REMEMBERED:
            self._full_at = {one: moment for one, moment in self._full_at.items() if moment > now}
        full = max(self._full_at.get(name, 0.0), now) + each
        over = full - now - self._burst * each
        if over > 0:
            return Taken(allowed=False, left=0, seconds=over, changes=None)
        self._full_at[name] = full
        return Taken(allowed=True, left=int(-over / each), seconds=full - now, changes=None)


@dataclass(frozen=True, slots=True)
class _Remembered:
    caller: Caller
    until: float
    changes: int | None


class Callers:
    """Remembers whose keys are whose. A revoked key is forgotten at once: every request that is counted says whether keys have changed."""

    def __init__(self, directory: KeyDirectory, limiter: Limiter, *, operator_key: SecretStr) -> None:
        self._directory, self._limiter = directory, limiter
        self._operator_key = operator_key.get_secret_value().encode()
        self._known: dict[bytes, _Remembered] = {}

    async def admitted(self, key: str) -> tuple[Caller, Taken] | None:
        """Whoever asks, and whether they may ask now; None when nobody has such a key."""
        hashed = hash_of(key)
        known = await self._remembered(hashed, key)
        if known is None:
            return None
        taken = await self._limiter.take(known.caller.counted_as)
        if taken.changes is not None and taken.changes != known.changes:
            known = await self._look_up(hashed, key, taken.changes)
        return None if known is None else (known.caller, taken)

    async def _remembered(self, hashed: bytes, key: str) -> _Remembered | None:
        known = self._known.get(hashed)
        if known is not None and known.until > time.monotonic():
            return known
        if not self._is_operators(key) and not (key.startswith(KEY_BEGINS) and len(key) == KEY_LETTERS):
            return None
        return await self._look_up(hashed, key, await self._limiter.changes())

    async def _look_up(self, hashed: bytes, key: str, changes: int | None) -> _Remembered | None:
        """`changes` was read before, so a key that is revoked meanwhile is looked up again."""
        caller = await (self._directory.operator() if self._is_operators(key) else self._directory.caller(hashed))
        if caller is None:
            self._known.pop(hashed, None)
            return None
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[hashed] = found = _Remembered(caller, time.monotonic() + _remembered_seconds(caller), changes)
        return found

    def _is_operators(self, key: str) -> bool:
        return bool(self._operator_key) and hmac.compare_digest(key.encode("utf-8", "surrogatepass"), self._operator_key)


def _remembered_seconds(caller: Caller) -> float:
    """No longer than its key lives."""
    left = (caller.expires_at - datetime.now(UTC)).total_seconds() if caller.expires_at else REMEMBERED_SECONDS
    return min(left, REMEMBERED_SECONDS)
