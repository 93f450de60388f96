"""Parked channels: channels that are not read for a while after repeated failures."""

from datetime import datetime

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, ResponseModel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.channels.parked import parked_channels, release
from telegram_assistant.stores.postgres.channels.schedule import Parked

area = Area("Parked channels", "Followed channels that failed several times in a row and are not read for a while.")


class ParkedItemResponse(ResponseModel):
    """A parked channel: why it is parked, and until when."""

    channel_id: int
    title: str
    reason: str
    until: datetime
    failures: int


class ParkedChannelsResponse(ResponseModel):
    """Parked channels, ordered by the end of their pause."""

    items: list[ParkedItemResponse]


class ReleaseResponse(ResponseModel):
    """The released channel; it is read at its next turn."""

    channel_id: int
    status: str


EXAMPLE = {"channel_id": 1234567890, "title": "City news", "reason": "it cannot be read", "until": "2026-11-15T10:00:00Z", "failures": 5}


@area.get("/parked-channels", scope=KeyScope.READ, example={"items": [EXAMPLE]})
async def list_parked_channels(context: Context) -> ParkedChannelsResponse:
    """List parked channels."""
    return ParkedChannelsResponse(items=[_item(one, context) for one in await parked_channels(stores=context.stores)])


@area.post("/parked-channels/{channel_id}/release", scope=KeyScope.WRITE, example={"channel_id": 1234567890, "status": "released"}, status=202)
async def release_parked_channel(context: Context, channel_id: ChannelNumber) -> ReleaseResponse:
    """Release a parked channel.

    It is read at its next turn, and parked again if that fails.
    """
    await release(ChannelId(channel_id), stores=context.stores)
    return ReleaseResponse(channel_id=channel_id, status="released")


def _item(one: Parked, context: Context) -> ParkedItemResponse:
    return ParkedItemResponse(channel_id=one.channel_id, title=one.title, reason=context.say(one.reason), until=one.until, failures=one.failures)
