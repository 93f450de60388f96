"""What an account is told by Telegram itself becomes posts at once; wherever something may be missing, the channel is read.

It proves nothing and completes no poll: the next ordinary one finds the posts stored and proves their ids.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from telegram_assistant.domain.accounts.account import Lease
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.errors import Busy, LeaseLost
from telegram_assistant.ingest.reading.raw_archive import keep_raw, raw_of_pushed
from telegram_assistant.ingest.run_metrics import tell_pushed
from telegram_assistant.stores.postgres.channels.backfills import Backfills
from telegram_assistant.stores.postgres.channels.hints import Hints, ReadChannel
from telegram_assistant.stores.postgres.posts.landing import Landing, PostPage, PushClaim
from telegram_assistant.stores.postgres.posts.raw_messages import RawArchive, RawMessages
from telegram_assistant.supervision import either, sleep_unless
from telegram_assistant.telegram.updates import ChannelUpdates, UpdateBuffer
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import PUSH_GAPS

log = get_logger()

KNOWN_FOR = timedelta(minutes=1)
"""How long it is remembered which channels the account reads: the fence of each landing knows better."""
RAW_SECONDS = 2.0
"""So long what was landed is gathered before it is kept as it came."""


@dataclass(slots=True, kw_only=True)
class PushWorker:
    """The loop of one account that takes from its ear. What could not be stored is read from history instead."""

    account_id: AccountId
    lease_epoch: int
    lease: Lease
    ear: UpdateBuffer
    landing: Landing
    backfills: Backfills
    hints: Hints
    raw_archive: RawArchive
    clock: Callable[[], datetime]
    _channels: dict[ChannelId, ReadChannel | None] = field(default_factory=dict, init=False)
    """None: not one of ours."""
    _known_at: datetime | None = field(default=None, init=False)
    _raw: list[RawMessages] = field(default_factory=list, init=False)

    async def run(self, stopping: asyncio.Event) -> None:
        """Until told to stop. LeaseLost ends it: the account is another's."""
        unread: set[ChannelId] = set()
        kept_at = time.monotonic()
        while not stopping.is_set():
            await either(self.ear.something, stopping, seconds=RAW_SECONDS if self._raw else None)
            unread |= await self.process_updates()
            if stopping.is_set() or time.monotonic() - kept_at >= RAW_SECONDS:
                await self.keep_raw()
                kept_at = time.monotonic()
            try:
                await self._hint(unread)
                unread.clear()
            except Busy as busy:
                await sleep_unless(stopping, busy.retry_after_seconds)
                self.ear.something.set()

    async def process_updates(self) -> set[ChannelId]:
        """Land what was heard; the channels that have to be read, because of a gap or because it could not be landed."""
        heard = self.ear.take()
        try:
            await self._look_up([one.channel_id for one in heard])
        except Busy:
            return {one.channel_id for one in heard}
        reasons: dict[ChannelId, str] = {}
        for one in heard:
            channel = self._channels[one.channel_id]
            if channel is None:
                continue
            if one.gap is not None:
                reasons[one.channel_id] = one.gap.value
            if not await self._store(channel, one):
                reasons[one.channel_id] = "failed"
        for reason, count in Counter(reasons.values()).items():
            PUSH_GAPS.labels(reason).inc(count)
        return set(reasons)

    async def keep_raw(self) -> None:
        """What was landed, as Telegram sent it."""
        raw, self._raw = self._raw, []
        await keep_raw(raw, archive=self.raw_archive)

    async def _look_up(self, channel_ids: Sequence[ChannelId]) -> None:
        """Which of them are ours, unless it is known."""
        now = self.clock()
        if self._known_at is None or now - self._known_at > KNOWN_FOR:
            self._channels, self._known_at = {}, now
        unknown = [one for one in channel_ids if one not in self._channels]
        if unknown:
            ours = await self.hints.read_by(self.account_id, self.lease_epoch, unknown)
            self._channels |= {one: ours.get(one) for one in unknown}

    async def _store(self, channel: ReadChannel, heard: ChannelUpdates) -> bool:
        """False when it must be read instead. What is wrong with one channel is not the others' business."""
        claim, now = PushClaim(heard.channel_id, self.account_id, self.lease_epoch), self.clock()
        try:
            if heard.posts:
                landed = await self.landing.land(PostPage(posts=heard.posts, proven=None, read_at=now), claim)
                tell_pushed(channel, (post for post in heard.posts if post.message_id in landed.new_ids), now=now)
                newest = [post.posted_at for post in heard.posts] + [one for one in (channel.newest_posted_at,) if one]
                self._channels[heard.channel_id] = replace(channel, newest_posted_at=max(newest))
                if landed.inserted or landed.changed:
                    self._raw += raw_of_pushed(heard, now)
            if heard.deleted_ids:
                burial = await self.landing.bury(claim, heard.deleted_ids, told_at=now)
                if burial.doubtful:
                    await self.backfills.look_twice(heard.channel_id)
        except LeaseLost:
            self.lease.check()  # the account is lost, or only this channel
            self._channels[heard.channel_id] = None
            log.info("push_not_ours", channel_id=heard.channel_id)
        except Busy as busy:
            log.info("push_not_landed", channel_id=heard.channel_id, why=str(busy))
            return False
        except Exception:
            log.exception("push_failed", channel_id=heard.channel_id)
            return False
        return True

    async def _hint(self, channel_ids: set[ChannelId]) -> None:
        if channel_ids:
            await self.hints.make_due(self.account_id, self.lease_epoch, channel_ids)
