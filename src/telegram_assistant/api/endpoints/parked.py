"""Channels that rest after too many failures."""

from datetime import datetime

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, ResponseModel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.channels.parked import parked_channels, release

area = Area("Parked channels", "Followed channels that could not be read several times in a row.")


class ParkedItemResponse(ResponseModel):
    """Why a channel rests, and when it is tried again."""

    channel_id: int
    title: str
    reason: str
    until: datetime
    failures: int


class ParkedChannelsResponse(ResponseModel):
    """The next to be tried first."""

    items: list[ParkedItemResponse]


class ReleaseResponse(ResponseModel):
    """The channel that is read at its next turn."""

    channel_id: int
    status: str


EXAMPLE = {"channel_id": 1234567890, "title": "City news", "reason": "it cannot be read", "until": "2026-11-15T10:00:00Z", "failures": 5}


@area.get("/parked-channels", scope=KeyScope.READ, example={"items": [EXAMPLE]})
async def list_parked_channels(context: Context) -> ParkedChannelsResponse:
    """Followed channels that rest, and why."""
    return ParkedChannelsResponse(
        items=[ParkedItemResponse.model_validate(one, from_attributes=True) for one in await parked_channels(stores=context.stores)]
    )


@area.post("/parked-channels/{channel_id}/release", scope=KeyScope.WRITE, example={"channel_id": 1234567890, "status": "released"}, status=202)
async def release_parked_channel(context: Context, channel_id: ChannelNumber) -> ReleaseResponse:
    """Let a channel be read again at its next turn. It is parked again if that fails."""
    await release(ChannelId(channel_id), stores=context.stores)
    return ReleaseResponse(channel_id=channel_id, status="released")
