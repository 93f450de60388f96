"""The Redis client of a process."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import OutOfMemoryError, RedisError

from telegram_assistant.errors import Busy, CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import RedisSettings, location_of

__all__ = [
    "EVEN_IF_FULL",
    "FREE",
    "Redis",
    "await_reply",
    "connect_to",
    "open_redis",
    "takes_no_writes",
    "text_of",
]


FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
"""Releases a lock if the caller still holds it."""
EVEN_IF_FULL = "#!lua flags=allow-oom\n"
"""The first line of a script that writes a few bytes which the rest of the program cannot do without,
also when Redis has no memory left.
"""


def connect_to(settings: RedisSettings) -> Redis:
    """A client without a connection yet."""
    return Redis.from_url(
        settings.url.get_secret_value(),
        socket_connect_timeout=5,
        socket_timeout=10,
        health_check_interval=30,
        retry=Retry(NoBackoff(), 0),
    )


def text_of(value: bytes | str) -> str:
    """Decodes a reply: the client returns bytes, although its types also allow str."""
    return value.decode() if isinstance(value, bytes) else value


async def await_reply[T](reply: Awaitable[T]) -> T:
    """The reply of Redis. Raises Busy if Redis does not answer, or takes no writes."""
    try:
        return await reply
    except OutOfMemoryError as error:
        raise Busy(
            Reason("redis_full", "Redis accepts no writes: its memory is full"), retry_after_seconds=5
        ) from error
    except (RedisError, OSError) as error:
        if takes_no_writes(error):
            raise Busy(
                Reason("redis_cannot_save", "Redis accepts no writes: it cannot save them to its disk"),
                retry_after_seconds=5,
            ) from error
        raise Busy(
            Reason("redis_silent", "Redis does not answer ({error})", error=type(error).__name__),
            retry_after_seconds=5,
        ) from error


def takes_no_writes(error: Exception) -> bool:
    """Whether Redis refuses to write because it cannot save anything to its disk."""
    return str(error).startswith("MISCONF")


@asynccontextmanager
async def open_redis(settings: RedisSettings, *, must_answer: bool = True) -> AsyncIterator[Redis]:
    """Opens a client until the block ends. Raises CannotStart if `must_answer` is set and Redis does not
    answer.

    Later the client raises at once if Redis is unavailable: the caller decides whether to wait and retry.
    """
    client = connect_to(settings)
    try:
        if must_answer:
            await client.ping()
    except (RedisError, OSError) as error:
        await client.aclose()
        raise CannotStart(
            Reason(
                "redis_unusable",
                "Redis at {place} cannot be used ({error})",
                place=location_of(settings.url),
                error=type(error).__name__,
            ),
            remedy=Reason(
                "start_or_correct",
                "Start it or correct {variable}; `tga doctor` shows details",
                variable="REDIS_URL",
            ),
        ) from error
    try:
        yield client
    finally:
        await client.aclose()
