"""A numbered database of a given Redis server that the program takes for itself, and empties again:
for the demo.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr
from redis.exceptions import RedisError, ResponseError

from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import RedisSettings, location_of
from telegram_assistant.stores.redis.client import Redis, connect_to, open_redis, text_of

MARK = "tga:demo"
"""The key that says whose database this is."""
NUMBERS = range(15, 0, -1)
"""A server has 16 databases unless configured otherwise. Those with a high number are rarely used."""


async def answers(settings: RedisSettings) -> bool:
    client = connect_to(settings)
    try:
        return bool(await client.ping())
    except (RedisError, OSError):
        return False
    finally:
        await client.aclose()


async def claim_database(settings: RedisSettings, owner: str) -> RedisSettings:
    """Returns the settings with the database of this owner: the one it has already, or an empty one.

    Raises CannotStart if there is none.
    """
    if (owned_settings := await _find_owned(settings, owner)) is not None:
        return owned_settings
    for numbered_settings in _list_databases(settings):
        async with open_redis(numbered_settings) as client:
            if await _is_empty(client) and await client.set(MARK, owner, nx=True):
                return numbered_settings
    raise CannotStart(
        Reason(
            "redis_without_empty_database",
            "Redis at {where} has no empty database",
            where=location_of(settings.url),
        ),
        remedy=Reason(
            "empty_redis_database",
            "Empty one of the databases 1 to 15, or set REDIS_URL to a separate server",
        ),
    )


async def clear_database(settings: RedisSettings, owner: str) -> None:
    """Deletes all keys in the database of this owner, if it has one."""
    if (owned_settings := await _find_owned(settings, owner)) is not None:
        async with open_redis(owned_settings) as client:
            await client.flushdb()


async def _find_owned(settings: RedisSettings, owner: str) -> RedisSettings | None:
    for numbered_settings in _list_databases(settings):
        async with open_redis(numbered_settings, must_answer=False) as client:
            if await _load_owner(client) == owner:
                return numbered_settings
    return None


async def _load_owner(client: Redis) -> str | None:
    try:
        mark = await client.get(MARK)
    except ResponseError:  # the server has fewer databases, or the key is of another kind
        return None
    return None if mark is None else text_of(mark)


async def _is_empty(client: Redis) -> bool:
    try:
        return int(await client.dbsize()) == 0
    except ResponseError:
        return False


def _list_databases(settings: RedisSettings) -> Iterator[RedisSettings]:
    parts = urlsplit(settings.url.get_secret_value())
    for number in NUMBERS:
        if parts.path != f"/{number}":
            yield RedisSettings(url=SecretStr(urlunsplit(parts._replace(path=f"/{number}"))))
