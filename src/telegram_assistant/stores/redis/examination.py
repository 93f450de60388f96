"""Checks of `tga doctor` on Redis."""

import time

from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError

from telegram_assistant.domain.operations.diagnosis import Finding, bad, clock_skew, ok, warning
from telegram_assistant.domain.operations.fullness import fullness_finding, size_in_words
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import RedisSettings, location_of
from telegram_assistant.stores.redis.client import connect_to, takes_no_writes
from telegram_assistant.streams.groups import Readers, find_unknown_groups
from telegram_assistant.streams.redis_memory import RedisMemory, is_on_this_machine, redis_memory_of
from telegram_assistant.streams.room import PAUSE_SHARE

OLDEST_VERSION = (7, 0)
SUBJECT = "redis"
CANNOT_SAVE = bad(
    f"{SUBJECT} persistence",
    Reason("redis_saves_nothing", "Redis cannot write to its disk, so it accepts no events"),
    remedy=Reason("free_redis_disk", "free space on the disk of Redis; its log has details"),
)
"""A Redis in this state refuses even a PING."""


async def examine(settings: RedisSettings, readers: Readers) -> list[Finding]:
    """One finding if Redis cannot be used; otherwise one for the server and one per problem.

    `readers`: the stages of each stream.
    """
    location = location_of(settings.url)
    try:
        async with connect_to(settings) as redis:
            unknown = await find_unknown_groups(redis, readers)
            return await _look(redis, location) + [
                warning(f"{SUBJECT} groups", group.what, remedy=group.remedy) for group in unknown
            ]
    except AuthenticationError:
        reason = Reason("redis_refuses_password", "Redis at {where} refuses the password", where=location)
        return [
            bad(SUBJECT, reason, remedy=Reason("correct_redis_password", "correct the password in REDIS_URL"))
        ]
    except NoPermissionError as error:
        reason = Reason("redis_user_is_weak", "the user in REDIS_URL lacks rights: {error}", error=str(error))
        return [bad(SUBJECT, reason, remedy=Reason("strengthen_redis_user", "give that user +@all on ~*"))]
    except (RedisError, OSError) as error:
        if takes_no_writes(error):
            return [CANNOT_SAVE]
        reason = Reason(
            "redis_at_silent",
            "Redis at {where} does not answer ({error})",
            where=location,
            error=type(error).__name__,
        )
        return [bad(SUBJECT, reason, remedy=Reason("start_redis", "start Redis, or correct REDIS_URL"))]


async def _look(redis: Redis, location: str) -> list[Finding]:
    asked_at = time.time()
    seconds, microseconds = await redis.time()
    server: dict[str, str | int] = await redis.info("server")
    persistence: dict[str, str | int] = await redis.info("persistence")
    memory: dict[str, str | int] = await redis.info("memory")
    engine = "Valkey" if "valkey_version" in server else "Redis"
    version = str(server.get("valkey_version") or server["redis_version"])
    findings = []
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VERSION:
        reason = Reason("program_too_old", "{program} {version} is too old", program=engine, version=version)
        findings.append(
            bad(
                f"{SUBJECT} version",
                reason,
                remedy=Reason("update_redis", "use Redis 7 or newer, or Valkey 8 or newer"),
            )
        )
    if not persistence["aof_enabled"]:
        reason = Reason("redis_forgets", "appendonly is off, so a restart loses every event in progress")
        remedy = Reason(
            "turn_on_appendonly",
            "set `appendonly yes` in redis.conf, or run: redis-cli CONFIG SET appendonly yes",
        )
        findings.append(bad(f"{SUBJECT} persistence", reason, remedy=remedy))
    if persistence.get("aof_last_write_status", "ok") != "ok":
        findings.append(CANNOT_SAVE)
    findings.append(_examine_memory(redis_memory_of(memory, is_here=is_on_this_machine(redis))))
    if memory["maxmemory_policy"] != "noeviction":
        policy = str(memory["maxmemory_policy"])
        reason = Reason(
            "redis_evicts",
            "maxmemory-policy is {policy}: it discards events when memory is full",
            policy=policy,
        )
        findings.append(
            bad(
                f"{SUBJECT} eviction",
                reason,
                remedy=Reason("keep_events", "set `maxmemory-policy noeviction` in redis.conf"),
            )
        )
    if server.get("redis_mode") == "sentinel":
        reason = Reason("redis_is_sentinel", "this is a sentinel, not a server")
        findings.append(
            warning(SUBJECT, reason, remedy=Reason("name_redis_master", "point REDIS_URL at the master"))
        )
    findings += clock_skew(SUBJECT, seconds + microseconds / 1e6 - asked_at)
    return [
        ok(
            SUBJECT,
            Reason(
                "server_found",
                "{program} {version} at {where}",
                program=engine,
                version=version,
                where=location,
            ),
        ),
        *findings,
    ]


def _examine_memory(memory: RedisMemory) -> Finding:
    fullness, subject = memory.fullness, f"{SUBJECT} memory"
    used_size, size_text = size_in_words(fullness.used_bytes), size_in_words(fullness.size_bytes)
    if not memory.max_bytes:
        reason = Reason(
            "redis_unlimited",
            "Redis has no memory limit and may use the whole machine: it uses {used} of {size} ({share:.0%})",
            used=used_size,
            size=size_text,
            share=fullness.share,
        )
        return bad(
            subject,
            reason,
            remedy=Reason("limit_redis", "set `maxmemory 1gb` (or what the machine can spare) in redis.conf"),
        )
    reason = Reason(
        "memory_used",
        "{used} of {size} used ({share:.0%})",
        used=used_size,
        size=size_text,
        share=fullness.share,
    )
    remedy = Reason(
        "relieve_redis",
        "raise maxmemory; `tga streams --once` shows the stage that is behind. From {share:.0%} on, new "
        "posts wait in PostgreSQL, and nothing is lost",
        share=PAUSE_SHARE,
    )
    return fullness_finding(subject, reason, fullness, remedy=remedy)
