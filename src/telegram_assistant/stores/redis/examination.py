"""Checks of `tga doctor` on Redis."""

import time

from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError

from telegram_assistant.domain.diagnosis import Finding, bad, clock_skew, ok, warning
from telegram_assistant.settings import RedisSettings, location_of
from telegram_assistant.stores.redis.client import connect_to

OLDEST_VERSION = (7, 0)
SUBJECT = "redis"


async def examine(settings: RedisSettings) -> list[Finding]:
    """One finding if Redis cannot be used; otherwise one for the server and one per problem."""
    where = location_of(settings.url)
    try:
        async with connect_to(settings) as redis:
            return await _look(redis, where)
    except AuthenticationError:
        return [bad(SUBJECT, f"Redis at {where} refuses the password", remedy="correct the password in REDIS_URL")]
    except NoPermissionError as error:
        return [bad(SUBJECT, f"the user in REDIS_URL may not do everything: {error}", remedy="give that user +@all on ~*")]
    except (RedisError, OSError) as error:
        remedy = "start Redis, or correct REDIS_URL"
        return [bad(SUBJECT, f"Redis at {where} does not answer ({type(error).__name__})", remedy=remedy)]


async def _look(redis: Redis, where: str) -> list[Finding]:
    asked_at = time.time()
    seconds, microseconds = await redis.time()
    server: dict[str, str | int] = await redis.info("server")
    persistence: dict[str, str | int] = await redis.info("persistence")
    memory: dict[str, str | int] = await redis.info("memory")
    engine = "Valkey" if "valkey_version" in server else "Redis"
    version = str(server.get("valkey_version") or server["redis_version"])
    findings = []
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VERSION:
        findings.append(bad(f"{SUBJECT} version", f"{engine} {version} is too old", remedy="use Redis 7 or newer, or Valkey 8 or newer"))
    if not persistence["aof_enabled"]:
        remedy = "set `appendonly yes` in redis.conf, or run: redis-cli CONFIG SET appendonly yes"
        findings.append(bad(f"{SUBJECT} persistence", "a restart loses every event on its way: appendonly is off", remedy=remedy))
    if not memory["maxmemory"]:
        remedy = "set `maxmemory 1gb` (or what the machine can spare) in redis.conf"
        findings.append(bad(f"{SUBJECT} memory", "no maxmemory is set, so Redis may take the whole machine", remedy=remedy))
    if memory["maxmemory_policy"] != "noeviction":
        remedy = "set `maxmemory-policy noeviction` in redis.conf"
        what = f"maxmemory-policy is {memory['maxmemory_policy']}, which throws events away when memory is full"
        findings.append(bad(f"{SUBJECT} eviction", what, remedy=remedy))
    if server.get("redis_mode") == "sentinel":
        findings.append(warning(SUBJECT, "this is a sentinel, not a server", remedy="point REDIS_URL at the master"))
    findings += clock_skew(SUBJECT, seconds + microseconds / 1e6 - asked_at)
    return [ok(SUBJECT, f"{engine} {version} at {where}"), *findings]
