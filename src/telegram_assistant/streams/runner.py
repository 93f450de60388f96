"""Runs one stage in one process: reads entries up to its capacity, calls the handler and writes the outcomes.

While Redis is unreachable or full, handlers go on. Reading, lease renewal and acknowledgement wait for Redis,
then continue where they were. This file is long because all of that shares one set of entries in hand.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from redis.asyncio import Redis
from redis.exceptions import RedisError

from telegram_assistant.domain.lane import Lane
from telegram_assistant.errors import Busy
from telegram_assistant.streams.acknowledging import Acknowledger, DeadLetters
from telegram_assistant.streams.batch_limit import BatchLimit
from telegram_assistant.streams.deadlines import Deadlines
from telegram_assistant.streams.entries import DeadLettered, Done, Entry, Outcome
from telegram_assistant.streams.groups import ensure_groups, sources_of
from telegram_assistant.streams.handling import Finished, Handling
from telegram_assistant.streams.local_queue import LocalQueue
from telegram_assistant.streams.reading import Alone, Reclaimer, StreamReader, renew_leases
from telegram_assistant.streams.stage import AnyStage, part_of
from telegram_assistant.streams.stopping import StopMark
from telegram_assistant.supervision import Loop, cancel_and_wait, sleep_unless
from telegram_assistant.telemetry.health import Health, State, iso
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import StageMetrics
from telegram_assistant.telemetry.outages import OutageLog

log = get_logger()

LEAVING_SECONDS = 3.0
"""How long a stage that was cut off may take to hand back its entries."""
ISOLATION_POLL_SECONDS = 0.05
BUSY_LOGGED_AFTER_SECONDS = 10.0
"""A stage often waits a moment for another one. That is nothing for the log."""


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of the runtime, the same for all stages."""

    lease_seconds: float = 20.0
    reclaim_every_seconds: float = 1.0
    block_seconds: float = 2.0
    outage_pause_seconds: float = 0.5
    partitions: int = 1
    max_consecutive_dead_letters: int = 10
    max_busy_seconds: float = 30.0
    max_waiting_seconds: float = 60.0
    """A stage that waits for longer without finishing anything fails."""


class Runner:
    """Runs one stage."""

    def __init__(
        self,
        stage: AnyStage,
        collaborators: Mapping[str, object],
        *,
        redis: Redis,
        dead_letters: DeadLetters,
        instance: str,
        health: Health,
        options: Options,
        finished: Finished | None = None,
    ) -> None:
        self.stage = stage
        self._part = part_of(stage.name)
        self._redis = redis
        self._dead_letters = dead_letters
        self._instance = instance
        self._health = health
        self._options = options
        self._metrics = StageMetrics(stage.name)
        self._deadlines = Deadlines(stage.timeout_seconds)
        self._batch_limit = BatchLimit(stage.batch or 1, timeout_seconds=stage.timeout_seconds)
        self._handling = Handling(
            stage,
            collaborators,
            deadlines=self._deadlines,
            batch_limit=self._batch_limit,
            hold=self._hold,
            metrics=self._metrics,
            finished=finished,
        )
        self._sources = tuple(sources_of(stage, options.partitions))
        self._reader = StreamReader(redis, stage, instance, block_seconds=options.block_seconds)
        self._reclaimer = Reclaimer(redis, stage, instance, lease_seconds=options.lease_seconds)
        self._held: dict[tuple[str, bytes], Entry] = {}
        """Every entry this process owns: queued, being handled, or being acknowledged."""
        self._bulk_held = 0
        self._ready = LocalQueue(stage, self._batch_limit)
        self._isolating_since: float | None = None
        """While this is set, nothing new is read: an entry that may kill its process waits to be alone in it.

        """
        self._has_capacity = asyncio.Event()
        self._paused_until = 0.0
        self._buried_in_a_row = 0
        self._noted_at = 0.0
        self._busy_since: float | None = None
        """When the handlers first had to wait after they last finished an entry."""
        self._waiting_for_servers: set[Callable[[], Awaitable[None]]] = set()
        self._stop_mark = StopMark(redis, stage.name)
        self._server_outage = OutageLog(self._part)
        self._busy_outage = OutageLog(self._part, patience_seconds=BUSY_LOGGED_AFTER_SECONDS)
        self._ending = asyncio.Event()
        """Set when this run is over, because the process or the stage stops."""

    # --- lifecycle ---

    def loop(self) -> Loop:
        return Loop(self._part, self.run)

    async def run(self, stopping: asyncio.Event) -> None:
        """Run until `stopping` is set, then finish the entries in hand.

        A stopped stage waits for a person before its next run.
        """
        while not stopping.is_set():
            if not await self._prepare(stopping):
                continue
            self._held.clear()
            self._ready = LocalQueue(self.stage, self._batch_limit)
            self._isolating_since = None
            self._waiting_for_servers.clear()
            self._bulk_held = self._buried_in_a_row = 0
            self._busy_since = None
            self._ending.clear()
            forwarding = asyncio.create_task(_forward_signal(stopping, self._ending))
            try:
                await self._run_once()
            finally:
                forwarding.cancel()

    async def _prepare(self, stopping: asyncio.Event) -> bool:
        """Wait while the stage is stopped, and create its groups.

        Returns False after a pause if a server is away.
        """
        try:
            await self._wait_while_stopped(stopping)
            await ensure_groups(self._redis, self.stage.name, self._sources)
        except (RedisError, OSError) as error:
            self._server_outage.log_failure(f"{type(error).__name__}: {error}")
            self._report(State.FAILING, f"waits for a server: {type(error).__name__}")
            await sleep_unless(stopping, self._options.outage_pause_seconds)
            return False
        self._server_outage.log_recovery()
        return True

    async def _run_once(self) -> None:
        acknowledger = Acknowledger(
            self.stage.name,
            redis=self._redis,
            partitions=self._options.partitions,
            dead_letters=self._dead_letters,
        )
        try:
            async with asyncio.TaskGroup() as group:
                background = [
                    group.create_task(
                        self._retry_forever(lambda: acknowledger.write_outcomes(self._on_written))
                    ),
                    group.create_task(self._retry_forever(self._renew)),
                    group.create_task(self._retry_forever(self._deadlines.watch)),
                ]
                workers = [
                    group.create_task(self._work(self._ready, acknowledger))
                    for _ in range(self.stage.concurrency)
                ]
                readers = [group.create_task(self._retry_forever(self._read_step(lane))) for lane in Lane]
                readers.append(group.create_task(self._retry_forever(self._reclaim)))
                self._report(State.OK)
                await self._ending.wait()
                await cancel_and_wait(readers)
                self._ready.close()
                await asyncio.wait(workers)
                await acknowledger.wait_until_written()
                await cancel_and_wait(background)
        finally:
            await self._leave()
        if self._buried_in_a_row >= self._options.max_consecutive_dead_letters:
            why = f"{self._buried_in_a_row} dead letters in a row"
            log.error("stage_stopped", stage=self.stage.name, why=why)
            await self._stop_mark.write(why)

    async def _leave(self) -> None:
        try:
            async with asyncio.timeout(LEAVING_SECONDS):
                await self._reader.leave(self._sources)
        except (RedisError, OSError) as error:
            log.warning(
                "entries_not_handed_back",
                stage=self.stage.name,
                why=f"{type(error).__name__}; others take them when their leases end",
            )

    async def _wait_while_stopped(self, stopping: asyncio.Event) -> None:
        """Wait while the stage is stopped after consecutive dead letters,
        so that good entries do not follow bad ones. A person resumes it.
        """
        while not stopping.is_set() and (why := await self._stop_mark.read()) is not None:
            remedy = f"mend the cause, then run `tga streams resume {self.stage.name}`"
            self._report(State.FAILING, f"stopped: {why}; {remedy}")
            await sleep_unless(stopping, self._options.block_seconds)

    async def _retry_forever(self, step: Callable[[], Awaitable[None]]) -> None:
        """Repeat the step until cancelled. During an outage it waits; the work in hand goes on."""
        while True:
            try:
                await step()
            except (RedisError, OSError, Busy) as error:
                self._waiting_for_servers.add(step)
                self._server_outage.log_failure(f"{type(error).__name__}: {error}")
                self._report(State.FAILING, f"waits for a server: {type(error).__name__}")
                await asyncio.sleep(self._options.outage_pause_seconds)
            else:
                if step in self._waiting_for_servers:
                    self._waiting_for_servers.discard(step)
                    self._report(State.FAILING if self._waiting_for_servers else State.OK)
                    if not self._waiting_for_servers:
                        self._server_outage.log_recovery()

    # --- reading entries ---

    def _read_step(self, lane: Lane) -> Callable[[], Awaitable[None]]:
        sources = [source for source in self._sources if source.lane is lane]

        async def step() -> None:
            self._enqueue(lane, await self._reader.read(sources, await self._wait_for_capacity(lane)))

        return step

    async def _wait_for_capacity(self, lane: Lane) -> int:
        """Wait for free capacity.

        Live entries may use all of it; history at most half, and none while live entries wait.
        """
        while True:
            await self._wait_while_paused()
            free = 0 if self._isolating_since is not None else self.stage.capacity - len(self._held)
            if lane is Lane.BULK:
                free = (
                    0
                    if self._ready.has_live_entries()
                    else min(free, max(self.stage.capacity // 2, 1) - self._bulk_held)
                )
            if free > 0:
                return free
            self._has_capacity.clear()
            await self._has_capacity.wait()

    async def _reclaim(self) -> None:
        """Take over entries that are due for a retry or were left behind.

        They have a little capacity beyond that of new entries.
        """
        await asyncio.sleep(
            ISOLATION_POLL_SECONDS if self._isolating_since else self._options.reclaim_every_seconds
        )
        await self._wait_while_paused()
        if await self._stop_mark.read() is not None:
            self._ending.set()
            return
        suspects_wait = False
        for source in self._sources:
            claimed = await self._reclaimer.claim(
                source, self._capacity_for_claims(source.lane), self._held, alone=self._alone()
            )
            self._enqueue(source.lane, claimed.entries)
            suspects_wait = suspects_wait or claimed.suspects_wait
        self._isolate_entry(suspects_wait=suspects_wait)
        await self._reclaimer.tidy(self._sources)

    def _capacity_for_claims(self, lane: Lane) -> int:
        free = self.stage.capacity + max(self.stage.capacity // 8, 1) - len(self._held)
        return (
            free if lane is Lane.LIVE else min(free, max(self.stage.capacity // 2, 1) + 1 - self._bulk_held)
        )

    def _alone(self) -> Alone:
        """Tell whether this process is alone with its entry.

        A running read may still deliver entries, so wait longer than a read takes.
        """
        if self._isolating_since is None:
            return Alone.NO
        read_ended = (
            time.monotonic() - self._isolating_since > self._options.block_seconds + ISOLATION_POLL_SECONDS
        )
        return Alone.YES if read_ended and not self._held else Alone.SOON

    def _isolate_entry(self, *, suspects_wait: bool) -> None:
        """Stop reading new entries while an entry that may kill its process waits or is in hand."""
        if suspects_wait or (self._isolating_since is not None and self._held):
            self._isolating_since = self._isolating_since or time.monotonic()
        else:
            self._isolating_since = None
            self._has_capacity.set()

    async def _renew(self) -> None:
        await asyncio.sleep(self._options.lease_seconds / 3)
        await renew_leases(self._redis, self.stage.name, self._instance, self._held)

    def _enqueue(self, lane: Lane, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._held[entry.source.key, entry.entry_id] = entry
            if entry.deliveries > 1:
                self._metrics.retried.inc()
        if lane is Lane.BULK:
            self._bulk_held += len(entries)
        self._ready.put(lane, entries)

    # --- handling entries ---

    async def _work(self, ready: LocalQueue, acknowledger: Acknowledger) -> None:
        while batch := await ready.take():
            began = time.perf_counter()
            outcomes = await self._handling.decide(batch)
            took = time.perf_counter() - began
            self._metrics.latency.observe(took / len(batch))
            acknowledger.settle(outcomes)
            await ready.finish_batch(batch, took)

    async def _hold(self, busy: Busy) -> bool:
        """Pause the whole stage, because the other side is busy for all its workers.

        Returns False if this run is ending.
        """
        if self._ending.is_set():
            return False
        seconds = min(max(busy.retry_after_seconds, 0.05), self._options.max_busy_seconds)
        if time.monotonic() >= self._paused_until:
            self._busy_outage.log_failure(busy, is_routine=True, seconds=round(seconds, 1))
            self._report_waiting(busy)
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)
        await sleep_unless(self._ending, seconds)
        return True

    def _report_waiting(self, busy: Busy) -> None:
        """Report why the stage waits. A short wait is no failure."""
        self._busy_since = self._busy_since or time.monotonic()
        is_long = time.monotonic() - self._busy_since >= self._options.max_waiting_seconds
        self._report(State.FAILING if is_long or self._waiting_for_servers else State.OK, f"waits: {busy}")

    async def _wait_while_paused(self) -> None:
        while (wait := self._paused_until - time.monotonic()) > 0 and not self._ending.is_set():
            await sleep_unless(self._ending, wait)

    # --- after writing ---

    def _on_written(self, outcomes: Sequence[Outcome]) -> None:
        done_count = 0
        for outcome in outcomes:
            entry = outcome.entry
            if self._held.pop((entry.source.key, entry.entry_id), None) is not None:
                self._bulk_held -= entry.source.lane is Lane.BULK
            if isinstance(outcome, Done):
                done_count += 1
                self._buried_in_a_row = 0
            elif isinstance(outcome, DeadLettered):
                self._metrics.dead_lettered.inc()
                self._buried_in_a_row += 1
        if done_count:
            self._metrics.processed.inc(done_count)
            self._note_success()
        self._has_capacity.set()
        if self._buried_in_a_row >= self._options.max_consecutive_dead_letters:
            self._ending.set()

    def _note_success(self) -> None:
        if self._busy_since is not None:
            self._busy_since = None
            self._busy_outage.log_recovery()
            self._report(State.FAILING if self._waiting_for_servers else State.OK)
        if time.monotonic() >= self._noted_at + 1:
            self._noted_at = time.monotonic()
            self._health.note(self._part, last_success=iso(datetime.now(UTC)))

    def _report(self, state: State, detail: str = "") -> None:
        self._health.report(self._part, state, detail)


async def _forward_signal(source: asyncio.Event, target: asyncio.Event) -> None:
    await source.wait()
    target.set()
