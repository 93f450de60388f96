"""The loop of one account: polls that are due, backfills in between, and nothing while Telegram demands a
wait.

Polls come first. Of ten requests, three may be for backfills, and all of them while no poll is due.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.accounts.account import AccountRefused, Lease
from telegram_assistant.domain.channels.rhythm import LOOK_AHEAD_SECONDS
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.errors import AccessLost, Busy, Flooded, LeaseLost, NoRoom
from telegram_assistant.ingest.polling.backfill import Backfiller
from telegram_assistant.ingest.polling.poll import Poller, PollRun, RunStatus
from telegram_assistant.ingest.polling.poll_pacing import PollPacing
from telegram_assistant.ingest.polling.raw_archive import save_counts, save_raw
from telegram_assistant.ingest.polling.runs import RunStarter, attempt_run
from telegram_assistant.ingest.polling.silence import Silence
from telegram_assistant.ingest.run_metrics import record_known_channel, record_run
from telegram_assistant.reasons import Reason, describe_bug
from telegram_assistant.settings import ParserSettings, SchedulerPolicy
from telegram_assistant.stores.postgres.channels.backfills import BackfillKind, Backfills
from telegram_assistant.stores.postgres.channels.known_channels import KnownChannels
from telegram_assistant.stores.postgres.channels.schedule import DueChannel, Empty, Schedule
from telegram_assistant.stores.postgres.posts.counts import Counts
from telegram_assistant.stores.postgres.posts.raw_messages import RawArchive, RawMessages
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import BACKFILL_JOBS, forget_channel
from telegram_assistant.telemetry.outages import OutageLog
from telegram_assistant.telemetry.waits import Waits, collect_waits

log = get_logger()

BATCH = 16
"""Twenty seconds of polls. Claimed channels become due again after two minutes if this process dies."""
AHEAD = {SchedulerPolicy.FRESH: timedelta(seconds=LOOK_AHEAD_SECONDS), SchedulerPolicy.CLASSIC: timedelta(0)}
"""How long before its time a channel may be read, so that no request goes unused.

`classic` promises one poll per interval.
"""
IDLE_SECONDS = 1.0
PAST_PER_POLL = 3 / 7
"""Backfills get three tenths of the requests."""
MAX_CREDIT = BATCH * PAST_PER_POLL
"""The credit that a batch of polls earns.

Less would cut the share of backfills; more would let them delay polls for long.
"""
IDLE_PAGES = 4
"""Five seconds of backfill before the loop checks again for due polls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountDependencies:
    """One account and everything its loop works with."""

    account_id: AccountId
    lease_epoch: int
    lease: Lease
    poller: Poller
    backfiller: Backfiller
    pace: PollPacing
    silence: Silence
    schedule: Schedule
    known_channels: KnownChannels
    backfills: Backfills
    marks: Marks
    raw_archive: RawArchive
    counts: Counts
    settings: ParserSettings
    slots: asyncio.Semaphore
    """Shared by all accounts of the process: PARSER_MAX_CONCURRENCY slots."""
    clock: Callable[[], datetime]


class AccountLoop:
    """Reads the channels of one account."""

    def __init__(self, deps: AccountDependencies, stopping: asyncio.Event, *, health: Health) -> None:
        self._deps = deps
        self._health = health
        self._part = f"reading of account {deps.account_id}"
        self._stopping = stopping
        self._starter = RunStarter(deps.settings)
        self._read: set[ChannelId] = set()
        self._credit = 0.0
        self._outage = OutageLog(self._part, account_id=deps.account_id)
        self._extras_outage = OutageLog(f"extras of account {deps.account_id}", account_id=deps.account_id)
        self._failed_runs = OutageLog(
            f"runs of account {deps.account_id}", began="run_failed", account_id=deps.account_id
        )

    async def run(self) -> None:
        """Run until `stopping` is set.

        AccountRefused and LeaseLost end the loop: both concern the whole account.
        """
        await self._deps.schedule.take_over(self._deps.account_id, self._deps.lease_epoch)
        try:
            await self.record_known_channels()
            while not self._stopping.is_set():
                try:
                    is_idle = not await self.turn()
                    self._outage.log_recovery()
                    self._health.report(self._part, State.OK)
                    if is_idle:
                        await sleep_unless(self._stopping, IDLE_SECONDS)
                except Busy as busy:
                    self._note_wait(busy)
                    await sleep_unless(self._stopping, busy.retry_after_seconds)
        finally:
            self._drop_metrics(self._read)
            self._health.report(self._part, State.OK, "this process does not use the account any more")

    def _note_wait(self, busy: Busy) -> None:
        """A wait that Telegram demands is routine: the scheduler's health tells if it lasts.

        Any other one is a failure.
        """
        is_routine = isinstance(busy, Flooded)
        self._outage.log_failure(busy, is_routine=is_routine, seconds=round(busy.retry_after_seconds))
        if not is_routine:
            self._health.report(self._part, State.FAILING, f"waits: {busy}")

    async def record_known_channels(self) -> None:
        """Export the metrics of all the account's channels before their first runs, crash marks included."""
        channels = await self._deps.known_channels.list_for_account(self._deps.account_id)
        for channel in channels:
            self._read.add(channel.channel_id)
            record_known_channel(channel)
        await self._deps.marks.high_water([channel.channel_id for channel in channels])

    async def turn(self) -> bool:
        """Run the due polls, then the share of backfills. Returns False if there was nothing to do."""
        deps = self._deps
        if await deps.pace.refresh(deps.clock()) and self._read:
            self._drop_metrics(await deps.known_channels.find_dropped(deps.account_id, self._read))
        due_channels = await deps.schedule.claim(
            deps.account_id, deps.lease_epoch, most=BATCH, ahead=AHEAD[deps.settings.policy]
        )
        if due_channels:
            await self._poll(due_channels)
        return await self._run_backfills(is_idle=not due_channels) or bool(due_channels)

    async def _poll(self, due_channels: Sequence[DueChannel]) -> None:
        """Poll one channel after the other. Polls without news are completed together."""
        deps = self._deps
        marks = await deps.marks.high_water([channel.channel_id for channel in due_channels])
        empties: list[Empty] = []
        raw: list[RawMessages] = []
        read_posts: list[Post] = []
        begun_at, read_count, rest_at = deps.clock(), 0, None
        try:
            for channel in due_channels:
                if self._stopping.is_set():
                    break
                async with deps.slots:
                    run = self._begin(channel, marks.get(channel.channel_id))
                    read_count += 1
                    has_succeeded = await self._follow(run)
                if has_succeeded:
                    await self._check_silence(run)
                    await self._schedule_rechecks(run)
                    if not run.completed:
                        next_poll_at = await deps.pace.next_poll_at(
                            channel, channel.rhythm, run.newest_posted_at, deps.clock()
                        )
                        empties.append(
                            Empty(channel.channel_id, next_poll_at, channel.is_parked, run.rechecked)
                        )
                    raw += run.raw
                    read_posts += run.read_posts
                self._credit = min(MAX_CREDIT, self._credit + PAST_PER_POLL)
        except (Flooded, NoRoom) as busy:
            read_count, rest_at = read_count - 1, deps.clock() + timedelta(seconds=busy.retry_after_seconds)
            raise
        finally:
            if empties:
                await deps.schedule.complete(deps.account_id, deps.lease_epoch, empties, polled_at=begun_at)
            if read_count < len(due_channels):
                await deps.schedule.put_back(
                    deps.lease_epoch,
                    [unread.channel_id for unread in due_channels[read_count:]],
                    at=rest_at or deps.clock(),
                )
            await save_raw(raw, archive=deps.raw_archive, outage=self._extras_outage)
            await save_counts(read_posts, counts=deps.counts, seen_at=begun_at, outage=self._extras_outage)

    def _drop_metrics(self, channel_ids: Collection[ChannelId]) -> None:
        """Drop the metrics of channels that this account no longer reads,
        so that their silence raises no alert.
        """
        for channel_id in channel_ids:
            forget_channel(channel_id)
        self._read.difference_update(tuple(channel_ids))

    def _begin(self, channel: DueChannel, mark: datetime | None) -> PollRun:
        deps, now = self._deps, self._deps.clock()
        deps.pace.note_poll_start(channel, now)
        self._read.add(channel.channel_id)
        return self._starter.begin(channel, mark, now)

    async def _follow(self, run: PollRun) -> bool:
        """Run one poll with its retries.

        Returns False if it failed. Flooded, NoRoom, AccountRefused and a lost account end all polls.
        """
        deps, channel = self._deps, run.channel
        try:
            with collect_waits() as waits:
                await attempt_run(
                    run, poller=deps.poller, attempt_count=deps.settings.attempts, stopping=self._stopping
                )
        except Flooded:
            self._record_run(run, RunStatus.FLOOD, waits)
            raise
        except NoRoom:  # nothing that the channel could do about
            self._record_run(run, RunStatus.SKIPPED, waits)
            raise
        except AccountRefused:
            self._record_run(run, RunStatus.SKIPPED, waits)
            raise
        except LeaseLost:
            self._record_run(run, RunStatus.SKIPPED, waits)
            deps.lease.check()  # raises if the account is lost, and not only this channel
            log.info("channel_taken_over", channel_id=channel.channel_id)
            return False
        except AccessLost as error:
            await deps.schedule.lose_access(deps.account_id, channel.channel_id, error.reason)
            await self._fail(run, error.reason, waits, is_own=True)
            return False
        except Busy as busy:
            if self._stopping.is_set():
                self._record_run(run, RunStatus.SKIPPED, waits)
                await deps.schedule.put_back(channel.lease_epoch, [channel.channel_id], at=deps.clock())
            else:
                await self._fail(run, busy.reason, waits)
            return False
        except Exception as error:  # noqa: BLE001 -- logged with its traceback; other channels go on
            await self._fail(run, describe_bug(error), waits, error=error)
            return False
        self._failed_runs.log_recovery()
        self._record_run(run, run.status, waits)
        return True

    async def _check_silence(self, run: PollRun) -> None:
        """Policy `classic`: after an unusually long silence, have the last window read again, once."""
        deps, channel_id, last = self._deps, run.channel.channel_id, run.newest_posted_at
        if deps.settings.policy is not SchedulerPolicy.CLASSIC or last is None:
            return
        now = deps.clock()
        if now - last <= await deps.silence.threshold(
            channel_id, now, silent_since=last
        ) or await deps.marks.has_backfill_job(channel_id, last):
            return
        if await deps.backfills.open(channel_id, BackfillKind.SILENCE, since=last):
            BACKFILL_JOBS.add(channel_id, status="enqueued")

    async def _schedule_rechecks(self, run: PollRun) -> None:
        """Schedule backfills for recent posts below the newest page,
        and a later second check of posts that seem to be gone.
        """
        if run.look_back_to is not None:
            await self._deps.backfills.look_back(run.channel.channel_id, run.look_back_to)
        if run.doubtful:
            await self._deps.backfills.look_twice(run.channel.channel_id)

    async def _fail(
        self,
        run: PollRun,
        reason: Reason,
        waits: Waits,
        *,
        error: Exception | None = None,
        is_own: bool = False,
    ) -> None:
        """Record a failed run.

        Unless the cause is the channel's own, it may fail all of them: then they are counted, not listed.
        """
        deps, channel = self._deps, run.channel
        self._record_run(run, RunStatus.FAILED, waits)
        again_at = await deps.schedule.fail(
            channel.channel_id,
            channel.lease_epoch,
            failures_before=channel.fail_count,
            reason=reason,
            now=deps.clock(),
        )
        failure_count, tried_again_at = channel.fail_count + 1, again_at.isoformat()
        if is_own:
            log.warning(
                "run_failed",
                channel_id=channel.channel_id,
                why=str(reason),
                failures=failure_count,
                tried_again_at=tried_again_at,
            )
        else:
            self._failed_runs.log_failure(
                reason,
                error=error,
                channel_id=channel.channel_id,
                failures=failure_count,
                tried_again_at=tried_again_at,
            )

    def _record_run(self, run: PollRun, status: RunStatus, waits: Waits) -> None:
        record_run(run, status, now=self._deps.clock(), waits=waits)

    async def _run_backfills(self, *, is_idle: bool) -> bool:
        """Run backfills: all of their share, or one step while no poll is due.

        Returns False if there was nothing to do.
        """
        if is_idle:
            return await self._run_backfill_step(IDLE_PAGES)
        while self._credit >= 1.0:
            if not await self._run_backfill_step(int(self._credit)):
                return False
        return True

    async def _run_backfill_step(self, max_pages: int) -> bool:
        step = await self._deps.backfiller.step(max_pages)
        if step is None:
            return False
        self._credit = max(0.0, self._credit - max(step.pages, 1))
        await save_raw(step.raw, archive=self._deps.raw_archive, outage=self._extras_outage)
        await save_counts(
            step.read_posts, counts=self._deps.counts, seen_at=self._deps.clock(), outage=self._extras_outage
        )
        if step.busy is not None:
            raise step.busy
        return True
