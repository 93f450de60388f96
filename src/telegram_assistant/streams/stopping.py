"""The mark in Redis that a stage is stopped, with the reason."""

from contextlib import suppress

from redis.asyncio import Redis
from redis.exceptions import RedisError

from telegram_assistant.streams.keys import stopped_key, text_of


class StopMark:
    """Stops one stage in every process until a person resumes it.

    A mark that Redis could not take is written later.
    """

    def __init__(self, redis: Redis, stage: str) -> None:
        self._redis = redis
        self._key = stopped_key(stage)
        self._unwritten = ""

    async def write(self, why: str) -> None:
        self._unwritten = why
        with suppress(RedisError, OSError):
            await self._write_unwritten()

    async def read(self) -> str | None:
        """Return why the stage is stopped, or None."""
        await self._write_unwritten()
        why = await self._redis.get(self._key)
        return None if why is None else text_of(why)

    async def _write_unwritten(self) -> None:
        if self._unwritten:
            await self._redis.set(self._key, self._unwritten)
            self._unwritten = ""
