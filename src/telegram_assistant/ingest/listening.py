"""What an account is told by Telegram itself becomes posts at once; wherever something may be missing, the channel is read.

It proves nothing and completes no poll: the next ordinary one finds the posts stored and proves their ids.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.account import Lease
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.errors import Busy, LeaseLost
from telegram_assistant.ingest.keeping import keep_raw, raw_of_pushed
from telegram_assistant.ingest.telling import tell_pushed
from telegram_assistant.stores.postgres.backfills import Backfills
from telegram_assistant.stores.postgres.hints import Hints, ReadChannel
from telegram_assistant.stores.postgres.landing import Landing, Page, PushClaim
from telegram_assistant.stores.postgres.raw_messages import RawArchive, RawMessages
from telegram_assistant.supervision import either, sleep_unless
from telegram_assistant.telegram.updates import Ear, Heard
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import PUSH_GAPS

log = get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """The loop of one account that takes from its ear. What could not be stored is read from history instead."""

    account_id: AccountId
    lease_epoch: int
    lease: Lease
    ear: Ear
    landing: Landing
    backfills: Backfills
    hints: Hints
    raw_archive: RawArchive
    clock: Callable[[], datetime]

    async def run(self, stopping: asyncio.Event) -> None:
        """Until told to stop. LeaseLost ends it: the account is another's."""
        unread: set[ChannelId] = set()
        while not stopping.is_set():
            await either(self.ear.something, stopping)
            unread |= await self.take_in()
            try:
                await self._hint(unread)
                unread.clear()
            except Busy as busy:
                await sleep_unless(stopping, busy.retry_after_seconds)
                self.ear.something.set()

    async def take_in(self) -> set[ChannelId]:
        """Land what was heard; the channels that have to be read, because of a gap or because it could not be landed."""
        heard = self.ear.take()
        if not heard:
            return set()
        try:
            channels = await self.hints.read_by(self.account_id, self.lease_epoch, [one.channel_id for one in heard])
        except Busy:
            return {one.channel_id for one in heard}
        ours = [(channels[one.channel_id], one) for one in heard if one.channel_id in channels]
        reasons: dict[ChannelId, str] = {one.channel_id: one.gap.value for _, one in ours if one.gap is not None}
        raw: list[RawMessages] = []
        for channel, one in ours:
            if not await self._store(channel, one, raw):
                reasons[one.channel_id] = "failed"
        await keep_raw(raw, archive=self.raw_archive)
        for reason, count in Counter(reasons.values()).items():
            PUSH_GAPS.labels(reason).inc(count)
        return set(reasons)

    async def _store(self, channel: ReadChannel, heard: Heard, raw: list[RawMessages]) -> bool:
        """False when it must be read instead. What is wrong with one channel is not the others' business."""
        claim, now = PushClaim(heard.channel_id, self.account_id, self.lease_epoch), self.clock()
        try:
            if heard.posts:
                landed = await self.landing.land(Page(posts=heard.posts, proven=None, read_at=now), claim)
                tell_pushed(channel, (post for post in heard.posts if post.message_id in landed.new_ids), now=now)
                if landed.inserted or landed.changed:
                    raw += raw_of_pushed(heard, now)
            if heard.deleted_ids:
                burial = await self.landing.bury(claim, heard.deleted_ids, told_at=now)
                if burial.doubtful:
                    await self.backfills.look_twice(heard.channel_id)
        except LeaseLost:
            self.lease.check()  # the account is lost, or only this channel
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
