"""Measures each stage (unread entries, unfinished entries, age of the oldest) and trims the streams."""

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from telegram_assistant.domain.lane import Lane
from telegram_assistant.streams.acknowledging import RESTING
from telegram_assistant.streams.groups import UnknownGroup, load_groups, readers_of, sources_of, unknown_among
from telegram_assistant.streams.keys import stopped_key, stream_keys, text_of
from telegram_assistant.streams.stage import AnyStage, part_of
from telegram_assistant.supervision import Loop, sleep_unless
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import STAGE_LAG, STAGE_OLDEST, STAGE_PENDING, STREAM_ENTRIES
from telegram_assistant.telemetry.outages import OutageLog

log = get_logger()

PART = "stream watch"
WATCH_EVERY_SECONDS = 5.0
FORMER_READER_MS = 300_000
"""A consumer that has not read a stream for so long belongs to no running process."""
MAX_UNREAD_ENTRIES = 10_000
"""How many entries of a stream are kept if no stage reads it."""


@dataclass(frozen=True, slots=True)
class StageState:
    """The state of one stage in one lane."""

    stage: str
    lane: Lane
    lag: int
    pending: int
    resting: int
    oldest_seconds: float
    consumers: int
    stopped: str | None


@dataclass(frozen=True, slots=True)
class _Group:
    """One consumer group on one stream."""

    lag: int
    pending: int
    resting: int
    consumers: int
    oldest_ms: int | None
    needed_from: str
    """The first entry id that the group still needs."""


async def measure_stages(redis: Redis, stages: Sequence[AnyStage], partitions: int) -> list[StageState]:
    """Measure every stage in both lanes."""
    states = []
    for stage in stages:
        stopped = await redis.get(stopped_key(stage.name))
        sources = list(sources_of(stage, partitions))
        for lane in Lane:
            of_lane = [source for source in sources if source.lane is lane]
            groups = [
                (source, await _group(redis, source.key, stage.name, await load_groups(redis, source.key)))
                for source in of_lane
            ]
            lengths = [await redis.xlen(source.key) for source in of_lane]
            oldest = min(
                (group.oldest_ms for _, group in groups if group is not None and group.oldest_ms is not None),
                default=None,
            )
            states.append(
                StageState(
                    stage=stage.name,
                    lane=lane,
                    lag=sum(
                        length if group is None else group.lag
                        for (_, group), length in zip(groups, lengths, strict=True)
                    ),
                    pending=sum(group.pending for _, group in groups if group is not None),
                    resting=sum(group.resting for _, group in groups if group is not None),
                    oldest_seconds=0.0 if oldest is None else max(0.0, time.time() - oldest / 1000),
                    consumers=max((group.consumers for _, group in groups if group is not None), default=0),
                    stopped=None if stopped is None else text_of(stopped),
                )
            )
    return states


async def _group(redis: Redis, key: str, stage: str, group_infos: Sequence[Any]) -> _Group | None:
    """Measure the stage's group, given the groups of the stream. Returns None if the group does not exist."""
    info = next((group_info for group_info in group_infos if text_of(group_info["name"]) == stage), None)
    if info is None:
        return None
    summary: Any = await redis.xpending(key, stage)
    delivered = text_of(info["last-delivered-id"])
    oldest_id = text_of(summary["min"]) if summary["pending"] else None
    lag = info["lag"]
    if lag is None:  # Redis does not know the lag after deletions in the middle of a stream; count instead
        waiting_entries: Any = await redis.xrange(key, f"({delivered}", "+", count=10_000)
        lag = len(waiting_entries)
    waiting = oldest_id
    if waiting is None and lag:
        first: Any = await redis.xrange(key, f"({delivered}", "+", count=1)
        waiting = text_of(first[0][0]) if first else None
    owners = {text_of(consumer["name"]): consumer["pending"] for consumer in summary["consumers"]}
    return _Group(
        lag=int(lag),
        pending=int(summary["pending"]),
        resting=int(owners.pop(RESTING, 0)),
        consumers=int(info["consumers"]),
        oldest_ms=None if waiting is None else int(waiting.partition("-")[0]),
        needed_from=oldest_id or delivered,
    )


async def trim(
    redis: Redis, stages: Sequence[AnyStage], partitions: int, *, warned: set[UnknownGroup] | None = None
) -> dict[str, int]:
    """Trim entries that every group has finished, and nothing else. Skips a stream if one of its groups is
    missing.

    `warned`: the groups of other programs that the log has named already.
    """
    readers = readers_of(stages, partitions)
    trimmed_counts: dict[str, int] = {}
    for key, expected in readers.items():
        group_infos = await load_groups(redis, key)
        former = await _former_readers(
            redis, key, group_infos, {stage.name for stage in stages} - set(expected)
        )
        groups = [await _group(redis, key, name, group_infos) for name in (*expected, *former)]
        if any(group is None for group in groups):
            continue
        own_stages = [stage.name for stage in stages]
        _warn_about_unknown_groups(
            unknown_among(key, group_infos, own_stages), set() if warned is None else warned
        )
        lowest = min((group.needed_from for group in groups if group is not None), key=_sort_key)
        trimmed_counts[key] = await redis.xtrim(key, minid=lowest, approximate=True)
        STREAM_ENTRIES.labels(key).set(await redis.xlen(key))
    for event in {event for stage in stages for event in stage.emits}:
        for _, _, key in stream_keys(event, partitions):
            if (
                key not in readers
            ):  # no stage of ours reads it: keep some entries for other readers, not all of them
                trimmed_counts[key] = await redis.xtrim(key, maxlen=MAX_UNREAD_ENTRIES, approximate=True)
    return trimmed_counts


async def _former_readers(
    redis: Redis, key: str, group_infos: Sequence[Any], others: Collection[str]
) -> list[str]:
    """Return the stages that read this stream in a process of an earlier release.

    Removes their groups when no such process is left.
    """
    readers = []
    for name in (text_of(group["name"]) for group in group_infos):
        if name in others:
            consumers: list[Any] = await redis.xinfo_consumers(key, name)
            if any(consumer["idle"] < FORMER_READER_MS for consumer in consumers):
                readers.append(name)
            else:
                await redis.xgroup_destroy(key, name)
                log.info("former_group_removed", stream=key, group=name)
    return readers


def _warn_about_unknown_groups(unknown: Sequence[UnknownGroup], warned: set[UnknownGroup]) -> None:
    """Warn about groups that belong to none of our stages: trimming does not wait for them."""
    for group in unknown:
        if group not in warned:
            log.warning(
                "unknown_group",
                stream=group.stream,
                group=group.group,
                why="it may miss entries: trimming does not wait for it",
            )
    warned.update(unknown)


def _sort_key(entry_id: str) -> tuple[int, int]:
    milliseconds, _, number = entry_id.partition("-")
    return int(milliseconds), int(number or 0)


def _note(states: Sequence[StageState], health: Health) -> None:
    """Report both lanes of a stage as one part of health."""
    for name in {state.stage for state in states}:
        lanes = [state for state in states if state.stage == name]
        lag, pending = sum(state.lag for state in lanes), sum(state.pending for state in lanes)
        health.note(
            part_of(name),
            lag=lag,
            pending=pending,
            oldest_seconds=round(max(state.oldest_seconds for state in lanes), 1),
        )


async def resume(redis: Redis, stage: str) -> bool:
    """Let a stopped stage continue. Returns False if it was not stopped."""
    return bool(await redis.delete(stopped_key(stage)))


def monitoring_loop(redis: Redis, stages: Sequence[AnyStage], partitions: int, health: Health) -> Loop:
    """Build the worker's loop that measures and trims."""
    outage = OutageLog(PART)

    async def run(stopping: asyncio.Event) -> None:
        warned: set[UnknownGroup] = set()
        while not stopping.is_set():
            try:
                states = await measure_stages(redis, stages, partitions)
                _note(states, health)
                for state in states:
                    STAGE_LAG.labels(state.stage, state.lane).set(state.lag)
                    STAGE_PENDING.labels(state.stage, state.lane).set(state.pending)
                    STAGE_OLDEST.labels(state.stage, state.lane).set(state.oldest_seconds)
                await trim(redis, stages, partitions, warned=warned)
                outage.log_recovery()
            except RedisError as error:
                outage.log_failure(f"{type(error).__name__}: {error}")
            await sleep_unless(stopping, WATCH_EVERY_SECONDS)

    return Loop(PART, run)
