"""Whether followed channels are read well: health, rhythm and freshness;
and those that are parked after repeated failures.
"""

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Query
from pydantic import AfterValidator, Field

from telegram_assistant.api.endpoints.channels.coverage import (
    LINE_EXAMPLE,
    CoverageSummaryResponse,
    coverage_response,
)
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, ResponseModel, Storable
from telegram_assistant.domain.channels.activity import ChannelActivity
from telegram_assistant.domain.channels.health import ChannelHealth
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.channels.channel import ActiveChannel, channel_with_activity
from telegram_assistant.features.channels.parked import find_parked_channels, release
from telegram_assistant.settings import check_zone
from telegram_assistant.stores.postgres.channels.schedule import Parked

area = Area(
    "Channel health",
    "Whether channels are read well, when they post, and those that are not read for a while after repeated "
    "failures.",
)

NO_POSTS = [[0] * 24 for _ in range(7)]
ACTIVITY_EXAMPLE = {
    "channel_id": 1234567890,
    "title": "City news",
    "health": {"state": "well", "why": None, "next": None},
    "coverage": LINE_EXAMPLE,
    "activity": {
        "followed_at": "2026-10-01T09:30:00Z",
        "since": "2026-10-18T08:00:00Z",
        "posts": 1,
        "stored_messages": 4100,
        "hours": [[0] * 8 + [1] + [0] * 15, *NO_POSTS[1:]],
        "rhythm": {"median_seconds": 1500.0, "long_seconds": 14400.0},
        "freshness": {
            "since": "2026-11-08T08:00:00Z",
            "promised_seconds": 1800.0,
            "posts": 1,
            "on_time": 1,
            "median_seconds": 95.0,
            "slowest_seconds": 95.0,
        },
        "changed_since": "2026-10-16T08:00:00Z",
        "edited": 3,
        "deleted": 0,
    },
    "same_owner": [{"channel_id": 1234567891, "title": "City news live"}],
}


class HealthResponse(ResponseModel):
    """How a channel is read: why it is so, and what happens next; null where nothing needs to be said."""

    state: ChannelHealth
    why: str | None
    next: str | None


class RhythmResponse(ResponseModel):
    """The usual pause between two posts, and a long one, which 19 of 20 pauses stay below."""

    median_seconds: float
    long_seconds: float


class FreshnessResponse(ResponseModel):
    """How soon posts were stored, of those posted since `since`:
    within the time that your priority promises, and at most.
    """

    since: datetime
    promised_seconds: float
    posts: int
    on_time: int
    median_seconds: float | None
    slowest_seconds: float | None


class ActivityResponse(ResponseModel):
    """The activity of a channel in the time that you see of it. An album is one post."""

    followed_at: datetime
    since: datetime
    posts: int = Field(description="Posts since `since`, at most four weeks.")
    stored_messages: int = Field(description="Stored messages, counted up to 10,000.")
    hours: list[list[int]] = Field(
        description="Posts since `since` by hour of the week: seven days from Monday on, 24 hours each."
    )
    rhythm: RhythmResponse | None = Field(description="null: fewer than two posts.")
    freshness: FreshnessResponse
    changed_since: datetime
    edited: int
    deleted: int


class SisterChannelResponse(ResponseModel):
    """Another channel that you follow."""

    channel_id: int
    title: str


class ChannelActivityResponse(ResponseModel):
    """A channel with its health, coverage and activity. The last two are null while it is suspended."""

    channel_id: int
    title: str
    health: HealthResponse
    coverage: CoverageSummaryResponse | None
    activity: ActivityResponse | None
    same_owner: list[SisterChannelResponse] = Field(
        description="Channels of the same owner, as far as your posts show: in stories they count once."
    )


@area.get("/channels/{channel_id}/activity", scope=KeyScope.READ, example=ACTIVITY_EXAMPLE)
async def get_channel_activity(
    context: Context,
    channel_id: ChannelNumber,
    zone: Annotated[
        Storable,
        AfterValidator(check_zone),
        Query(max_length=64, description="Time zone of the hours, like Europe/Moscow."),
    ] = "UTC",
) -> ChannelActivityResponse:
    """Get the health of a followed channel, when it posts, and how soon its posts are stored."""
    return _response(
        await channel_with_activity(
            ChannelId(channel_id), stores=context.stores, zone=ZoneInfo(zone), now=context.now
        ),
        context,
    )


def _response(active: ActiveChannel, context: Context) -> ChannelActivityResponse:
    report = active.report
    return ChannelActivityResponse(
        channel_id=active.channel.channel_id,
        title=active.channel.title,
        health=HealthResponse(
            state=report.health, why=context.translate(report.why), next=context.translate(report.next)
        ),
        coverage=coverage_response(active.coverage.channel, context) if active.coverage else None,
        activity=_activity(active.activity) if active.activity else None,
        same_owner=[
            SisterChannelResponse(channel_id=sister.channel_id, title=sister.title)
            for sister in active.sisters
        ],
    )


def _activity(activity: ChannelActivity) -> ActivityResponse:
    freshness = activity.freshness
    return ActivityResponse(
        followed_at=activity.followed_at,
        since=activity.since,
        posts=activity.posts,
        stored_messages=activity.stored_posts,
        hours=[list(day) for day in activity.hours],
        rhythm=RhythmResponse(
            median_seconds=activity.rhythm.median_seconds, long_seconds=activity.rhythm.long_seconds
        )
        if activity.rhythm
        else None,
        freshness=FreshnessResponse(
            since=freshness.since,
            promised_seconds=freshness.promised.total_seconds(),
            posts=freshness.posts,
            on_time=freshness.on_time,
            median_seconds=freshness.median_seconds,
            slowest_seconds=freshness.slowest_seconds,
        ),
        changed_since=activity.changed_since,
        edited=activity.edited,
        deleted=activity.deleted,
    )


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


PARKED_EXAMPLE = {
    "channel_id": 1234567890,
    "title": "City news",
    "reason": "it cannot be read",
    "until": "2026-11-15T10:00:00Z",
    "failures": 5,
}


@area.get("/parked-channels", scope=KeyScope.READ, example={"items": [PARKED_EXAMPLE]})
async def list_parked_channels(context: Context) -> ParkedChannelsResponse:
    """List parked channels."""
    return ParkedChannelsResponse(
        items=[
            _parked_response(parked_channel, context)
            for parked_channel in await find_parked_channels(stores=context.stores)
        ]
    )


@area.post(
    "/parked-channels/{channel_id}/release",
    scope=KeyScope.WRITE,
    example={"channel_id": 1234567890, "status": "released"},
    status=202,
)
async def release_parked_channel(context: Context, channel_id: ChannelNumber) -> ReleaseResponse:
    """Release a parked channel.

    It is read at its next turn, and parked again if that fails.
    """
    await release(ChannelId(channel_id), stores=context.stores)
    return ReleaseResponse(channel_id=channel_id, status="released")


def _parked_response(parked: Parked, context: Context) -> ParkedItemResponse:
    return ParkedItemResponse(
        channel_id=parked.channel_id,
        title=parked.title,
        reason=context.translate(parked.reason),
        until=parked.until,
        failures=parked.failures,
    )
