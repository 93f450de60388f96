"""Limits of concurrent calls and calls per minute for each provider, shared by all processes.

    ai:{name}:held     tickets of running calls, with the time at which each expires unless renewed
    ai:{name}:waiting  waiting tickets: the most urgent first, then the oldest
    ai:{name}:seen     when each waiting ticket was last seen
    ai:{name}:sent     calls of the last minute
    ai:{name}:pause    no call starts while this exists

A process that dies stops polling and renewing, so its place in the queue and its streams expire by
themselves.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from telegram_assistant.domain.understanding.policy import Urgency
from telegram_assistant.errors import Busy
from telegram_assistant.stores.redis.client import EVEN_IF_FULL, Redis, await_reply, text_of

HELD_SECONDS = 15.0
RENEW_SECONDS = 5.0
SILENT_SECONDS = 3.0
"""A waiting ticket that was not seen for so long is removed."""
ASK_SECONDS = 0.2
MINUTE_MS = 60_000
AN_URGENCY = 10_000_000_000_000
"""More milliseconds than since 1970, so a less urgent ticket never overtakes by being older."""

# Returns 0 if the stream is ours, otherwise the milliseconds after which to ask again at the latest.
TAKE = f"""{EVEN_IF_FULL}
local held, waiting, seen, sent, pause = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ticket, urgency, streams, per_minute = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', held, '-inf', now)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', seen, '-inf', now - {int(SILENT_SECONDS * 1000)})) do
    redis.call('ZREM', waiting, gone)
    redis.call('ZREM', seen, gone)
end
if not redis.call('ZSCORE', waiting, ticket) then
    redis.call('ZADD', waiting, urgency * {AN_URGENCY} + now, ticket)
end
redis.call('ZADD', seen, now, ticket)
for _, key in ipairs(KEYS) do if key ~= pause then redis.call('PEXPIRE', key, {10 * MINUTE_MS}) end end
local paused = redis.call('PTTL', pause)
if paused > 0 then return paused end
local free = streams - redis.call('ZCARD', held)
if redis.call('ZRANK', waiting, ticket) >= free then return {int(ASK_SECONDS * 1000)} end
if per_minute > 0 then
    redis.call('ZREMRANGEBYSCORE', sent, '-inf', now - {MINUTE_MS})
    if redis.call('ZCARD', sent) >= per_minute then
        return math.max(1, tonumber(redis.call('ZRANGE', sent, 0, 0, 'WITHSCORES')[2]) + {MINUTE_MS} - now)
    end
    redis.call('ZADD', sent, now, ticket)
end
redis.call('ZREM', waiting, ticket)
redis.call('ZREM', seen, ticket)
redis.call('ZADD', held, now + {int(HELD_SECONDS * 1000)}, ticket)
redis.call('PEXPIRE', held, {10 * MINUTE_MS})
return 0
"""
RENEW = f"""
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
return redis.call('ZADD', KEYS[1], 'XX', now + {int(HELD_SECONDS * 1000)}, ARGV[1])
"""


@dataclass(frozen=True, slots=True)
class StreamUse:
    """The load of a provider."""

    speaking: int
    waiting: int
    paused_seconds: float
    why: str


class AiStreams:
    """One per process. Methods raise Busy if Redis does not answer."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._take = redis.register_script(TAKE)
        self._renew = redis.register_script(RENEW)
        self._freed: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def hold_stream(
        self, name: str, *, urgency: Urgency, stream_count: int, per_minute: int
    ) -> AsyncIterator[None]:
        """Waits for a stream of this provider, holds it during the block, and releases it.

        The caller limits the wait.
        """
        ticket = token_hex(8)
        try:
            await self._wait(name, ticket, urgency, stream_count, per_minute)
            renewing = asyncio.create_task(self._keep(name, ticket))
            try:
                yield
            finally:
                renewing.cancel()
        finally:
            with suppress(Busy):  # without Redis the stream is freed when its lease expires
                await asyncio.shield(await_reply(self._give_back(name, ticket)))
            self._freed.setdefault(name, asyncio.Event()).set()

    async def pause(self, name: str, seconds: float, *, why: str) -> None:
        """Pauses the provider for all processes, as it asked."""
        await await_reply(self._redis.set(_key(name, "pause"), why, px=max(1, int(seconds * 1000))))

    async def load_pause_seconds(self, name: str) -> float:
        remaining_ms = await await_reply(self._redis.pttl(_key(name, "pause")))
        return max(0, int(remaining_ms)) / 1000

    async def use(self, name: str) -> StreamUse:
        seconds, microseconds = await await_reply(self._redis.time())
        pipeline: Any = self._redis.pipeline(transaction=False)
        pipeline.zcount(_key(name, "held"), seconds * 1000 + microseconds // 1000, "+inf")
        pipeline.zcount(_key(name, "seen"), (seconds - SILENT_SECONDS) * 1000, "+inf")
        pipeline.pttl(_key(name, "pause"))
        pipeline.get(_key(name, "pause"))
        speaking, waiting_count, remaining_ms, why = await await_reply(pipeline.execute())
        return StreamUse(speaking, waiting_count, max(0, remaining_ms) / 1000, text_of(why) if why else "")

    async def _wait(
        self, name: str, ticket: str, urgency: Urgency, stream_count: int, per_minute: int
    ) -> None:
        keys = [_key(name, part) for part in ("held", "waiting", "seen", "sent", "pause")]
        freed_event = self._freed.setdefault(name, asyncio.Event())
        while True:
            freed_event.clear()
            if not (
                wait_ms := await await_reply(
                    self._take(keys=keys, args=[ticket, int(urgency), stream_count, per_minute])
                )
            ):
                return
            with suppress(TimeoutError):  # a stream that this process releases wakes us at once
                async with asyncio.timeout(min(int(wait_ms) / 1000, SILENT_SECONDS / 3)):
                    await freed_event.wait()

    async def _keep(self, name: str, ticket: str) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            with suppress(Busy):
                await await_reply(self._renew(keys=[_key(name, "held")], args=[ticket]))

    async def _give_back(self, name: str, ticket: str) -> None:
        pipeline: Any = self._redis.pipeline(transaction=False)
        for part in ("held", "waiting", "seen"):
            pipeline.zrem(_key(name, part), ticket)
        await pipeline.execute()


def _key(name: str, part: str) -> str:
    return f"ai:{{{name}}}:{part}"
