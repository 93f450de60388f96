"""How the stages are doing: what each has not begun, not finished, and how old the oldest of it is. And trimming."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from telegram_assistant.domain.lane import Lane
from telegram_assistant.streams.acknowledging import RESTING
from telegram_assistant.streams.groups import sources_of
from telegram_assistant.streams.keys import stopped_key, stream_keys, text_of
from telegram_assistant.streams.stage import AnyStage, part_of
from telegram_assistant.supervision import Loop, sleep_unless
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import STAGE_LAG, STAGE_OLDEST, STAGE_PENDING, STREAM_ENTRIES

log = get_logger()

WATCH_EVERY_SECONDS = 5.0
UNREAD_KEPT = 10_000
"""So much is kept of a stream that no stage reads."""


@dataclass(frozen=True, slots=True)
class StageState:
    """One stage in one lane."""

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
    """One group on one stream."""

    lag: int
    pending: int
    resting: int
    consumers: int
    oldest_ms: int | None
    needed_from: str
    """The first id that the group still needs."""


async def look(redis: Redis, stages: Sequence[AnyStage], partitions: int) -> list[StageState]:
    """The state of every stage, live and bulk."""
    states = []
    for stage in stages:
        stopped = await redis.get(stopped_key(stage.name))
        sources = list(sources_of(stage, partitions))
        for lane in Lane:
            of_lane = [source for source in sources if source.lane is lane]
            groups = [(source, await _group(redis, source.key, stage.name, await _groups_of(redis, source.key))) for source in of_lane]
            lengths = [await redis.xlen(source.key) for source in of_lane]
            oldest = min((group.oldest_ms for _, group in groups if group is not None and group.oldest_ms is not None), default=None)
            states.append(
                StageState(
                    stage=stage.name,
                    lane=lane,
                    lag=sum(length if group is None else group.lag for (_, group), length in zip(groups, lengths, strict=True)),
                    pending=sum(group.pending for _, group in groups if group is not None),
                    resting=sum(group.resting for _, group in groups if group is not None),
                    oldest_seconds=0.0 if oldest is None else max(0.0, time.time() - oldest / 1000),
                    consumers=max((group.consumers for _, group in groups if group is not None), default=0),
                    stopped=None if stopped is None else text_of(stopped),
                )
            )
    return states


async def _group(redis: Redis, key: str, stage: str, found: Sequence[Any]) -> _Group | None:
    """One of the groups that were found on a stream, with what it has in hand."""
    info = next((one for one in found if text_of(one["name"]) == stage), None)
    if info is None:
        return None
    summary: Any = await redis.xpending(key, stage)
    delivered = text_of(info["last-delivered-id"])
    oldest = text_of(summary["min"]) if summary["pending"] else None
    lag = info["lag"]
    if lag is None:  # Redis cannot tell after deletions in the middle; count then
        waiting_entries: Any = await redis.xrange(key, f"({delivered}", "+", count=10_000)
        lag = len(waiting_entries)
    waiting = oldest
    if waiting is None and lag:
        first: Any = await redis.xrange(key, f"({delivered}", "+", count=1)
        waiting = text_of(first[0][0]) if first else None
    owners = {text_of(one["name"]): one["pending"] for one in summary["consumers"]}
    return _Group(
        lag=int(lag),
        pending=int(summary["pending"]),
        resting=int(owners.pop(RESTING, 0)),
        consumers=int(info["consumers"]),
        oldest_ms=None if waiting is None else int(waiting.partition("-")[0]),
        needed_from=oldest or delivered,
    )


async def _groups_of(redis: Redis, key: str) -> list[Any]:
    try:
        found: list[Any] = await redis.xinfo_groups(key)
    except ResponseError:  # there is no such stream yet
        return []
    return found


async def trim(redis: Redis, stages: Sequence[AnyStage], partitions: int) -> dict[str, int]:
    """Cut off what every group has finished, and nothing else. A stream whose group is missing is left alone."""
    readers: dict[str, list[str]] = {}
    for stage in stages:
        for source in sources_of(stage, partitions):
            readers.setdefault(source.key, []).append(stage.name)
    trimmed: dict[str, int] = {}
    for key, expected in readers.items():
        found = await _groups_of(redis, key)
        groups = [await _group(redis, key, name, found) for name in expected]
        if any(group is None for group in groups):
            continue
        _report_strangers(key, found, expected)
        lowest = min((group.needed_from for group in groups if group is not None), key=_order)
        trimmed[key] = await redis.xtrim(key, minid=lowest, approximate=True)
        STREAM_ENTRIES.labels(key).set(await redis.xlen(key))
    for event in {event for stage in stages for event in stage.emits}:
        for _, _, key in stream_keys(event, partitions):
            if key not in readers:  # told, and nobody of ours listens: kept for whoever looks, not for ever
                trimmed[key] = await redis.xtrim(key, maxlen=UNREAD_KEPT, approximate=True)
    return trimmed


def _report_strangers(key: str, found: Sequence[Any], expected: Sequence[str]) -> None:
    """A group that no stage of ours has does not hold trimming; its owner should know."""
    for one in found:
        if text_of(one["name"]) not in expected:
            log.warning("unknown_group", stream=key, group=text_of(one["name"]), why="it may miss entries: trimming does not wait for it")


def _order(entry_id: str) -> tuple[int, int]:
    milliseconds, _, number = entry_id.partition("-")
    return int(milliseconds), int(number or 0)


def _note(states: Sequence[StageState], health: Health) -> None:
    """Both lanes of a stage are one part of health."""
    for name in {state.stage for state in states}:
        lanes = [state for state in states if state.stage == name]
        lag, pending = sum(state.lag for state in lanes), sum(state.pending for state in lanes)
        health.note(part_of(name), lag=lag, pending=pending, oldest_seconds=round(max(state.oldest_seconds for state in lanes), 1))


async def resume(redis: Redis, stage: str) -> bool:
    """Let a stopped stage go on; False if it was not stopped."""
    return bool(await redis.delete(stopped_key(stage)))


def watch(redis: Redis, stages: Sequence[AnyStage], partitions: int, health: Health) -> Loop:
    """The worker's loop that measures, and trims."""

    async def run(stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            try:
                states = await look(redis, stages, partitions)
                _note(states, health)
                for state in states:
                    STAGE_LAG.labels(state.stage, state.lane).set(state.lag)
                    STAGE_PENDING.labels(state.stage, state.lane).set(state.pending)
                    STAGE_OLDEST.labels(state.stage, state.lane).set(state.oldest_seconds)
                await trim(redis, stages, partitions)
            except RedisError as error:
                log.warning("cannot_watch", why=type(error).__name__)
            await sleep_unless(stopping, WATCH_EVERY_SECONDS)

    return Loop("stream watch", run)
