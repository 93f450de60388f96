"""One channel: its health, coverage and activity, and the tenant's own accounts that can open it."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from telegram_assistant.domain.channels.activity import ChannelActivity
from telegram_assistant.domain.channels.health import PROMISED, ReadingHealth
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.features.channels.channels import get_followed
from telegram_assistant.features.channels.coverage import FullCoverage, coverage_of
from telegram_assistant.features.channels.overview import health_of
from telegram_assistant.stores.postgres.channels.activity import OpeningAccount
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel
from telegram_assistant.stores.postgres.stores import TenantStores


@dataclass(frozen=True, slots=True)
class ActiveChannel:
    """A channel as its tenant may see it. A suspended one has neither coverage nor activity."""

    channel: FollowedChannel
    report: ReadingHealth
    coverage: FullCoverage | None
    activity: ChannelActivity | None
    accounts: tuple[OpeningAccount, ...]


async def channel_with_activity(
    channel_id: ChannelId, *, stores: TenantStores, zone: ZoneInfo, now: datetime
) -> ActiveChannel:
    """Counts hours in `zone`. Raises Missing if the tenant does not follow the channel."""
    channel = await get_followed(channel_id, followed=stores.followed)
    if not channel.active:
        return ActiveChannel(channel, health_of(channel, None, now), None, None, ())
    coverage, activity, accounts = await asyncio.gather(
        coverage_of(channel_id, stores=stores),
        stores.activity.of(channel_id, zone=zone, promised=PROMISED[channel.priority], now=now),
        stores.activity.accounts(channel_id),
    )
    return ActiveChannel(channel, health_of(channel, coverage.channel, now), coverage, activity, accounts)
