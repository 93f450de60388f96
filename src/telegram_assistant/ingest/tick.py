"""The scheduler's tick: one instance at a time plans for all of them. Polls themselves are claimed from the due-queue."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.budget import HISTORY
from telegram_assistant.domain.parsing import choose_mode
from telegram_assistant.domain.rhythm import FLAT, SHORTEST_SECONDS, hour_of_week, price, profile_of
from telegram_assistant.errors import Busy
from telegram_assistant.settings import ParserSettings, SchedulerPolicy
from telegram_assistant.stores.postgres.planning import Load, Planning, Survey
from telegram_assistant.stores.redis.scheduler import RENEW_SECONDS, SchedulerLock, TickFacts
from telegram_assistant.supervision import end, sleep_unless
from telegram_assistant.telemetry.health import Fact, Health, State, iso
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import BACKFILL_JOBS, CHANNELS, LAST_TICK, SCHEDULER_INTERVAL, SCHEDULER_LOCK

log = get_logger()

PART = "scheduler"
REQUESTS_PER_SECOND = HISTORY.limits[0].per_second
"""What one account may ask for; its polls get all of it but what the past takes."""
POLLS_SHARE = 0.7
PROFILES_PER_TICK = 500
TOLD_CHANNELS = 1000
"""Above so many the log names no single channel unless it is asked to (debug)."""
SETTLED_SECONDS = 120.0


class Scheduler:
    """Ticks until told to stop."""

    def __init__(self, *, settings: ParserSettings, lock: SchedulerLock, planning: Planning, health: Health, clock: Callable[[], datetime]) -> None:
        self._settings = settings
        self._lock = lock
        self._planning = planning
        self._health = health
        self._clock = clock
        SCHEDULER_INTERVAL.set(settings.interval_seconds)

    async def run(self, stopping: asyncio.Event) -> None:
        """A tick that comes late runs; it is not dropped."""
        interval = timedelta(seconds=self._settings.interval_seconds)
        due_at = self._clock()
        while not stopping.is_set():
            await self.tick_if_free()
            due_at = max(due_at + interval, self._clock())
            await sleep_unless(stopping, (due_at - self._clock()).total_seconds())

    async def tick_if_free(self) -> None:
        """Plan, unless another instance does."""
        try:
            if not await self._lock.acquire():
                SCHEDULER_LOCK.labels("missed").inc()
                LAST_TICK.set(_seconds((await self._lock.facts()).last_tick_at))
                self._health.report(PART, State.OK, "another instance plans")
                return
        except Busy as busy:
            SCHEDULER_LOCK.labels("error").inc()
            self._health.report(PART, State.FAILING, str(busy))
            return
        SCHEDULER_LOCK.labels("acquired").inc()
        try:
            async with self._renewed():
                await self._tick()
            self._health.report(PART, State.OK, "plans")
        except Busy as busy:
            self._health.report(PART, State.FAILING, str(busy))
        finally:
            with suppress(Busy):
                await self._lock.release()

    @asynccontextmanager
    async def _renewed(self) -> AsyncIterator[None]:
        async def keep() -> None:
            while True:
                await asyncio.sleep(RENEW_SECONDS)
                with suppress(Busy):
                    await self._lock.renew()

        task = asyncio.create_task(keep())
        try:
            yield
        finally:
            await end([task])

    async def _tick(self) -> None:
        now, before = self._clock(), await self._lock.facts()
        log.info("Running scheduler tick (lock acquired)")
        survey = await self._planning.survey(before.last_tick_at or now - timedelta(days=1))
        log.info(f"Found {survey.active} active channels")  # noqa: G004 -- operators search for these words
        await self._tell_channels(survey, now)
        await self._plan(now)
        await self._open_backfills()
        tick_at = before.last_tick_at if survey.failed_since and not survey.read_since else now
        await self._lock.tell(TickFacts(tick_at, survey.last_success_at, survey.active, survey.failing))
        LAST_TICK.set(_seconds(tick_at))
        CHANNELS.labels("active").set(survey.active)
        CHANNELS.labels("failing").set(survey.failing)
        CHANNELS.labels("parked").set(survey.parked)
        CHANNELS.labels("suspended").set(survey.without_account)
        log.info("Scheduler tick completed", channels=survey.active, failing=survey.failing, seconds=round((self._clock() - now).total_seconds(), 2))

    async def _tell_channels(self, survey: Survey, now: datetime) -> None:
        if survey.active > TOLD_CHANNELS and not log.isEnabledFor(logging.DEBUG):
            return
        say = log.debug if survey.active > TOLD_CHANNELS else log.info
        for one in await self._planning.statuses(survey.active):
            mode, _ = choose_mode(self._settings, last_parsed_at=one.last_parsed_at, last_polled_at=one.last_polled_at, now=now)
            parsed_at = iso(one.last_parsed_at) if one.last_parsed_at else None
            say("Channel status", channel_id=one.channel_id, mode=mode.value, last_parsed_at=parsed_at)

    async def _plan(self, now: datetime) -> None:
        await self._planning.suspend_unread()
        await self._planning.give_accounts()
        if self._settings.policy is SchedulerPolicy.CLASSIC:
            await self._planning.due_at_once()
            return
        loads = await self._planning.loads(now, hour_of_week(now.timestamp()))
        await self._planning.keep_plans([_planned(load) for load in loads], now)
        await self._learn_hours(now)

    async def _learn_hours(self, now: datetime) -> None:
        """At which hours channels post: some of them at each tick, each about once a day."""
        counts = await self._planning.hours_posted(now, PROFILES_PER_TICK)
        if counts:
            pooled = profile_of([sum(hours) for hours in zip(*counts.values(), strict=True)], FLAT)
            await self._planning.keep_profiles({one: profile_of(hours, pooled) for one, hours in counts.items()}, now)

    async def _open_backfills(self) -> None:
        for channel_id in [*await self._planning.want_history(), *await self._planning.want_gaps(settled_seconds=SETTLED_SECONDS)]:
            BACKFILL_JOBS.add(channel_id, status="enqueued")


def _planned(load: Load) -> tuple[Load, float, float, float]:
    """No channel waits longer than twice what equal turns would give it."""
    pace = REQUESTS_PER_SECOND * (POLLS_SHARE if load.has_past else 1.0)
    return load, pace, price(load.roots, pace), max(SHORTEST_SECONDS, 2 * load.channels / pace)


@dataclass(frozen=True, slots=True)
class SchedulerStatus:
    """What health says about planning, on every instance."""

    status: str
    facts: TickFacts
    lock_owner: str | None

    def as_json(self, interval_seconds: int) -> dict[str, Fact]:
        facts = self.facts
        return {
            "last_tick_ts": iso(facts.last_tick_at) if facts.last_tick_at else None,
            "interval_sec": interval_seconds,
            "lock_owner": self.lock_owner.partition("#")[0] if self.lock_owner else None,
            "status": self.status,
            "last_success_ts": iso(facts.last_success_at) if facts.last_success_at else None,
            "channels_active": facts.channels_active,
            "channels_failing": facts.channels_failing,
        }


async def scheduler_status(*, lock: SchedulerLock, planning: Planning, settings: ParserSettings, now: datetime) -> SchedulerStatus:
    """Ok only if ticks run and some active channel was read lately; down when ticks stopped long ago."""
    interval = timedelta(seconds=settings.interval_seconds)
    try:
        facts, owner = await lock.facts(), await lock.owner()
        survey = await planning.survey(now - 2 * interval)
    except Busy:
        return SchedulerStatus("down", TickFacts(), None)
    facts = TickFacts(facts.last_tick_at, survey.last_success_at, survey.active, survey.failing)
    silent = now - facts.last_tick_at if facts.last_tick_at else None
    if silent is None or silent > 5 * interval:
        return SchedulerStatus("down", facts, owner)
    if silent > 2 * interval or (survey.active and not survey.read_since and not survey.planned_later):
        return SchedulerStatus("stale", facts, owner)
    return SchedulerStatus("ok", facts, owner)


def _seconds(moment: datetime | None) -> float:
    return moment.timestamp() if moment else 0.0
