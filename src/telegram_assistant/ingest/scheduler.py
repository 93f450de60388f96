"""The scheduler's tick: one instance at a time plans for all of them.

Polls themselves are claimed from the due-queue.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.accounts.budget import HISTORY
from telegram_assistant.domain.channels.parsing import choose_mode
from telegram_assistant.domain.channels.rhythm import FLAT, SHORTEST_SECONDS, hour_of_week, price, profile_of
from telegram_assistant.errors import Busy
from telegram_assistant.settings import ParserSettings, SchedulerPolicy
from telegram_assistant.stores.postgres.channels.planning import Load, Planning, Survey
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.stores.redis.scheduler import RENEW_SECONDS, SchedulerLock, TickFacts
from telegram_assistant.supervision import cancel_and_wait, sleep_unless
from telegram_assistant.telemetry.health import Fact, Health, State, iso
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import (
    BACKFILL_JOBS,
    CHANNELS,
    LAST_TICK,
    SCHEDULER_INTERVAL,
    SCHEDULER_LOCK,
)
from telegram_assistant.telemetry.outages import OutageLog

log = get_logger()

PART = "scheduler"
REQUESTS_PER_SECOND = HISTORY.limits[0].per_second
"""How many requests one account may send. Polls get all of them except the share of backfills."""
POLLS_SHARE = 0.7
PROFILES_PER_TICK = 500
MAX_LOGGED_CHANNELS = 1000
"""Above this number of channels, the log names single channels at level debug only."""
SETTLED_SECONDS = 120.0


class Scheduler:
    """Ticks until `stopping` is set: once per interval over all instances,
    at moments that all of them share.
    """

    def __init__(
        self,
        *,
        settings: ParserSettings,
        lock: SchedulerLock,
        planning: Planning,
        marks: Marks,
        health: Health,
        clock: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._lock = lock
        self._planning = planning
        self._marks = marks
        self._health = health
        self._clock = clock
        self._outage = OutageLog(PART)
        SCHEDULER_INTERVAL.set(settings.interval_seconds)

    async def run(self, stopping: asyncio.Event) -> None:
        """Run until `stopping` is set.

        A late tick runs and is not dropped. Keeps the lock between ticks and releases it at the end.
        """
        renewing = asyncio.create_task(self._renew())
        try:
            while not stopping.is_set():
                interval = self._interval_number(self._clock())
                await self.tick_if_free()
                while not stopping.is_set() and self._interval_number(now := self._clock()) == interval:
                    await sleep_unless(
                        stopping, (interval + 1) * self._settings.interval_seconds - now.timestamp()
                    )
        finally:
            await cancel_and_wait([renewing])
            with suppress(Busy):
                await self._lock.release()

    async def tick_if_free(self) -> None:
        """Plan, unless another instance does, or this interval is planned already."""
        try:
            is_locked, facts = await self._lock.acquire(), await self._lock.facts()
        except Busy as busy:
            SCHEDULER_LOCK.labels("error").inc()
            self._report_busy(busy)
            return
        if not is_locked or (
            facts is not None
            and self._interval_number(facts.planned_ts) >= self._interval_number(self._clock())
        ):
            SCHEDULER_LOCK.labels("missed").inc()
            self._export(facts)
            self._health.report(
                PART, State.OK, "this interval is planned" if is_locked else "another instance plans"
            )
            self._outage.log_recovery()
            return
        SCHEDULER_LOCK.labels("acquired").inc()
        try:
            await self._tick(facts)
            self._health.report(PART, State.OK, "plans")
            self._outage.log_recovery()
        except Busy as busy:
            self._report_busy(busy)

    def _report_busy(self, busy: Busy) -> None:
        self._outage.log_failure(busy)
        self._health.report(PART, State.FAILING, str(busy))

    def _interval_number(self, moment: datetime) -> int:
        """Return the number of the interval, the same in every instance."""
        return int(moment.timestamp() // self._settings.interval_seconds)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            with suppress(Busy):
                await self._lock.renew()

    async def _tick(self, before: TickFacts | None) -> None:
        now, last_tick_at = self._clock(), before.last_tick_ts if before else None
        log.info("Running scheduler tick (lock acquired)")
        survey = await self._planning.survey(last_tick_at or now - timedelta(days=1), now=now)
        log.info(f"Found {survey.active} active channels")  # noqa: G004 -- operators search for these words
        await self._log_channels(survey, now)
        await self._plan(now)
        await self._open_backfills()
        await self._forget_unfollowed()
        facts = TickFacts(
            planned_ts=now,
            last_tick_ts=last_tick_at if survey.failed_since and not survey.read_since else now,
            last_success_ts=survey.last_success_at,
            channels_active=survey.active,
            channels_failing=survey.failing,
            channels_parked=survey.parked,
            channels_suspended=survey.without_account,
        )
        await self._lock.tell(facts)
        self._export(facts)
        log.info(
            "Scheduler tick completed",
            channels=survey.active,
            failing=survey.failing,
            seconds=round((self._clock() - now).total_seconds(), 2),
        )

    def _export(self, facts: TickFacts | None) -> None:
        """Export what the last tick of any instance has found, on every instance."""
        if facts is None:
            return
        LAST_TICK.set(facts.last_tick_ts.timestamp() if facts.last_tick_ts else 0.0)
        CHANNELS.labels("active").set(facts.channels_active)
        CHANNELS.labels("failing").set(facts.channels_failing)
        CHANNELS.labels("parked").set(facts.channels_parked)
        CHANNELS.labels("suspended").set(facts.channels_suspended)

    async def _log_channels(self, survey: Survey, now: datetime) -> None:
        if survey.active > MAX_LOGGED_CHANNELS and not log.isEnabledFor(logging.DEBUG):
            return
        log_status = log.debug if survey.active > MAX_LOGGED_CHANNELS else log.info
        for status in await self._planning.statuses(survey.active):
            mode, _ = choose_mode(
                self._settings,
                last_parsed_at=status.last_parsed_at,
                last_polled_at=status.last_polled_at,
                now=now,
            )
            parsed_at = iso(status.last_parsed_at) if status.last_parsed_at else None
            log_status(
                "Channel status", channel_id=status.channel_id, mode=mode.value, last_parsed_at=parsed_at
            )

    async def _plan(self, now: datetime) -> None:
        await self._planning.suspend_unread()
        await self._planning.give_accounts()
        if self._settings.policy is SchedulerPolicy.CLASSIC:
            await self._planning.due_at_once()
            await self._planning.pull_forward()
            return
        loads = await self._planning.loads(now, hour_of_week(now.timestamp()))
        await self._planning.keep_plans([_plan_of(load) for load in loads], now)
        await self._planning.pull_forward()
        await self._learn_hours(now)

    async def _learn_hours(self, now: datetime) -> None:
        """Learn at which hours channels post: some channels at each tick, each channel about once a day."""
        hour_counts_by_channel = await self._planning.hours_posted(now, PROFILES_PER_TICK)
        if hour_counts_by_channel:
            pooled_profile = profile_of(
                [sum(hours) for hours in zip(*hour_counts_by_channel.values(), strict=True)], FLAT
            )
            await self._planning.keep_profiles(
                {
                    channel_id: profile_of(hours, pooled_profile)
                    for channel_id, hours in hour_counts_by_channel.items()
                },
                now,
            )

    async def _open_backfills(self) -> None:
        for channel_id in [
            *await self._planning.want_history(),
            *await self._planning.want_gaps(settled_seconds=SETTLED_SECONDS),
        ]:
            BACKFILL_JOBS.add(channel_id, status="enqueued")

    async def _forget_unfollowed(self) -> None:
        """Delete the marks of channels that nobody follows any more."""
        unfollowed_channel_ids = await self._planning.list_unfollowed()
        if unfollowed_channel_ids and await self._marks.forget(unfollowed_channel_ids):
            await self._planning.take_accounts(unfollowed_channel_ids)


def _plan_of(load: Load) -> tuple[Load, float, float, float]:
    """Compute an account's plan. No channel waits longer than twice its equal turn."""
    pace = REQUESTS_PER_SECOND * (POLLS_SHARE if load.has_past else 1.0)
    return load, pace, price(load.roots, pace), max(SHORTEST_SECONDS, 2 * load.channels / pace)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerStatus:
    """The status of planning, as health reports it on every instance."""

    status: State
    """`ok`, `stale` or `down`."""
    detail: str = ""
    """Why it is not ok."""
    last_tick_at: datetime | None = None
    last_success_at: datetime | None = None
    lock_owner: str | None = None
    channels_active: int = 0
    channels_failing: int = 0

    def as_json(self, interval_seconds: int) -> dict[str, Fact]:
        return {
            "last_tick_ts": iso(self.last_tick_at) if self.last_tick_at else None,
            "interval_sec": interval_seconds,
            "lock_owner": self.lock_owner.partition("#")[0] if self.lock_owner else None,
            "status": self.status.value,
            "last_success_ts": iso(self.last_success_at) if self.last_success_at else None,
            "channels_active": self.channels_active,
            "channels_failing": self.channels_failing,
        }


async def scheduler_status(
    *, lock: SchedulerLock, planning: Planning, settings: ParserSettings, now: datetime
) -> SchedulerStatus:
    """Return `ok` only if ticks run, and some active channel was read
    within two intervals or is due later by its own plan.
    """
    interval = timedelta(seconds=settings.interval_seconds)
    try:
        facts, owner = await lock.facts(), await lock.owner()
        survey = await planning.survey(now - 2 * interval, now=now)
    except Busy as busy:
        return SchedulerStatus(status=State.DOWN, detail=str(busy))
    last_tick_at = facts.last_tick_ts if facts else None
    status, detail = State.OK, ""
    if last_tick_at is None:
        status, detail = State.DOWN, "no tick has succeeded yet"
    elif now - last_tick_at > 2 * interval:
        status = State.DOWN if now - last_tick_at > 5 * interval else State.STALE
        detail = f"the last tick was at {iso(last_tick_at)}"
    elif survey.active and not survey.read_since and not survey.planned_later:
        since = iso(survey.last_success_at) if survey.last_success_at else "the beginning"
        status, detail = State.STALE, f"ticks run, and no channel has been read since {since}"
    return SchedulerStatus(
        status=status,
        detail=detail,
        last_tick_at=last_tick_at,
        last_success_at=survey.last_success_at,
        lock_owner=owner,
        channels_active=survey.active,
        channels_failing=survey.failing,
    )
