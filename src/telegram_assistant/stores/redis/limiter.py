"""Counts requests against limits, with or without Redis."""

import asyncio
import ipaddress
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from telegram_assistant.errors import Busy
from telegram_assistant.stores.redis.rate_limits import Bucket, RateLimitDecision, RateLimits
from telegram_assistant.telemetry.metrics import REQUESTS_REFUSED
from telegram_assistant.telemetry.outages import OutageLog

MAX_LOCAL_BUCKETS = 10_000
REDIS_SECONDS = 0.5
WITHOUT_REDIS_SECONDS = 5.0
IPV6_NETWORK_BITS = 64
REFUSALS_PER_SECOND = 10
"""Of one bucket.

A client that repeats a refused request at once gets no more answers than this, and so costs the others
nothing.
"""
MAX_REFUSAL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Refusal:
    empty_until: float
    next_answer_at: float


class Limiter:
    """Counts requests in Redis, for all processes. While Redis is unavailable it counts for this process
    alone, so no request waits for Redis.

    One per process: it remembers refusals, and the counts for the time without Redis.
    """

    def __init__(self, limits: RateLimits) -> None:
        self._limits = limits
        self._full_at: dict[str, float] = {}
        self._refusals: dict[tuple[str, int], _Refusal] = {}
        self._away_until = 0.0
        self._outage = OutageLog("rate limits")

    async def take(self, *buckets: Bucket) -> RateLimitDecision:
        """Takes one token from each bucket, or from none if one of them is empty.

        Refusals of one bucket are returned at a slow pace.
        """
        decision = self._find_refusal(buckets)
        if decision is None and self._is_redis_available():
            decision = await self._ask_redis(self._limits.take(buckets))
        decision = decision or self._take_locally(buckets)
        if not decision.allowed:
            REQUESTS_REFUSED.labels(decision.bucket.counted_by).inc()
            await self._pace_refusal(decision)
        return decision

    async def changes(self) -> int | None:
        """Returns how often keys have changed so far; None if Redis is unavailable."""
        return await self._ask_redis(self._limits.changes()) if self._is_redis_available() else None

    def _find_refusal(self, buckets: Sequence[Bucket]) -> RateLimitDecision | None:
        """Returns the refusal of a bucket that is still empty.

        An empty bucket stays empty until the time that its refusal has named.
        """
        now = time.monotonic()
        for bucket in buckets:
            refusal = self._refusals.get((bucket.redis_key, bucket.cost))
            if refusal is not None and refusal.empty_until > now:
                return RateLimitDecision(
                    allowed=False, bucket=bucket, remaining=0, seconds=refusal.empty_until - now, changes=None
                )
        return None

    async def _pace_refusal(self, decision: RateLimitDecision) -> None:
        now, key = time.monotonic(), (decision.bucket.redis_key, decision.bucket.cost)
        if key not in self._refusals and len(self._refusals) >= MAX_LOCAL_BUCKETS:
            self._refusals.clear()
        refusal = self._refusals.get(key)
        answered_at = min(max(now, refusal.next_answer_at if refusal else now), now + MAX_REFUSAL_SECONDS)
        self._refusals[key] = _Refusal(now + decision.seconds, answered_at + 1 / REFUSALS_PER_SECOND)
        await asyncio.sleep(answered_at - now)

    def _is_redis_available(self) -> bool:
        return time.monotonic() >= self._away_until

    async def _ask_redis[T](self, call: Awaitable[T]) -> T | None:
        try:
            async with asyncio.timeout(REDIS_SECONDS):
                answer = await call
        except (Busy, TimeoutError) as error:
            self._outage.log_failure(str(error) or "no answer in time")
            self._away_until = time.monotonic() + WITHOUT_REDIS_SECONDS
            return None
        self._outage.log_recovery()
        self._away_until = 0.0
        return answer

    def _take_locally(self, buckets: Sequence[Bucket]) -> RateLimitDecision:
        now = time.monotonic()
        self._forget_full(now)
        decisions = [self._decide(bucket, now) for bucket in buckets]
        refused_decisions = [decision for decision in decisions if not decision.allowed]
        if refused_decisions:
            return max(refused_decisions, key=lambda refusal: refusal.seconds)
        for decision in decisions:
            self._full_at[decision.bucket.redis_key] = now + decision.seconds
        return min(decisions, key=lambda decision: decision.remaining)

    def _decide(self, bucket: Bucket, now: float) -> RateLimitDecision:
        each = 60 / bucket.per_minute
        full_at = max(self._full_at.get(bucket.redis_key, 0.0), now) + each * bucket.cost
        excess = full_at - now - bucket.burst * each
        if excess > 0:
            return RateLimitDecision(allowed=False, bucket=bucket, remaining=0, seconds=excess, changes=None)
        return RateLimitDecision(
            allowed=True, bucket=bucket, remaining=int(-excess / each), seconds=full_at - now, changes=None
        )

    def _forget_full(self, now: float) -> None:
        if len(self._full_at) >= MAX_LOCAL_BUCKETS:
            self._full_at = {name: moment for name, moment in self._full_at.items() if moment > now}
        if len(self._full_at) >= MAX_LOCAL_BUCKETS:
            self._full_at.clear()


def network_of(address: str | None) -> str:
    """Groups IPv6 addresses by /64: a client with one such address controls all 2^64 of its network."""
    try:
        parsed_address = ipaddress.ip_address(address or "")
    except ValueError:
        return "unknown"
    if isinstance(parsed_address, ipaddress.IPv4Address):
        return str(parsed_address)
    return str(
        parsed_address.ipv4_mapped or ipaddress.ip_network((parsed_address, IPV6_NETWORK_BITS), strict=False)
    )
