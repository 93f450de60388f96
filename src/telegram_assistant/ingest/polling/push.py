"""Lands posts that Telegram pushes to an account at once. If an update may be missing, makes the channel due
instead.

A pushed post proves no ids and completes no poll: the next ordinary poll finds the posts stored and proves
their ids.
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
from telegram_assistant.ingest.polling.raw_archive import raw_of_pushed, save_raw
from telegram_assistant.ingest.run_metrics import record_pushed_posts
from telegram_assistant.stores.postgres.channels.backfills import Backfills
from telegram_assistant.stores.postgres.channels.hints import Hints, ReadChannel
from telegram_assistant.stores.postgres.posts.landing import Landing, PostPage, PushClaim
from telegram_assistant.stores.postgres.posts.raw_messages import RawArchive, RawMessages
from telegram_assistant.supervision import sleep_unless, wait_for_either
from telegram_assistant.telegram.updates import ChannelUpdates, UpdateBuffer
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import PUSH_GAPS
from telegram_assistant.telemetry.outages import OutageLog

log = get_logger()

KNOWN_FOR = timedelta(minutes=1)
"""How long the account's channels are cached. The fence of each landing checks the current state."""
RAW_SECONDS = 2.0
"""How long raw messages of landed posts are collected before they are saved."""


@dataclass(slots=True, kw_only=True)
class PushWorker:
    """Lands the updates of one account's buffer.

    Posts that cannot be stored are read from history instead.
    """

    account_id: AccountId
    lease_epoch: int
    lease: Lease
    receiver: UpdateBuffer
    landing: Landing
    backfills: Backfills
    hints: Hints
    raw_archive: RawArchive
    clock: Callable[[], datetime]
    _channels: dict[ChannelId, ReadChannel | None] = field(default_factory=dict, init=False)
    """None: this account does not read the channel."""
    _known_at: datetime | None = field(default=None, init=False)
    _raw: list[RawMessages] = field(default_factory=list, init=False)
    _outage: OutageLog = field(init=False)

    def __post_init__(self) -> None:
        self._outage = OutageLog(f"push of account {self.account_id}", account_id=self.account_id)

    async def run(self, stopping: asyncio.Event) -> None:
        """Run until `stopping` is set. LeaseLost ends the loop: another process has the account."""
        unread_channel_ids: set[ChannelId] = set()
        kept_at = time.monotonic()
        while not stopping.is_set():
            await wait_for_either(
                self.receiver.has_updates, stopping, seconds=RAW_SECONDS if self._raw else None
            )
            unread_channel_ids |= await self.process_updates()
            if stopping.is_set() or time.monotonic() - kept_at >= RAW_SECONDS:
                await self.save_raw()
                kept_at = time.monotonic()
            try:
                await self._make_due(unread_channel_ids)
                unread_channel_ids.clear()
            except Busy as busy:
                self._outage.log_failure(busy)
                await sleep_unless(stopping, busy.retry_after_seconds)
                self.receiver.has_updates.set()

    async def process_updates(self) -> set[ChannelId]:
        """Land buffered updates.

        Returns the channels that must be read, because of a gap or a failed landing.
        """
        updates = self.receiver.take()
        try:
            await self._load_channels([update.channel_id for update in updates])
        except Busy as busy:
            self._outage.log_failure(busy)
            return {update.channel_id for update in updates}
        reasons: dict[ChannelId, str] = {}
        for update in updates:
            channel = self._channels[update.channel_id]
            if channel is None:
                continue
            if update.gap is not None:
                reasons[update.channel_id] = update.gap.value
            if not await self._store(channel, update):
                reasons[update.channel_id] = "failed"
        for reason, count in Counter(reasons.values()).items():
            PUSH_GAPS.labels(reason).inc(count)
        return set(reasons)

    async def save_raw(self) -> None:
        """Save the landed messages as Telegram sent them."""
        raw, self._raw = self._raw, []
        await save_raw(raw, archive=self.raw_archive, outage=self._outage)

    async def _load_channels(self, channel_ids: Sequence[ChannelId]) -> None:
        """Load which of these channels the account reads, unless cached."""
        now = self.clock()
        if self._known_at is None or now - self._known_at > KNOWN_FOR:
            self._channels, self._known_at = {}, now
        unknown_channel_ids = [channel_id for channel_id in channel_ids if channel_id not in self._channels]
        if unknown_channel_ids:
            own_channels = await self.hints.load_read_channels(
                self.account_id, self.lease_epoch, unknown_channel_ids
            )
            self._channels |= {channel_id: own_channels.get(channel_id) for channel_id in unknown_channel_ids}

    async def _store(self, channel: ReadChannel, updates: ChannelUpdates) -> bool:
        """Land the updates of one channel.

        Returns False if the channel must be read instead. A failure concerns this channel only.
        """
        claim, now = PushClaim(updates.channel_id, self.account_id, self.lease_epoch), self.clock()
        try:
            if updates.posts:
                landed = await self.landing.land(
                    PostPage(posts=updates.posts, proven=None, read_at=now), claim
                )
                record_pushed_posts(
                    channel, (post for post in updates.posts if post.message_id in landed.new_ids), now=now
                )
                newest = [post.posted_at for post in updates.posts] + [
                    posted_at for posted_at in (channel.newest_posted_at,) if posted_at
                ]
                self._channels[updates.channel_id] = replace(channel, newest_posted_at=max(newest))
                if landed.inserted or landed.changed:
                    self._raw += raw_of_pushed(updates, now)
            if updates.deleted_ids:
                recorded_deletions = await self.landing.mark_deleted(claim, updates.deleted_ids, told_at=now)
                if recorded_deletions.doubtful:
                    await self.backfills.look_twice(updates.channel_id)
        except LeaseLost:
            self.lease.check()  # raises if the account is lost, and not only this channel
            self._channels[updates.channel_id] = None
            log.info("push_not_ours", channel_id=updates.channel_id)
        except Busy as busy:
            self._outage.log_failure(busy, channel_id=updates.channel_id)
            return False
        except Exception as error:  # noqa: BLE001 -- logged with its traceback; the channel is read instead
            self._outage.log_failure(
                f"{type(error).__name__}: {error}", error=error, channel_id=updates.channel_id
            )
            return False
        else:
            self._outage.log_recovery()
        return True

    async def _make_due(self, channel_ids: set[ChannelId]) -> None:
        if channel_ids:
            await self.hints.make_due(self.account_id, self.lease_epoch, channel_ids)
