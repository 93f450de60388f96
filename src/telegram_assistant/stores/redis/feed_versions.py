"""Since when a feed has answered with the same bytes, for readers that ask by time."""

from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import cast
from uuid import UUID

from telegram_assistant.stores.redis.client import Redis, await_reply

KEPT_SECONDS = 30 * 86_400

# A second later at least: readers compare whole seconds.
NOTE = """
local known = redis.call('HMGET', KEYS[1], 'etag', 'since')
local since = tonumber(ARGV[2])
if known[1] == ARGV[1] then since = tonumber(known[2])
elseif known[2] then since = math.max(since, tonumber(known[2]) + 1) end
redis.call('HSET', KEYS[1], 'etag', ARGV[1], 'since', since)
redis.call('EXPIRE', KEYS[1], ARGV[3])
return since
"""


class FeedVersions:
    """One per process. Raises Busy if Redis does not answer."""

    def __init__(self, redis: Redis) -> None:
        self._note = redis.register_script(NOTE)

    async def since(self, address_id: UUID, kind: str, etag: str, *, now: datetime) -> datetime:
        """When this feed in this format first answered with what has this ETag; whole seconds."""
        reply = cast(
            "Awaitable[int]",
            self._note(keys=[f"feed:{address_id}:{kind}"], args=[etag, int(now.timestamp()), KEPT_SECONDS]),
        )
        return datetime.fromtimestamp(await await_reply(reply), UTC)
