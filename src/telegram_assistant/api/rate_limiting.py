"""Responses of the API when a limit is exceeded, and the throttle for unknown keys."""

import math

from starlette.responses import Response

from telegram_assistant.api.problems import problem, retry_after
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.redis.limiter import Limiter, network_of
from telegram_assistant.stores.redis.rate_limits import Bucket, BucketOwner, RateLimitDecision

FAILED_KEYS_PER_MINUTE = 10
FAILED_KEYS_AT_ONCE = 20
REASONS = {
    BucketOwner.KEY: Reason(
        "key_too_many_requests", "This key has sent too many requests. Wait for the time in `Retry-After`."
    ),
    BucketOwner.TENANT: Reason(
        "tenant_too_many_requests",
        "The keys of your tenant together have sent too many requests. Wait for the time in `Retry-After`.",
    ),
    BucketOwner.ADDRESS: Reason(
        "address_too_many_invalid_keys",
        "Too many invalid keys were sent from your address. Wait for the time in `Retry-After`.",
    ),
}


class FailedKeys:
    """Throttles an address that sends unknown keys. Valid keys from the same address are not affected."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    async def refuse(self, address: str | None, refusal: Response) -> Response:
        """Counts an unknown key and returns the refusal, or 429 if this address has sent too many."""
        bucket = Bucket(BucketOwner.ADDRESS, network_of(address), FAILED_KEYS_PER_MINUTE, FAILED_KEYS_AT_ONCE)
        decision = await self._limiter.take(bucket)
        return refusal if decision.allowed else too_many(decision)


def too_many(decision: RateLimitDecision) -> Response:
    """Returns the 429 response for a request that exceeds a limit."""
    return problem(
        429,
        REASONS[decision.bucket.counted_by],
        headers={**retry_after(decision.seconds), **rate_headers(decision)},
    )


def rate_headers(decision: RateLimitDecision) -> dict[str, str]:
    """Returns the headers that describe the strictest bucket and its owner."""
    return {
        "RateLimit-Name": decision.bucket.counted_by,
        "RateLimit-Limit": str(decision.bucket.burst),
        "RateLimit-Remaining": str(decision.remaining),
        "RateLimit-Reset": str(math.ceil(decision.seconds)),
    }
