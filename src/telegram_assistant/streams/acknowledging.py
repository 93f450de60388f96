"""Writes outcomes to Redis: published events and acknowledgements together, many entries at a time.

All waiting outcomes are written in one transaction. Outcomes that arrive during a write form the next batch,
so the busier a stage is, the fewer commands an entry costs.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from telegram_assistant.streams.entries import PAYLOAD, DeadLettered, Done, Failed, HandedBack, Late, Outcome
from telegram_assistant.streams.groups import ensure_groups, is_missing_group
from telegram_assistant.streams.keys import dead_key, stream_of_channel

RESTING = "__retry__"
"""The consumer that owns entries between a failure and their next attempt."""
MAX_AT_ONCE = 500
RAW = {"parse_justid": True}
"""Keeps redis-py from looking for fields in the reply to XCLAIM JUSTID."""

type Command = tuple[bytes | str | int, ...]


class DeadLetters(Protocol):
    """Permanent storage of dead letters: PostgreSQL. The streams in Redis mirror it."""

    async def add(self, stage: str, letters: Iterable[DeadLettered]) -> None: ...


class Acknowledger:
    """Collects outcomes and writes them. One per stage and process."""

    def __init__(self, stage: str, *, redis: Redis, partitions: int, dead_letters: DeadLetters) -> None:
        self._stage = stage
        self._redis = redis
        self._partitions = partitions
        self._dead_letters = dead_letters
        self._waiting: list[Outcome] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def settle(self, outcomes: Iterable[Outcome]) -> None:
        """Queue outcomes to be written soon."""
        self._waiting.extend(outcomes)
        if self._waiting:
            self._idle.clear()
            self._wake.set()

    async def write_outcomes(self, on_written: Callable[[Sequence[Outcome]], None]) -> None:
        """Wait for outcomes and write them.

        Calls `on_written` with each written batch; unwritten outcomes stay queued.
        """
        await self._wake.wait()
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_AT_ONCE], self._waiting[MAX_AT_ONCE:]
            try:
                await self._write(batch)
            except BaseException:
                self._waiting = batch + self._waiting
                raise
            on_written(batch)
        self._wake.clear()
        self._idle.set()

    async def wait_until_written(self) -> None:
        """Wait until every queued outcome is written."""
        await self._idle.wait()

    async def _write(self, outcomes: list[Outcome]) -> None:
        dead_lettered = [outcome for outcome in outcomes if isinstance(outcome, DeadLettered)]
        if dead_lettered:
            await self._dead_letters.add(self._stage, dead_lettered)
        for group in self._by_partition(outcomes):
            commands = list(self._commands(group))
            try:
                # XCLAIM first, because it needs the group: if the group is missing, no event has been
                # published yet
                await self._send([command for command in commands if command[0] == "XCLAIM"])
                await self._send([command for command in commands if command[0] != "XCLAIM"])
            except ResponseError as error:
                if is_missing_group(error):
                    await ensure_groups(self._redis, self._stage, {outcome.entry.source for outcome in group})
                raise

    async def _send(self, commands: list[Command]) -> None:
        if commands:
            pipeline: Any = self._redis.pipeline(transaction=len(commands) > 1)
            for command in commands:
                pipeline.execute_command(*command, **RAW)
            await pipeline.execute()

    def _by_partition(self, outcomes: list[Outcome]) -> Iterable[list[Outcome]]:
        """Group outcomes by partition: a transaction must stay within one slot of a Redis cluster."""
        if self._partitions == 1:
            return [outcomes]
        return [
            list(group) for _, group in itertools.groupby(sorted(outcomes, key=_partition), key=_partition)
        ]

    def _commands(self, outcomes: list[Outcome]) -> Iterator[Command]:
        acknowledged: dict[str, list[bytes]] = {}
        resting: dict[str, list[bytes]] = {}
        for outcome in outcomes:
            entry = outcome.entry
            if type(outcome) is Done and not outcome.events:  # nearly always
                acknowledged.setdefault(entry.source.key, []).append(entry.entry_id)
                continue
            match outcome:
                case Done(events=events):
                    for event in events:
                        key = stream_of_channel(
                            type(event), entry.source.lane, event.channel_id, self._partitions
                        )
                        yield "XADD", key, "*", PAYLOAD, event.model_dump_json()
                    acknowledged.setdefault(entry.source.key, []).append(entry.entry_id)
                case DeadLettered(reason=reason):
                    key = dead_key(self._stage, entry.source.partition, self._partitions)
                    yield (
                        "XADD",
                        key,
                        "*",
                        PAYLOAD,
                        entry.payload,
                        "source",
                        entry.source.key,
                        "id",
                        entry.entry_id,
                        "reason",
                        reason[:500],
                    )
                    acknowledged.setdefault(entry.source.key, []).append(entry.entry_id)
                case Failed():
                    resting.setdefault(entry.source.key, []).append(entry.entry_id)
                case HandedBack() | Late():
                    at_once = isinstance(outcome, HandedBack)
                    yield hand_back(
                        entry.source.key, self._stage, entry.entry_id, entry.deliveries, at_once=at_once
                    )
        for key, ids in resting.items():
            yield "XCLAIM", key, self._stage, RESTING, 0, *ids, "JUSTID"
        for key, ids in acknowledged.items():
            yield "XACK", key, self._stage, *ids


def hand_back(key: str, stage: str, entry_id: bytes, deliveries: int, *, at_once: bool = True) -> Command:
    """Build the command that lets another consumer take the entry, without counting this delivery.

    It may be taken at once, or after its backoff.
    """
    return (
        "XCLAIM",
        key,
        stage,
        RESTING,
        0,
        entry_id,
        "IDLE",
        86_400_000 if at_once else 0,
        "RETRYCOUNT",
        max(deliveries - 1, 0),
        "JUSTID",
    )


def _partition(outcome: Outcome) -> int:
    return outcome.entry.source.partition
