"""The memory of Redis: what it uses, what it may use, and what its machine has."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from telegram_assistant.domain.operations.fullness import Fullness

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
MEMORY_OF_MACHINE = Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class RedisMemory:
    """The memory of Redis, as it reports it."""

    used_bytes: int
    """Without the buffers that do not count for maxmemory."""
    max_bytes: int
    """0: without a limit of its own."""
    machine_bytes: int
    """All that it could have: the memory of its machine; if that is ours,
    what it has and what is available.
    """

    @property
    def fullness(self) -> Fullness:
        return Fullness(self.used_bytes, self.max_bytes or self.machine_bytes)


async def read_redis_memory(redis: Redis) -> RedisMemory:
    info: dict[str, Any] = await redis.info("memory")
    return redis_memory_of(info, is_here=is_on_this_machine(redis))


def redis_memory_of(info: Mapping[str, Any], *, is_here: bool) -> RedisMemory:
    """Reads the answer to INFO memory. A server that keeps some of it to itself counts as one with room."""
    used_bytes = int(info.get("used_memory", 0))
    machine = int(info.get("total_system_memory", 0))
    if is_here and (available := available_bytes()):
        machine = min(machine, int(info.get("used_memory_rss", used_bytes)) + available)
    return RedisMemory(
        used_bytes - int(info.get("mem_not_counted_for_evict", 0)), int(info.get("maxmemory", 0)), machine
    )


def is_on_this_machine(redis: Redis) -> bool:
    """Whether Redis is reached over loopback or a socket. A name of another container is not."""
    connection: Mapping[str, Any] = redis.connection_pool.connection_kwargs
    return "path" in connection or connection.get("host", "localhost") in LOOPBACK


def available_bytes() -> int:
    """The memory of this machine that is available to programs; 0 if it does not say."""
    try:
        lines = MEMORY_OF_MACHINE.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)
