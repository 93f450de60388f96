"""Runs one stage in one process: reads what it has room for, gives it to the handler, and settles what becomes of it.

While Redis is away the handlers go on; reading, renewing and settling wait for it and then continue where they were.
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
from telegram_assistant.streams.deadlines import Deadlines
from telegram_assistant.streams.entries import Buried, Done, Entry, Outcome
from telegram_assistant.streams.groups import ensure_groups, sources_of
from telegram_assistant.streams.handling import Finished, Handling
from telegram_assistant.streams.keys import stopped_key, text_of
from telegram_assistant.streams.local_queue import LocalQueue
from telegram_assistant.streams.reading import Alone, Reclaimer, StreamReader, renew_leases
from telegram_assistant.streams.stage import AnyStage, part_of
from telegram_assistant.supervision import Loop, end, sleep_unless
from telegram_assistant.telemetry.health import Health, State, iso
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import StageMetrics

log = get_logger()

LEAVING_SECONDS = 3.0
"""How long a stage that was cut off may take to hand back what it holds."""
MAKING_WAY_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Options:
    """How the runtime behaves; the same for all stages."""

    lease_seconds: float = 20.0
    reclaim_every_seconds: float = 1.0
    block_seconds: float = 2.0
    outage_pause_seconds: float = 0.5
    partitions: int = 1
    max_consecutive_dead_letters: int = 10
    max_busy_seconds: float = 30.0


class Runner:
    """One stage at work."""

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
        self._handling = Handling(stage, collaborators, deadlines=self._deadlines, hold=self._hold, metrics=self._metrics, finished=finished)
        self._sources = tuple(sources_of(stage, options.partitions))
        self._reader = StreamReader(redis, stage, instance, block_seconds=options.block_seconds)
        self._reclaimer = Reclaimer(redis, stage, instance, lease_seconds=options.lease_seconds)
        self._held: dict[tuple[str, bytes], Entry] = {}
        """Everything this process owns: waiting, being worked on, or being settled."""
        self._bulk_held = 0
        self._ready = LocalQueue(stage)
        self._making_way_since: float | None = None
        """Nothing new is read: an entry that may kill its process waits to be alone in it."""
        self._room = asyncio.Event()
        self._paused_until = 0.0
        self._buried_in_a_row = 0
        self._noted_at = 0.0
        self._busy = False
        self._waiting_for_servers: set[Callable[[], Awaitable[None]]] = set()
        self._ending = asyncio.Event()
        """Set when this run is over: the process stops, or the stage does."""

    # --- one run after the other ---

    def loop(self) -> Loop:
        return Loop(self._part, self.run)

    async def run(self, stopping: asyncio.Event) -> None:
        """Until told to stop; then finish what is in hand. Between two runs a stopped stage waits for a person."""
        while not stopping.is_set():
            await self._wait_while_stopped(stopping)
            self._held.clear()
            self._ready = LocalQueue(self.stage)
            self._making_way_since = None
            self._waiting_for_servers.clear()
            self._bulk_held = self._buried_in_a_row = 0
            self._ending.clear()
            passing_on = asyncio.create_task(_pass_on(stopping, self._ending))
            try:
                await self._run_once()
            finally:
                passing_on.cancel()

    async def _run_once(self) -> None:
        await ensure_groups(self._redis, self.stage.name, self._sources)
        settler = Acknowledger(self.stage.name, redis=self._redis, partitions=self._options.partitions, dead_letters=self._dead_letters)
        try:
            async with asyncio.TaskGroup() as group:
                keeping = [
                    group.create_task(self._retry_forever(lambda: settler.settle_some(self._settled))),
                    group.create_task(self._retry_forever(self._renew)),
                    group.create_task(self._retry_forever(self._deadlines.watch)),
                ]
                workers = [group.create_task(self._work(self._ready, settler)) for _ in range(self.stage.concurrency)]
                readers = [group.create_task(self._retry_forever(self._reading(lane))) for lane in Lane]
                readers.append(group.create_task(self._retry_forever(self._reclaim)))
                self._report(State.OK)
                await self._ending.wait()
                await end(readers)
                self._ready.close()
                await asyncio.wait(workers)
                await settler.drained()
                await end(keeping)
        finally:
            async with asyncio.timeout(LEAVING_SECONDS):
                await self._reader.leave(self._sources)
        if self._buried_in_a_row >= self._options.max_consecutive_dead_letters:
            why = f"{self._buried_in_a_row} dead letters in a row"
            log.error("stage_stopped", stage=self.stage.name, why=why)
            await self._redis.set(stopped_key(self.stage.name), why)

    async def _wait_while_stopped(self, stopping: asyncio.Event) -> None:
        """A stage that buried one entry after the other waits for a person: good entries are not thrown after bad ones."""
        while not stopping.is_set() and (why := await self._redis.get(stopped_key(self.stage.name))) is not None:
            remedy = f"mend the cause, then run `tga streams resume {self.stage.name}`"
            self._report(State.FAILING, f"stopped: {text_of(why)}; {remedy}")
            await sleep_unless(stopping, self._options.block_seconds)

    async def _retry_forever(self, step: Callable[[], Awaitable[None]]) -> None:
        """Until cancelled. An outage is waited for; the work in hand goes on meanwhile."""
        while True:
            try:
                await step()
            except (RedisError, OSError, Busy) as error:
                self._waiting_for_servers.add(step)
                log.warning("stage_waits", stage=self.stage.name, why=f"{type(error).__name__}: {error}")
                self._report(State.FAILING, f"waits for a server: {type(error).__name__}")
                await asyncio.sleep(self._options.outage_pause_seconds)
            else:
                if step in self._waiting_for_servers:
                    self._waiting_for_servers.discard(step)
                    self._report(State.FAILING if self._waiting_for_servers else State.OK)

    # --- getting entries ---

    def _reading(self, lane: Lane) -> Callable[[], Awaitable[None]]:
        sources = [source for source in self._sources if source.lane is lane]

        async def step() -> None:
            self._enqueue(lane, await self._reader.read(sources, await self._room_for(lane)))

        return step

    async def _room_for(self, lane: Lane) -> int:
        """Fresh news may use all the room; history at most half of it, and none while news are waiting."""
        while True:
            await self._not_paused()
            room = 0 if self._making_way_since is not None else self.stage.capacity - len(self._held)
            if lane is Lane.BULK:
                room = 0 if self._ready.news_wait() else min(room, max(self.stage.capacity // 2, 1) - self._bulk_held)
            if room > 0:
                return room
            self._room.clear()
            await self._room.wait()

    async def _reclaim(self) -> None:
        """What rested long enough, and what was left behind, is taken beside new entries: it has a little room of its own."""
        await asyncio.sleep(MAKING_WAY_SECONDS if self._making_way_since else self._options.reclaim_every_seconds)
        await self._not_paused()
        if await self._redis.exists(stopped_key(self.stage.name)):
            self._ending.set()
            return
        suspects_wait = False
        for source in self._sources:
            claimed = await self._reclaimer.claim(source, self._room_for_claims(source.lane), self._held, alone=self._alone())
            self._enqueue(source.lane, claimed.entries)
            suspects_wait = suspects_wait or claimed.suspects_wait
        self._isolate_entry(suspects_wait=suspects_wait)
        await self._reclaimer.tidy(self._sources)

    def _room_for_claims(self, lane: Lane) -> int:
        room = self.stage.capacity + max(self.stage.capacity // 8, 1) - len(self._held)
        return room if lane is Lane.LIVE else min(room, max(self.stage.capacity // 2, 1) + 1 - self._bulk_held)

    def _alone(self) -> Alone:
        """Readers that are under way may still bring something: alone is who has read nothing for longer than a read takes."""
        if self._making_way_since is None:
            return Alone.NO
        read_ended = time.monotonic() - self._making_way_since > self._options.block_seconds + MAKING_WAY_SECONDS
        return Alone.YES if read_ended and not self._held else Alone.SOON

    def _isolate_entry(self, *, suspects_wait: bool) -> None:
        """For an entry that may kill its process: while one waits, or is in hand, nothing new is read."""
        if suspects_wait or (self._making_way_since is not None and self._held):
            self._making_way_since = self._making_way_since or time.monotonic()
        else:
            self._making_way_since = None
            self._room.set()

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

    # --- working on them ---

    async def _work(self, ready: LocalQueue, settler: Acknowledger) -> None:
        while taken := await ready.take():
            began = time.perf_counter()
            outcomes = await self._handling.decide(taken)
            took = time.perf_counter() - began
            self._metrics.latency.observe(took / len(taken))
            settler.settle(outcomes)
            await ready.done(taken, took)

    async def _hold(self, busy: Busy) -> bool:
        """The whole stage pauses: the other side is busy for all of us."""
        if self._ending.is_set():
            return False
        seconds = min(max(busy.retry_after_seconds, 0.05), self._options.max_busy_seconds)
        if time.monotonic() >= self._paused_until:
            log.info("stage_waits", stage=self.stage.name, why=str(busy), seconds=seconds)
            self._report(State.FAILING, f"waits: {busy}")
            self._busy = True
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)
        await sleep_unless(self._ending, seconds)
        return True

    async def _not_paused(self) -> None:
        while (wait := self._paused_until - time.monotonic()) > 0 and not self._ending.is_set():
            await sleep_unless(self._ending, wait)

    # --- afterwards ---

    def _settled(self, outcomes: Sequence[Outcome]) -> None:
        done = 0
        for outcome in outcomes:
            entry = outcome.entry
            if self._held.pop((entry.source.key, entry.entry_id), None) is not None:
                self._bulk_held -= entry.source.lane is Lane.BULK
            if isinstance(outcome, Done):
                done += 1
                self._buried_in_a_row = 0
            elif isinstance(outcome, Buried):
                self._metrics.buried.inc()
                self._buried_in_a_row += 1
        if done:
            self._metrics.processed.inc(done)
            self._note_success()
        self._room.set()
        if self._buried_in_a_row >= self._options.max_consecutive_dead_letters:
            self._ending.set()

    def _note_success(self) -> None:
        if self._busy:
            self._busy = False
            self._report(State.FAILING if self._waiting_for_servers else State.OK)
        if time.monotonic() >= self._noted_at + 1:
            self._noted_at = time.monotonic()
            self._health.note(self._part, last_success=iso(datetime.now(UTC)))

    def _report(self, state: State, detail: str = "") -> None:
        self._health.report(self._part, state, detail)


async def _pass_on(told: asyncio.Event, to: asyncio.Event) -> None:
    await told.wait()
    to.set()
