"""Channels that rest after too many failures."""

from datetime import datetime

from telegram_assistant.api.request_context import Ask
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, Shown
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import Scope
from telegram_assistant.features.parked import parked_channels, release

area = Area("Parked channels", "Followed channels that could not be read several times in a row.")


class ParkedShown(Shown):
    """Why a channel rests, and when it is tried again."""

    channel_id: int
    title: str
    reason: str
    until: datetime
    failures: int


class AllParkedShown(Shown):
    """The next to be tried first."""

    items: list[ParkedShown]


class ReleasedShown(Shown):
    """The channel that is read at its next turn."""

    channel_id: int
    status: str


EXAMPLE = {"channel_id": 1234567890, "title": "City news", "reason": "it cannot be read", "until": "2026-11-15T10:00:00Z", "failures": 5}


@area.get("/parked-channels", scope=Scope.READ, example={"items": [EXAMPLE]})
async def list_parked_channels(ask: Ask) -> AllParkedShown:
    """Followed channels that rest, and why."""
    return AllParkedShown(items=[ParkedShown.model_validate(one, from_attributes=True) for one in await parked_channels(stores=ask.stores)])


@area.post("/parked-channels/{channel_id}/release", scope=Scope.WRITE, example={"channel_id": 1234567890, "status": "released"}, status=202)
async def release_parked_channel(ask: Ask, channel_id: ChannelNumber) -> ReleasedShown:
    """Let a channel be read again at its next turn. It is parked again if that fails."""
    await release(ChannelId(channel_id), stores=ask.stores)
    return ReleasedShown(channel_id=channel_id, status="released")
