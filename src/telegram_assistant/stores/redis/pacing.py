"""Pacing of requests to other sites, shared by all processes: one request per site and interval."""

from telegram_assistant.stores.redis.client import EVEN_IF_FULL, Redis, await_reply

# A caller that would have to wait too long takes no turn, so that it does not delay others.
TURN = f"""{EVEN_IF_FULL}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local free = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
if free - now > tonumber(ARGV[2]) then return -1 end
local over = free + ARGV[1]
if over > now then redis.call('SET', KEYS[1], over, 'PX', over - now) end
return free - now
"""


class Pacing:
    """One per process.

    Raises Busy if Redis does not answer: without it, the requests of other processes are unknown.
    """

    def __init__(self, redis: Redis) -> None:
        self._turn = redis.register_script(TURN)

    async def turn(self, site: str, *, every_seconds: float, max_seconds: float) -> float | None:
        """Takes the next turn at a site and returns the seconds until it; None if that is too long,
        and no turn is taken.
        """
        wait_count = int(
            await await_reply(
                self._turn(
                    keys=[f"crawl:turn:{site}"], args=[round(every_seconds * 1000), round(max_seconds * 1000)]
                )
            )
        )
        return None if wait_count < 0 else wait_count / 1000
