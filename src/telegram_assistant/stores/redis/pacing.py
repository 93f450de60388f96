"""Turns at other people's servers, shared by all processes: one request per site and interval."""

from telegram_assistant.stores.redis.client import Redis, answered

# Whoever would have to wait too long takes no turn, so that those who do not wait do not keep others waiting.
TURN = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local free = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
if free - now > tonumber(ARGV[2]) then return -1 end
local over = free + ARGV[1]
if over > now then redis.call('SET', KEYS[1], over, 'PX', over - now) end
return free - now
"""


class Pacing:
    """One per process. Busy when Redis is away: without it nobody knows who else is asking that site."""

    def __init__(self, redis: Redis) -> None:
        self._turn = redis.register_script(TURN)

    async def turn(self, site: str, *, every_seconds: float, max_seconds: float) -> float | None:
        """Take the next turn at a site, and learn how many seconds it is away; None: too many, and none is taken."""
        waits = int(await answered(self._turn(keys=[f"crawl:turn:{site}"], args=[round(every_seconds * 1000), round(max_seconds * 1000)])))
        return None if waits < 0 else waits / 1000
