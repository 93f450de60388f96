"""How often a key may ask, counted for all processes together; and when keys have changed."""

from dataclasses import dataclass

from telegram_assistant.stores.redis.client import Redis, answered

CHANGES = "{api}:key_changes"

# A bucket is the moment at which it will be full again: one number, and nothing to keep once it is full.
TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local each, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
local changes = tonumber(redis.call('GET', KEYS[2]) or 0)
local over = full + each - now - burst * each
if over > 0 then return {-1, math.ceil(over), changes} end
redis.call('SET', KEYS[1], string.format('%.3f', full + each), 'PX', math.ceil(full + each - now))
return {math.floor((burst * each - (full + each - now)) / each), math.ceil(full + each - now), changes}
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """Whether a request may be answered. `seconds`: until it may, or until as many as ever may."""

    allowed: bool
    left: int
    seconds: float
    changes: int | None
    """How often keys have changed so far; None where Redis was not asked."""


class RateLimits:
    """One per process. Busy when Redis is away."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._take = redis.register_script(TAKE)

    async def take(self, name: str, *, per_minute: int, burst: int) -> Taken:
        left, milliseconds, changes = await answered(self._take(keys=[f"{{api}}:rate:{name}", CHANGES], args=[60_000 / per_minute, burst]))
        return Taken(int(left) >= 0, max(0, int(left)), int(milliseconds) / 1000, int(changes))

    async def changes(self) -> int:
        """How often keys have changed so far."""
        return int(await answered(self._redis.get(CHANGES)) or 0)

    async def tell_change(self) -> None:
        """A key was revoked, or a person is something else now: no process may go by what it remembers."""
        await answered(self._redis.incr(CHANGES))
