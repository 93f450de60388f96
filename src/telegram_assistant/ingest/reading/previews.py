"""Channels that no account can open, read by their public previews: by one process of an installation, one page at a time.

An account that can open such a channel takes it over at the next plan, and reads it as if for the first time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from telegram_assistant.domain.channels.channel_requests import PREVIEW_SECONDS, RequestState
from telegram_assistant.domain.channels.parsing import PARKED_AFTER_FAILURES
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import AccessLost, Busy, Flooded, LeaseLost, Rejected, UnknownMarkup
from telegram_assistant.ingest.reading.poll import Poller, PollRun, RunStatus
from telegram_assistant.ingest.reading.poll_pacing import PollPacing
from telegram_assistant.ingest.reading.runs import RunStarter, attempt_run
from telegram_assistant.ingest.run_metrics import tell_known, tell_run
from telegram_assistant.previews.reader import PreviewReader
from telegram_assistant.settings import ParserSettings
from telegram_assistant.stores.postgres.channels.channels import Channels
from telegram_assistant.stores.postgres.channels.known_channels import KnownChannels
from telegram_assistant.stores.postgres.channels.planning import Planning
from telegram_assistant.stores.postgres.channels.previews import NO_ACCOUNT, Previews
from telegram_assistant.stores.postgres.channels.request_queue import ClaimedRequest, RequestQueue
from telegram_assistant.stores.postgres.channels.schedule import DueChannel, Empty, Schedule
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import forget_channel
from telegram_assistant.telemetry.waits import Waits, noting_waits

log = get_logger()

PART = "previews"
BATCH = 4
IDLE_SECONDS = 1.0
LOOK_SECONDS = 15.0
FORGET_AFTER = timedelta(minutes=1)
UNKNOWN = (
    "the site writes its previews in a way that this version does not know ({why}); update the program, or set PREVIEWS_ENABLED=false until then"
)
ASK_AN_ACCOUNT = "log an account in with `tga accounts login`, then add it again"


@dataclass(slots=True)
class PreviewTurns:
    """This process's turns among all; `epoch` is of its lease."""

    owner: str
    previews: Previews
    every_seconds: float = PREVIEW_SECONDS
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    epoch: int = 0

    async def next(self) -> None:
        await self.sleep(await self.previews.turn(self.owner, self.epoch, every_seconds=self.every_seconds))

    async def rest(self, seconds: float) -> None:
        await self.previews.rest(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewWorker:
    """Everything that previews are read with."""

    turns: PreviewTurns
    reader: PreviewReader
    poller: Poller
    pace: PollPacing
    previews: Previews
    schedule: Schedule
    known_channels: KnownChannels
    queue: RequestQueue
    channels: Channels
    planning: Planning
    marks: Marks
    settings: ParserSettings
    health: Health
    clock: Callable[[], datetime]


class PreviewLoop:
    """The loop of the one process that reads previews; in the others it waits for its lease."""

    def __init__(self, desk: PreviewWorker, stopping: asyncio.Event) -> None:
        self._desk = desk
        self._stopping = stopping
        self._starter = RunStarter(desk.settings)
        self._read: set[ChannelId] = set()
        self._looked_at = desk.clock()

    async def run(self) -> None:
        """Until told to stop."""
        try:
            while not self._stopping.is_set():
                try:
                    await self._try()
                except LeaseLost:
                    self._forget(self._read)
        finally:
            self._forget(self._read)
            with suppress(Busy):
                await self._desk.previews.release(self._desk.turns.owner)

    async def _try(self) -> None:
        try:
            if not await self.take():
                self._desk.health.report(PART, State.OK, "another instance reads them")
                await sleep_unless(self._stopping, LOOK_SECONDS)
            elif not await self.turn():
                await sleep_unless(self._stopping, IDLE_SECONDS)
        except Busy as busy:
            pause = min(busy.retry_after_seconds, LOOK_SECONDS)  # the lease is renewed, and a person sees who waits
            self._desk.health.report(PART, State.FAILING, f"{busy}; nothing is to be done, it goes on by itself")
            await sleep_unless(self._stopping, pause)

    async def take(self) -> bool:
        """Become, or go on being, the one who reads."""
        desk = self._desk
        if desk.turns.epoch:
            try:
                await desk.previews.renew(desk.turns.owner, desk.turns.epoch)
            except LeaseLost:
                desk.turns.epoch = 0
                raise
            return True
        desk.turns.epoch = await desk.previews.take(desk.turns.owner) or 0
        if desk.turns.epoch:
            await self._show_known()
        return bool(desk.turns.epoch)

    async def _show_known(self) -> None:
        """What is known of the channels, crash marks included, is shown before their first runs."""
        known = await self._desk.known_channels.read_by_previews()
        for channel in known:
            self._read.add(channel.channel_id)
            tell_known(channel)
        await self._desk.marks.high_water([channel.channel_id for channel in known])

    async def turn(self) -> bool:
        """A name that somebody wants, then channels that are due; False when there was nothing to do."""
        desk = self._desk
        if self._read and desk.clock() - self._looked_at > FORGET_AFTER:
            self._looked_at = desk.clock()
            gone = await desk.previews.gone(self._read)
            await desk.marks.forget(list(gone))
            self._forget(gone)
        request = await desk.queue.claim_public()
        if request is not None:
            await self.serve(request)
        batch = await desk.previews.claim(desk.turns.epoch, most=BATCH)
        done = 0
        try:
            for channel in batch:
                if self._stopping.is_set():
                    break
                done += await self._follow(channel)
        finally:
            if done < len(batch):
                await desk.schedule.put_back(desk.turns.epoch, [one.channel_id for one in batch[done:]], at=desk.clock())
        return request is not None or bool(batch)

    def _forget(self, channel_ids: Collection[ChannelId]) -> None:
        """Nobody is alarmed by the silence of a channel that is not read here any more."""
        for channel_id in tuple(channel_ids):
            forget_channel(channel_id)
            self._read.discard(channel_id)

    async def serve(self, request: ClaimedRequest) -> None:
        """Follow a public name by its preview, stored or not, or say why not."""
        desk = self._desk
        try:
            channel = await desk.reader.find(request.reference)
        except Rejected as error:
            await desk.queue.answer(request.request_id, RequestState.FAILED, f"{error}; {ASK_AN_ACCOUNT}")
            return
        except UnknownMarkup as error:
            desk.health.report(PART, State.FAILING, UNKNOWN.format(why=error))
            await desk.queue.postpone(request.request_id, UNKNOWN.format(why=error), pause=timedelta(minutes=10))
            return
        except Busy:
            await desk.queue.give_back(request.request_id)
            raise
        await desk.channels.show(channel)
        assert request.tenant_id is not None  # only access is asked for without a tenant
        await desk.channels.subscribe(request.tenant_id, replace(request.subscription, channel_id=channel.channel_id))
        await desk.planning.give_accounts()
        await desk.queue.answer(request.request_id, RequestState.DONE, channel.title, channel_id=channel.channel_id)
        log.info("request_served", request_id=str(request.request_id), kind=request.kind.value, channels=1, by="preview")

    async def _follow(self, channel: DueChannel) -> bool:
        """One run. Flooded ends all of them, and uses no attempt."""
        desk, now = self._desk, self._desk.clock()
        mark = (await desk.marks.high_water([channel.channel_id])).get(channel.channel_id)
        run = self._starter.begin(channel, mark, now)
        self._read.add(channel.channel_id)
        try:
            with noting_waits() as waits:
                await attempt_run(run, poller=desk.poller, attempts=desk.settings.attempts, stopping=self._stopping)
        except Flooded:
            self._tell(run, RunStatus.FLOOD, waits)
            raise
        except LeaseLost:
            self._tell(run, RunStatus.SKIPPED, waits)
            await desk.previews.renew(desk.turns.owner, desk.turns.epoch)  # all is lost, or an account has taken this channel
            log.info("channel_taken_over", channel_id=channel.channel_id)
        except AccessLost as error:
            await self._fail(run, waits, str(error), failures_before=max(channel.fail_count, PARKED_AFTER_FAILURES - 1))
        except UnknownMarkup as error:
            desk.health.report(PART, State.FAILING, UNKNOWN.format(why=error))
            await self._fail(run, waits, UNKNOWN.format(why=error), failures_before=channel.fail_count)
        except Busy as busy:
            await self._fail(run, waits, str(busy), failures_before=channel.fail_count)
        except Exception as error:
            log.exception("channel_failed", channel_id=channel.channel_id)
            await self._fail(run, waits, f"{type(error).__name__}: {error}", failures_before=channel.fail_count)
        else:
            self._tell(run, run.status, waits)
            if not run.completed:
                due = await desk.pace.next_poll_at(channel, channel.rhythm, run.newest_posted_at, desk.clock())
                empty = Empty(channel.channel_id, due, channel.is_parked)
                await desk.schedule.complete(NO_ACCOUNT, channel.lease_epoch, [empty], polled_at=now)
            desk.health.report(PART, State.OK, "reads what no account can")
        return True

    def _tell(self, run: PollRun, status: RunStatus, waits: Waits) -> None:
        tell_run(run, status, now=self._desk.clock(), waits=waits)

    async def _fail(self, run: PollRun, waits: Waits, why: str, *, failures_before: int) -> None:
        desk, channel = self._desk, run.channel
        self._tell(run, RunStatus.FAILED, waits)
        again_at = await desk.schedule.fail(channel.channel_id, channel.lease_epoch, failures_before=failures_before, why=why, now=desk.clock())
        log.warning("preview_failed", channel_id=channel.channel_id, why=why, tried_again_at=again_at.isoformat())
