"""Rate limits shared by all processes, and a counter of changes to keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from telegram_assistant.stores.redis.client import EVEN_IF_FULL, Redis, await_reply

CHANGES = "{api}:key_changes"

# A bucket is stored as the time at which it will be full again: one number, and nothing once it is full. A
# request takes from all of its buckets or from none. The reply describes the bucket that refuses longest,
# otherwise the one with the least left.
TAKE = (
    EVEN_IF_FULL
    + """
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local changes = tonumber(redis.call('GET', KEYS[1]) or 0)
local filled, refusing, wait, tightest, least = {}, 0, 0, 0, math.huge
for number = 2, #KEYS do
    local each, burst, cost = tonumber(ARGV[3 * number - 5]), tonumber(ARGV[3 * number - 4]),
        tonumber(ARGV[3 * number - 3])
    local full = math.max(tonumber(redis.call('GET', KEYS[number]) or 0), now) + each * cost
    local over = full - now - burst * each
    if over > wait then refusing, wait = number, over end
    local left = math.floor(-over / each)
    if left < least then tightest, least = number, left end
    filled[number] = full
end
if refusing > 0 then return {refusing - 2, -1, math.ceil(wait), changes} end
for number = 2, #KEYS do
    redis.call('SET', KEYS[number], string.format('%.3f', filled[number]),
        'PX', math.ceil(filled[number] - now))
end
return {tightest - 2, least, math.ceil(filled[tightest] - now), changes}
"""
)


class BucketOwner(StrEnum):
    """The key, person, tenant or address whose requests a bucket counts."""

    KEY = "key"
    TENANT = "tenant"
    """All keys of a tenant."""
    PERSON = "person"
    TENANT_PAGES = "tenant_pages"
    """The pages of all people of a tenant."""
    VISITOR = "visitor"
    """Pages without a login, by network."""
    PERSON_MEDIA = "person_media"
    TENANT_MEDIA = "tenant_media"
    FEED = "feed"
    """One secret address of a feed."""
    TENANT_FEEDS = "tenant_feeds"
    PUBLIC_LINK = "public_link"
    """One public link."""
    TENANT_LINKS = "tenant_links"
    ADDRESS = "address"
    LOGINS_FROM = "logins_from"
    """Logins from one address."""
    LOGINS_OF = "logins_of"
    """Logins with one name."""
    LOGINS_OF_FROM = "logins_of_from"
    """Logins with one name from one address."""
    LOGINS_IN = "logins_in"
    """Logins in a browser in which the person has logged in before."""
    LOGIN_ALARMS = "login_alarms"
    """Alarms about one name."""
    PASSWORDS_OF = "passwords_of"
    """Changes of one person's password."""
    NAMES_TRIED = "names_tried"
    """Names tried with one invitation, or with all of a tenant."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """One limit of one owner: requests per minute, and how many of them at once."""

    counted_by: BucketOwner
    name: str
    per_minute: float
    burst: int
    cost: int = 1
    """As how many requests this one counts."""

    @property
    def redis_key(self) -> str:
        return f"{{api}}:rate:{self.counted_by}:{self.name}"


@dataclass(frozen=True, slots=True)
class RateLimitDecision:
    """Whether a request is allowed, by its strictest bucket.

    `seconds`: until it is allowed, or until the bucket is full again.
    """

    allowed: bool
    bucket: Bucket
    remaining: int
    seconds: float
    changes: int | None
    """How often keys have changed so far; None if Redis was not asked."""


class RateLimits:
    """One per process. Methods raise Busy if Redis does not answer."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._take = redis.register_script(TAKE)
        self._count_change = redis.register_script(f"{EVEN_IF_FULL} return redis.call('INCR', KEYS[1])")

    async def take(self, buckets: Sequence[Bucket]) -> RateLimitDecision:
        """Takes from all of these buckets or from none, in one round trip."""
        keys = [CHANGES, *(bucket.redis_key for bucket in buckets)]
        arguments = [
            number for bucket in buckets for number in (60_000 / bucket.per_minute, bucket.burst, bucket.cost)
        ]
        refused_by, remaining, milliseconds, changes = await await_reply(
            self._take(keys=keys, args=arguments)
        )
        return RateLimitDecision(
            int(remaining) >= 0,
            buckets[int(refused_by)],
            max(0, int(remaining)),
            int(milliseconds) / 1000,
            int(changes),
        )

    async def changes(self) -> int:
        """How often keys have changed so far."""
        return int(await await_reply(self._redis.get(CHANGES)) or 0)

    async def drop_cached_keys(self) -> None:
        """Invalidates every process's cache of keys after a key was revoked or a person's role changed."""
        await await_reply(self._count_change(keys=[CHANGES]))
