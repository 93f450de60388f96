"""Rate limits of requests, with or without Redis, and the throttle for keys that nobody has."""

import asyncio
import ipaddress
import math
import time
from collections.abc import Awaitable, Sequence

from starlette.responses import Response

from telegram_assistant.api.problems import TITLES, problem, waiting
from telegram_assistant.errors import Busy
from telegram_assistant.stores.redis.rate_limits import Bucket, BucketOwner, RateLimitDecision, RateLimits
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

MAX_LOCAL_BUCKETS = 10_000
REDIS_SECONDS = 0.5
WITHOUT_REDIS_SECONDS = 5.0
FAILED_KEYS_PER_MINUTE = 10
FAILED_KEYS_AT_ONCE = 20
IPV6_NETWORK_BITS = 64
REASONS = {
    BucketOwner.KEY: "This key asks too often.",
    BucketOwner.TENANT: "The keys of your tenant ask too often together.",
    BucketOwner.ADDRESS: "Too many wrong keys came from your address.",
}


class Limiter:
    """Counts in Redis, for all processes; while it is away, for this process alone, so that nobody waits for it."""

    def __init__(self, limits: RateLimits) -> None:
        self._limits = limits
        self._full_at: dict[str, float] = {}
        self._away_until = 0.0

    async def take(self, *buckets: Bucket) -> RateLimitDecision:
        """From all of them or from none."""
        taken = await self._asked(self._limits.take(buckets)) if self._is_there() else None
        return taken or self._take_here(buckets)

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

    def _take_here(self, buckets: Sequence[Bucket]) -> RateLimitDecision:
        now = time.monotonic()
        self._forget_full(now)
        taken = [self._looked_at(bucket, now) for bucket in buckets]
        refused = [one for one in taken if not one.allowed]
        if refused:
            return max(refused, key=lambda one: one.seconds)
        for one in taken:
            self._full_at[one.bucket.redis_key] = now + one.seconds
        return min(taken, key=lambda one: one.left)

    def _looked_at(self, bucket: Bucket, now: float) -> RateLimitDecision:
        each = 60 / bucket.per_minute
        full = max(self._full_at.get(bucket.redis_key, 0.0), now) + each
        over = full - now - bucket.burst * each
        if over > 0:
            return RateLimitDecision(allowed=False, bucket=bucket, left=0, seconds=over, changes=None)
        return RateLimitDecision(allowed=True, bucket=bucket, left=int(-over / each), seconds=full - now, changes=None)

    def _forget_full(self, now: float) -> None:
        if len(self._full_at) >= MAX_LOCAL_BUCKETS:
            self._full_at = {name: moment for name, moment in self._full_at.items() if moment > now}
        if len(self._full_at) >= MAX_LOCAL_BUCKETS:
            self._full_at.clear()


class FailedKeys:
    """Throttles an address that tries keys which nobody has. Valid keys from there are not concerned."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    async def refuse(self, address: str | None, refusal: Response) -> Response:
        """Counts a wrong key: the refusal, or 429 where there were too many of them from this address."""
        bucket = Bucket(BucketOwner.ADDRESS, _network_of(address), FAILED_KEYS_PER_MINUTE, FAILED_KEYS_AT_ONCE)
        taken = await self._limiter.take(bucket)
        if taken.allowed:
            return refusal
        return too_many(taken)


def too_many(taken: RateLimitDecision) -> Response:
    """The refusal of a request that a bucket has no room for."""
    detail = f"{REASONS[taken.bucket.counted_by]} Wait as `Retry-After` says."
    return problem(429, TITLES[429], detail, headers={**waiting(taken.seconds), **rate_headers(taken)})


def rate_headers(taken: RateLimitDecision) -> dict[str, str]:
    """What the strictest bucket allows, and whose it is."""
    return {
        "RateLimit-Name": taken.bucket.counted_by,
        "RateLimit-Limit": str(taken.bucket.burst),
        "RateLimit-Remaining": str(taken.left),
        "RateLimit-Reset": str(math.ceil(taken.seconds)),
    }


def _network_of(address: str | None) -> str:
    """Whoever has one IPv6 address has the 2^64 of its network."""
    try:
        read = ipaddress.ip_address(address or "")
    except ValueError:
        return "unknown"
    if isinstance(read, ipaddress.IPv4Address):
        return str(read)
    return str(read.ipv4_mapped or ipaddress.ip_network((read, IPV6_NETWORK_BITS), strict=False))
