"""Reads channels that no account can open by their public preview pages: in one process of an installation,
one page at a time.

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
from telegram_assistant.errors import AccessLost, Busy, Flooded, LeaseLost, NoRoom, Rejected, UnknownMarkup
from telegram_assistant.ingest.polling.poll import Poller, PollRun, RunStatus
from telegram_assistant.ingest.polling.poll_pacing import PollPacing
from telegram_assistant.ingest.polling.runs import RunStarter, attempt_run
from telegram_assistant.ingest.run_metrics import record_known_channel, record_run
from telegram_assistant.previews.reader import PreviewReader
from telegram_assistant.reasons import Reason, describe_bug, quote
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
from telegram_assistant.telemetry.outages import OutageLog
from telegram_assistant.telemetry.waits import Waits, collect_waits

log = get_logger()

PART = "previews"
BATCH = 4
IDLE_SECONDS = 1.0
LOOK_SECONDS = 15.0
FORGET_AFTER = timedelta(minutes=1)


@dataclass(slots=True)
class PreviewTurns:
    """Waits for this process's turn to request a page. `epoch` is that of its lease."""

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
    """Reads previews in one process; in all others, waits for the lease."""

    def __init__(self, deps: PreviewWorker, stopping: asyncio.Event) -> None:
        self._deps = deps
        self._stopping = stopping
        self._starter = RunStarter(deps.settings)
        self._read: set[ChannelId] = set()
        self._looked_at = deps.clock()
        self._outage = OutageLog(PART)
        self._failed_runs = OutageLog(f"runs of {PART}", began="preview_failed")

    async def run(self) -> None:
        """Run until `stopping` is set."""
        try:
            while not self._stopping.is_set():
                try:
                    await self._run_once()
                except LeaseLost:
                    self._drop_metrics(self._read)
        finally:
            self._drop_metrics(self._read)
            with suppress(Busy):
                await self._deps.previews.release(self._deps.turns.owner)

    async def _run_once(self) -> None:
        try:
            if not await self.take():
                self._deps.health.report(PART, State.OK, "another instance reads them")
                await sleep_unless(self._stopping, LOOK_SECONDS)
            elif not await self.turn():
                await sleep_unless(self._stopping, IDLE_SECONDS)
            self._outage.log_recovery()
        except Busy as busy:
            pause_seconds = min(
                busy.retry_after_seconds, LOOK_SECONDS
            )  # so the lease is renewed, and health shows the wait
            self._outage.log_failure(busy, is_routine=isinstance(busy, Flooded), seconds=round(pause_seconds))
            self._deps.health.report(PART, State.FAILING, f"{busy}; nothing to do, it continues by itself")
            await sleep_unless(self._stopping, pause_seconds)

    async def take(self) -> bool:
        """Take or renew the lease. Returns False if another process holds it."""
        deps = self._deps
        if deps.turns.epoch:
            try:
                await deps.previews.renew(deps.turns.owner, deps.turns.epoch)
            except LeaseLost:
                deps.turns.epoch = 0
                raise
            return True
        deps.turns.epoch = await deps.previews.take(deps.turns.owner) or 0
        if deps.turns.epoch:
            await self._record_known_channels()
        return bool(deps.turns.epoch)

    async def _record_known_channels(self) -> None:
        """Export the metrics of the channels before their first runs, crash marks included."""
        channels = await self._deps.known_channels.list_for_previews()
        for channel in channels:
            self._read.add(channel.channel_id)
            record_known_channel(channel)
        await self._deps.marks.high_water([channel.channel_id for channel in channels])

    async def turn(self) -> bool:
        """Serve one requested name, then poll due channels. Returns False if there was nothing to do."""
        deps = self._deps
        if self._read and deps.clock() - self._looked_at > FORGET_AFTER:
            self._looked_at = deps.clock()
            dropped_channel_ids = await deps.previews.find_dropped(self._read)
            await deps.marks.forget(list(dropped_channel_ids))
            self._drop_metrics(dropped_channel_ids)
        request = await deps.queue.claim_public()
        if request is not None:
            await self.serve(request)
        due_channels = await deps.previews.claim(deps.turns.epoch, most=BATCH)
        read_count = 0
        try:
            for channel in due_channels:
                if self._stopping.is_set():
                    break
                read_count += await self._follow(channel)
        finally:
            if read_count < len(due_channels):
                await deps.schedule.put_back(
                    deps.turns.epoch,
                    [unread.channel_id for unread in due_channels[read_count:]],
                    at=deps.clock(),
                )
        return request is not None or bool(due_channels)

    def _drop_metrics(self, channel_ids: Collection[ChannelId]) -> None:
        """Drop the metrics of channels that are no longer read here,
        so that their silence raises no alert.
        """
        for channel_id in tuple(channel_ids):
            forget_channel(channel_id)
            self._read.discard(channel_id)

    async def serve(self, request: ClaimedRequest) -> None:
        """Follow a public name by its preview, stored or not, or answer why that is impossible."""
        deps = self._deps
        try:
            channel = await deps.reader.find(request.reference)
        except Rejected as error:
            await deps.queue.answer(request.request_id, RequestState.FAILED, _ask_an_account(error.reason))
            return
        except UnknownMarkup as error:
            deps.health.report(PART, State.FAILING, _tell_operator(error))
            await deps.queue.postpone(request.request_id, _explain_markup(error), pause=timedelta(minutes=10))
            return
        except Busy:
            await deps.queue.give_back(request.request_id)
            raise
        await deps.channels.show(channel)
        assert request.tenant_id is not None  # only requests for access have no tenant
        await deps.channels.subscribe(
            request.tenant_id, replace(request.subscription, channel_id=channel.channel_id)
        )
        await deps.planning.give_accounts()
        await deps.queue.answer(
            request.request_id, RequestState.DONE, quote(channel.title), channel_id=channel.channel_id
        )
        log.info(
            "request_served",
            request_id=str(request.request_id),
            kind=request.kind.value,
            channels=1,
            by="preview",
        )

    async def _follow(self, channel: DueChannel) -> bool:
        """Run one poll. Flooded ends all polls and uses no attempt."""
        deps, now = self._deps, self._deps.clock()
        mark = (await deps.marks.high_water([channel.channel_id])).get(channel.channel_id)
        run = self._starter.begin(channel, mark, now)
        self._read.add(channel.channel_id)
        try:
            with collect_waits() as waits:
                await attempt_run(
                    run, poller=deps.poller, attempt_count=deps.settings.attempts, stopping=self._stopping
                )
        except Flooded:
            self._record_run(run, RunStatus.FLOOD, waits)
            raise
        except NoRoom:
            self._record_run(run, RunStatus.SKIPPED, waits)
            raise
        except LeaseLost:
            self._record_run(run, RunStatus.SKIPPED, waits)
            await deps.previews.renew(
                deps.turns.owner, deps.turns.epoch
            )  # raises if the lease is lost, and not only this channel
            log.info("channel_taken_over", channel_id=channel.channel_id)
        except AccessLost as error:
            await self._fail(
                run, waits, error.reason, failures_before=max(channel.fail_count, PARKED_AFTER_FAILURES - 1)
            )
        except UnknownMarkup as error:
            deps.health.report(PART, State.FAILING, _tell_operator(error))
            await self._fail(run, waits, _explain_markup(error), failures_before=channel.fail_count)
        except Busy as busy:
            await self._fail(run, waits, busy.reason, failures_before=channel.fail_count)
        except Exception as error:  # noqa: BLE001 -- logged with its traceback; other channels go on
            await self._fail(run, waits, describe_bug(error), failures_before=channel.fail_count, error=error)
        else:
            self._failed_runs.log_recovery()
            self._record_run(run, run.status, waits)
            if not run.completed:
                next_poll_at = await deps.pace.next_poll_at(
                    channel, channel.rhythm, run.newest_posted_at, deps.clock()
                )
                empty = Empty(channel.channel_id, next_poll_at, channel.is_parked)
                await deps.schedule.complete(NO_ACCOUNT, channel.lease_epoch, [empty], polled_at=now)
            deps.health.report(PART, State.OK, "reads channels that no account can open")
        return True

    def _record_run(self, run: PollRun, status: RunStatus, waits: Waits) -> None:
        record_run(run, status, now=self._deps.clock(), waits=waits)

    async def _fail(
        self,
        run: PollRun,
        waits: Waits,
        reason: Reason,
        *,
        failures_before: int,
        error: Exception | None = None,
    ) -> None:
        deps, channel = self._deps, run.channel
        self._record_run(run, RunStatus.FAILED, waits)
        again_at = await deps.schedule.fail(
            channel.channel_id,
            channel.lease_epoch,
            failures_before=failures_before,
            reason=reason,
            now=deps.clock(),
        )
        self._failed_runs.log_failure(
            reason, error=error, channel_id=channel.channel_id, tried_again_at=again_at.isoformat()
        )


def _explain_markup(error: UnknownMarkup) -> Reason:
    return Reason(
        "preview_markup_unknown",
        "this version does not understand the site's previews ({why})",
        why=error.reason,
    )


def _tell_operator(error: UnknownMarkup) -> str:
    """The same with the remedy, which only the operator can apply."""
    return str(
        Reason(
            "preview_markup_remedy",
            "{why}; update the program, or set PREVIEWS_ENABLED=false until then",
            why=_explain_markup(error),
        )
    )


def _ask_an_account(reason: Reason) -> Reason:
    return Reason(
        "preview_needs_account",
        "{why}; log an account in, then add the channel again",
        why=reason,
    )
