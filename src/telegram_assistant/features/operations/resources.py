"""Memory of Redis and disks: measured by every process, and shown to the operator."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.domain.operations.fullness import MEGABYTE, Fullness
from telegram_assistant.errors import Busy
from telegram_assistant.stores.disks import DiskUse, WatchedFolder, measure_folders
from telegram_assistant.stores.postgres.operations.processes import KnownProcess
from telegram_assistant.stores.redis.client import Redis, await_reply
from telegram_assistant.streams.redis_memory import RedisMemory, read_redis_memory
from telegram_assistant.supervision import Loop, sleep_unless
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.metrics import DISK_FREE, DISK_SIZE, REDIS_MEMORY

PART = "resources"
POSTGRES_PART = "disk of PostgreSQL"
WATCH_EVERY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class DiskOverview:
    """A disk and what is on it. Disks of the same size are taken for one, as full as the fuller one."""

    uses: tuple[str, ...]
    fullness: Fullness


@dataclass(frozen=True, slots=True)
class ResourcesOverview:
    """The latest measurements of the running processes."""

    redis: RedisMemory | None
    """None if no running process could ask Redis."""
    disks: tuple[DiskOverview, ...]
    downloads_paused: bool
    """Whether a process downloads no files, because a disk has too little room."""


def resources_loop(redis: Redis, folders: Sequence[WatchedFolder], healths: Sequence[Health]) -> Loop:
    """Build the loop that measures for metrics and heartbeats,
    and reports to every role the disk without which nothing can be stored.
    """

    async def run(stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            measured_folders = await measure_resources(redis, folders)
            if (postgres := measured_folders.get(DiskUse.POSTGRES)) is not None:
                detail = f"{postgres.free_bytes // MEGABYTE} of {postgres.size_bytes // MEGABYTE} MB are free"
                for health in healths:
                    health.report(
                        POSTGRES_PART,
                        State.FAILING if postgres.severity is Severity.BAD else State.OK,
                        detail,
                    )
            await sleep_unless(stopping, WATCH_EVERY_SECONDS)

    return Loop(PART, run)


async def measure_resources(redis: Redis, folders: Sequence[WatchedFolder]) -> Mapping[DiskUse, Fullness]:
    """Sets the metrics, and returns those of disks.

    A resource that cannot be measured has no metric: nobody must take an old number for a new one.
    """
    measured_folders = await measure_folders(folders)
    for folder in folders:
        fullness = measured_folders.get(folder.use)
        if fullness is None:
            _forget_disk(folder.use)
        else:
            DISK_SIZE.labels(folder.use).set(fullness.size_bytes)
            DISK_FREE.labels(folder.use).set(fullness.free_bytes)
    try:
        memory = await await_reply(read_redis_memory(redis))
    except Busy:  # the parts that need Redis say that it is away
        REDIS_MEMORY.clear()
        return measured_folders
    for kind, size_bytes in (
        ("used", memory.used_bytes),
        ("limit", memory.max_bytes),
        ("machine", memory.machine_bytes),
    ):
        REDIS_MEMORY.labels(kind).set(size_bytes)
    return measured_folders


def _forget_disk(use: DiskUse) -> None:
    for metric in (DISK_SIZE, DISK_FREE):
        metric.remove_by_labels({"disk": use.value})


def resources_of(processes: Sequence[KnownProcess]) -> ResourcesOverview:
    """Returns what these processes have measured, the last report first."""
    newest_first = sorted(processes, key=lambda process: process.age_seconds)
    memories = (memory for process in newest_first if (memory := _redis_memory(process)) is not None)
    is_paused = any(process.metrics.largest("media_paused") for process in processes)
    return ResourcesOverview(next(memories, None), _disks(processes), downloads_paused=is_paused)


def _redis_memory(process: KnownProcess) -> RedisMemory | None:
    used_bytes, limit, machine = (
        process.metrics.largest("redis_memory_bytes", kind=kind) for kind in ("used", "limit", "machine")
    )
    return None if used_bytes is None else RedisMemory(int(used_bytes), int(limit or 0), int(machine or 0))


def _disks(processes: Sequence[KnownProcess]) -> tuple[DiskOverview, ...]:
    uses: dict[int, set[str]] = {}
    free: dict[int, int] = {}
    for process in processes:
        for sample in process.metrics.samples:
            if (
                sample.name == "disk_size_bytes"
                and (free_bytes := process.metrics.largest("disk_free_bytes", disk=sample.labels["disk"]))
                is not None
            ):
                size_bytes = int(sample.value)
                uses.setdefault(size_bytes, set()).add(sample.labels["disk"])
                free[size_bytes] = min(free.get(size_bytes, size_bytes), int(free_bytes))
    disks = [
        DiskOverview(
            tuple(use for use in DiskUse if use in uses[size_bytes]),
            Fullness(size_bytes - free[size_bytes], size_bytes),
        )
        for size_bytes in uses
    ]
    return tuple(sorted(disks, key=lambda disk: -disk.fullness.share))
