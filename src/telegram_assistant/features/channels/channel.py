"""One channel: its health, coverage and activity, and the tenant's own accounts that can open it."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from telegram_assistant.domain.channels.activity import ChannelActivity
from telegram_assistant.domain.channels.health import PROMISED, ReadingHealth
from telegram_assistant.domain.channels.networks import SisterChannel
from telegram_assistant.domain.channels.record import ChannelRecord
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.features.channels.channels import get_followed
from telegram_assistant.features.channels.coverage import FullCoverage, load_coverage
from telegram_assistant.features.channels.overview import health_of
from telegram_assistant.features.channels.records import FirstReport, load_first_reports
from telegram_assistant.features.posts.changes import DescribedChange, load_changes
from telegram_assistant.stores.postgres.channels.activity import OpeningAccount
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel
from telegram_assistant.stores.postgres.stores import TenantStores

CHANGES = timedelta(days=30)
MAX_CHANGES = 30
"""The newest, among which those of the spelling are counted."""
SHOWN_CHANGES = 3


@dataclass(frozen=True, slots=True)
class ActiveChannel:
    """A channel as its tenant may see it. A suspended one has neither coverage nor activity."""

    channel: FollowedChannel
    report: ReadingHealth
    coverage: FullCoverage | None
    activity: ChannelActivity | None
    accounts: tuple[OpeningAccount, ...]
    sisters: tuple[SisterChannel, ...] = ()
    """Other channels of its owner."""
    record: ChannelRecord | None = None
    """None: not counted yet."""
    first_reports: tuple[FirstReport, ...] = ()
    """The newest stories that it told first."""
    changes: tuple[DescribedChange, ...] = ()
    """The newest edits and deletions, without those of the spelling alone."""
    spelling_changes: int = 0
    """How many of the newest edits changed the spelling alone."""


async def channel_with_activity(
    channel_id: ChannelId, *, stores: TenantStores, zone: ZoneInfo, now: datetime
) -> ActiveChannel:
    """Counts hours in `zone`. Raises Missing if the tenant does not follow the channel."""
    channel = await get_followed(channel_id, followed=stores.followed)
    if not channel.active:
        return ActiveChannel(channel, health_of(channel, None, now), None, None, ())
    coverage, loaded_activity, (record, first_reports), changes = await asyncio.gather(
        load_coverage(channel_id, stores=stores),
        stores.activity.load_activity(channel_id, zone=zone, promised=PROMISED[channel.priority], now=now),
        load_first_reports(channel_id, stores=stores),
        load_changes(channel_id, stores=stores, since=now - CHANGES, limit=MAX_CHANGES),
    )
    health = health_of(channel, coverage.channel, now)
    meaning_changes = [change for change in changes if not change.is_spelling]
    return ActiveChannel(
        channel,
        health,
        coverage,
        loaded_activity.activity,
        loaded_activity.accounts,
        loaded_activity.sisters,
        record,
        first_reports,
        tuple(meaning_changes[:SHOWN_CHANGES]),
        len(changes) - len(meaning_changes),
    )
