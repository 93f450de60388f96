"""Channels that rest after too many failures: why, until when, and letting one go on by hand."""

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Missing
from telegram_assistant.stores.postgres.channels.schedule import Parked
from telegram_assistant.stores.postgres.stores import TenantStores


async def parked_channels(*, stores: TenantStores) -> tuple[Parked, ...]:
    """Those that the tenant follows, the next to be tried first."""
    return await stores.parked.all()


async def release(channel_id: ChannelId, *, stores: TenantStores) -> None:
    """It is read at its next turn, and parked again if that fails. Missing where no followed channel of that id is parked."""
    if not await stores.parked.release(channel_id):
        raise Missing("there is no such channel among those that are followed and parked")
