"""What one account does all day: polls that are due, the past in between, and nothing while Telegram wants none.

Polls come first; of ten requests three may be for the past, and all of them while nothing is due.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.accounts.account import AccountRefused, Lease
from telegram_assistant.domain.channels.rhythm import LOOK_AHEAD_SECONDS
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.errors import AccessLost, Busy, Flooded, LeaseLost
from telegram_assistant.ingest.reading.backfill import Backfiller
from telegram_assistant.ingest.reading.poll import Poller, PollRun, RunStatus
from telegram_assistant.ingest.reading.poll_pacing import PollPacing
from telegram_assistant.ingest.reading.raw_archive import keep_counts, keep_raw
from telegram_assistant.ingest.reading.runs import RunStarter, attempt_run
from telegram_assistant.ingest.reading.silence import Silence
from telegram_assistant.ingest.run_metrics import tell_known, tell_run
from telegram_assistant.settings import ParserSettings, SchedulerPolicy
from telegram_assistant.stores.postgres.channels.backfills import BackfillKind, Backfills
from telegram_assistant.stores.postgres.channels.known_channels import KnownChannels
from telegram_assistant.stores.postgres.channels.schedule import DueChannel, Empty, Schedule
from telegram_assistant.stores.postgres.posts.counts import Counts
from telegram_assistant.stores.postgres.posts.raw_messages import RawArchive, RawMessages
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import BACKFILL_JOBS, forget_channel
from telegram_assistant.telemetry.waits import Waits, noting_waits

log = get_logger()

BATCH = 16
"""Twenty seconds of polls: what is claimed comes back after two minutes if this process dies."""
AHEAD = {SchedulerPolicy.FRESH: timedelta(seconds=LOOK_AHEAD_SECONDS), SchedulerPolicy.CLASSIC: timedelta(0)}
"""How long before its time a channel may be read, so that no request goes unused. `classic` promises one poll per interval."""
IDLE_SECONDS = 1.0
PAST_PER_POLL = 3 / 7
"""The past gets three tenths of the requests."""
MAX_CREDIT = BATCH * PAST_PER_POLL
"""What a batch of polls earns: less would cut the past's share, more would let it hold up the polls for long."""
IDLE_PAGES = 4
"""Five seconds of the past, before it is asked again whether a poll is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountDependencies:
    """An account at work, and everything it works with."""

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
    """PARSER_MAX_CONCURRENCY of the process."""
    clock: Callable[[], datetime]


class AccountLoop:
    """The loop of one account."""

    def __init__(self, desk: AccountDependencies, stopping: asyncio.Event) -> None:
        self._desk = desk
        self._stopping = stopping
        self._starter = RunStarter(desk.settings)
        self._read: set[ChannelId] = set()
        self._credit = 0.0

    async def run(self) -> None:
        """Until told to stop. AccountRefused and LeaseLost end it: both are about the account as a whole."""
        await self._desk.schedule.take_over(self._desk.account_id, self._desk.lease_epoch)
        try:
            await self.show_known()
            while not self._stopping.is_set():
                try:
                    if not await self.turn():
                        await sleep_unless(self._stopping, IDLE_SECONDS)
                except Busy as busy:
                    log.info("account_waits", account_id=self._desk.account_id, why=str(busy), seconds=round(busy.retry_after_seconds))
                    await sleep_unless(self._stopping, busy.retry_after_seconds)
        finally:
            self._forget(self._read)

    async def show_known(self) -> None:
        """What is known of all channels of the account, crash marks included, is shown before their first runs."""
        known = await self._desk.known_channels.read_by(self._desk.account_id)
        for channel in known:
            self._read.add(channel.channel_id)
            tell_known(channel)
        await self._desk.marks.high_water([channel.channel_id for channel in known])

    async def turn(self) -> bool:
        """The polls that are due, and the past's share; False when there was nothing to do."""
        desk = self._desk
        if await desk.pace.refresh(desk.clock()) and self._read:
            self._forget(await desk.known_channels.gone(desk.account_id, self._read))
        batch = await desk.schedule.claim(desk.account_id, desk.lease_epoch, most=BATCH, ahead=AHEAD[desk.settings.policy])
        if batch:
            await self._poll(batch)
        return await self._past(idle=not batch) or bool(batch)

    async def _poll(self, batch: Sequence[DueChannel]) -> None:
        """One channel after the other; those that brought nothing are completed together."""
        desk = self._desk
        marks = await desk.marks.high_water([channel.channel_id for channel in batch])
        empties: list[Empty] = []
        raw: list[RawMessages] = []
        seen: list[Post] = []
        begun_at, read, rest_at = desk.clock(), 0, None
        try:
            for channel in batch:
                if self._stopping.is_set():
                    break
                async with desk.slots:
                    run = self._begin(channel, marks.get(channel.channel_id))
                    read += 1
                    succeeded = await self._follow(run)
                if succeeded:
                    await self._check_silence(run)
                    await self._look_again(run)
                    if not run.completed:
                        due = await desk.pace.next_poll_at(channel, channel.rhythm, run.newest_posted_at, desk.clock())
                        empties.append(Empty(channel.channel_id, due, channel.is_parked, run.rechecked))
                    raw += run.raw
                    seen += run.seen
                self._credit = min(MAX_CREDIT, self._credit + PAST_PER_POLL)
        except Flooded as flood:
            read, rest_at = read - 1, desk.clock() + timedelta(seconds=flood.retry_after_seconds)
            raise
        finally:
            if empties:
                await desk.schedule.complete(desk.account_id, desk.lease_epoch, empties, polled_at=begun_at)
            if read < len(batch):
                await desk.schedule.put_back(desk.lease_epoch, [one.channel_id for one in batch[read:]], at=rest_at or desk.clock())
            await keep_raw(raw, archive=desk.raw_archive)
            await keep_counts(seen, counts=desk.counts, seen_at=begun_at)

    def _forget(self, channel_ids: Collection[ChannelId]) -> None:
        """Nobody is alarmed by the silence of a channel that this account no longer reads."""
        for channel_id in channel_ids:
            forget_channel(channel_id)
        self._read.difference_update(tuple(channel_ids))

    def _begin(self, channel: DueChannel, mark: datetime | None) -> PollRun:
        desk, now = self._desk, self._desk.clock()
        desk.pace.came(channel, now)
        self._read.add(channel.channel_id)
        return self._starter.begin(channel, mark, now)

    async def _follow(self, run: PollRun) -> bool:
        """One run with its retries; False when it did not succeed. Flooded, AccountRefused and a lost account end all runs."""
        desk, channel = self._desk, run.channel
        try:
            with noting_waits() as waits:
                await attempt_run(run, poller=desk.poller, attempts=desk.settings.attempts, stopping=self._stopping)
        except Flooded:
            self._tell(run, RunStatus.FLOOD, waits)
            raise
        except AccountRefused:
            self._tell(run, RunStatus.SKIPPED, waits)
            raise
        except LeaseLost:
            self._tell(run, RunStatus.SKIPPED, waits)
            desk.lease.check()  # the account is lost, or only this channel
            log.info("channel_taken_over", channel_id=channel.channel_id)
            return False
        except AccessLost as error:
            await desk.schedule.lose_access(desk.account_id, channel.channel_id, str(error))
            await self._fail(run, str(error), waits)
            return False
        except Busy as busy:
            if self._stopping.is_set():
                self._tell(run, RunStatus.SKIPPED, waits)
                await desk.schedule.put_back(channel.lease_epoch, [channel.channel_id], at=desk.clock())
            else:
                await self._fail(run, f"{type(busy).__name__}: {busy}", waits)
            return False
        except Exception as error:
            log.exception("channel_failed", channel_id=channel.channel_id)
            await self._fail(run, f"{type(error).__name__}: {error}", waits)
            return False
        self._tell(run, run.status, waits)
        return True

    async def _check_silence(self, run: PollRun) -> None:
        """Policy `classic`: a silence longer than usual has the last window read again, once."""
        desk, channel_id, last = self._desk, run.channel.channel_id, run.newest_posted_at
        if desk.settings.policy is not SchedulerPolicy.CLASSIC or last is None:
            return
        now = desk.clock()
        if now - last <= await desk.silence.threshold(channel_id, now, silent_since=last) or await desk.marks.has_backfill_job(channel_id, last):
            return
        if await desk.backfills.open(channel_id, BackfillKind.SILENCE, since=last):
            BACKFILL_JOBS.add(channel_id, status="enqueued")

    async def _look_again(self, run: PollRun) -> None:
        """Young posts below the newest page are read again as a job of the past; so is, after a while, what seems to be gone."""
        if run.look_back_to is not None:
            await self._desk.backfills.look_back(run.channel.channel_id, run.look_back_to)
        if run.doubtful:
            await self._desk.backfills.look_twice(run.channel.channel_id)

    async def _fail(self, run: PollRun, why: str, waits: Waits) -> None:
        desk, channel = self._desk, run.channel
        self._tell(run, RunStatus.FAILED, waits)
        again_at = await desk.schedule.fail(channel.channel_id, channel.lease_epoch, failures_before=channel.fail_count, why=why, now=desk.clock())
        log.warning("run_failed", channel_id=channel.channel_id, why=why, failures=channel.fail_count + 1, tried_again_at=again_at.isoformat())

    def _tell(self, run: PollRun, status: RunStatus, waits: Waits) -> None:
        tell_run(run, status, now=self._desk.clock(), waits=waits)

    async def _past(self, *, idle: bool) -> bool:
        """All of its share, or one step while nothing else is due; False when there was nothing to do."""
        if idle:
            return await self._step_back(IDLE_PAGES)
        while self._credit >= 1.0:
            if not await self._step_back(int(self._credit)):
                return False
        return True

    async def _step_back(self, max_pages: int) -> bool:
        step = await self._desk.backfiller.step(max_pages)
        if step is None:
            return False
        self._credit = max(0.0, self._credit - max(step.pages, 1))
        await keep_raw(step.raw, archive=self._desk.raw_archive)
        await keep_counts(step.seen, counts=self._desk.counts, seen_at=self._desk.clock())
        if step.busy is not None:
            raise step.busy
        return True
