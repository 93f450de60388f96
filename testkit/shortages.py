"""Shortages for tests: a small disk that can be filled, and a Redis without memory.

Each ends with its block.
"""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis.asyncio import Redis

from telegram_assistant.streams.redis_memory import read_redis_memory

MB = 1024 * 1024


@dataclass(frozen=True)
class SmallDisk:
    """A file system of its own."""

    path: Path

    @property
    def ballast(self) -> Path:
        return self.path / "ballast"

    def free_bytes(self) -> int:
        disk = os.statvfs(self.path)
        return disk.f_bavail * disk.f_frsize

    def fill(self, *, leave_bytes: int = 0) -> None:
        """Leaves so much, and no more."""
        with self.ballast.open("ab") as file:
            os.posix_fallocate(
                file.fileno(), 0, self.ballast.stat().st_size + self.free_bytes() - leave_bytes
            )

    def empty(self) -> None:
        self.ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(path: Path, *, megabytes: int) -> Iterator[SmallDisk]:
    """A file system in memory. Skips the test where none may be mounted."""
    path.mkdir(parents=True, exist_ok=True)
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m,mode=755"]
    if (
        shutil.which("mount") is None
        or subprocess.run(
            ["mount", *options, "tmpfs", str(path)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("this machine allows no mounts")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], capture_output=True, check=True)


@asynccontextmanager
async def without_memory(url: str, *, used_share: float = 2.0) -> AsyncIterator[Redis]:
    """Sets the memory limit of Redis so that it uses this share of it: above 1 it takes no more.

    The limit is restored at the end.
    """
    async with Redis.from_url(url) as redis:
        before = str((await redis.config_get("maxmemory"))["maxmemory"])
        memory = await read_redis_memory(redis)
        await redis.config_set("maxmemory", int(memory.used_bytes / used_share))
        try:
            yield redis
        finally:
            await redis.config_set("maxmemory", before)
