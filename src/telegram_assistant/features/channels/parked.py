"""Parked channels: channels that are not read for a while after repeated failures; list and release them."""

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Missing
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.schedule import Parked, Schedule
from telegram_assistant.stores.postgres.stores import TenantStores


async def find_parked_channels(*, stores: TenantStores) -> tuple[Parked, ...]:
    """Returns the parked channels that the tenant follows, ordered by the end of their pause."""
    return await stores.parked.all()


async def all_parked_channels(*, schedule: Schedule) -> tuple[Parked, ...]:
    """For the operator: the parked channels of every tenant."""
    return await schedule.list_parked()


async def release(channel_id: ChannelId, *, stores: TenantStores) -> None:
    """Releases a channel: it is read at its next turn, and parked again if that fails.

    Raises Missing if it is not followed or not parked.
    """
    if not await stores.parked.release(channel_id):
        raise Missing(Reason("channel_not_parked", "you do not follow this channel, or it is not parked"))
