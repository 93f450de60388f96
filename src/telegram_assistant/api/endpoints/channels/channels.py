"""Followed channels."""

from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import ConfigDict, Field, TypeAdapter

from telegram_assistant.api.ingest_endpoints import PollRequest
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    ChannelNumber,
    CursorText,
    Id,
    Limit,
    PageResponse,
    RequestModel,
    ResponseModel,
    Storable,
    read_cursor,
    write_cursor,
)
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.features.channels.channel_lists import ListedChannel
from telegram_assistant.features.channels.channels import (
    RequestedChannel,
    SubscriptionUpdate,
    change_followed,
    follow,
    get_followed,
    list_followed,
    unfollow,
)
from telegram_assistant.features.channels.polling import poll_own
from telegram_assistant.stores.postgres.channels.channels import (
    EVERYTHING_DAYS,
    NOT_KNOWN_YET,
    ChannelFilter,
    FollowedChannel,
    Subscription,
)

area = Area("Channels", "Followed channels and their settings.")

CURSOR = TypeAdapter(tuple[Id])
CHANNEL_EXAMPLE = {
    "channel_id": 1234567890,
    "title": "City news",
    "username": "citynews",
    "folder": "City",
    "priority": "normal",
    "ai_policy": "local",
    "history_days": 7,
    "wants_media": True,
    "active": True,
    "suspended_reason": None,
    "newest_message_id": 42,
    "newest_posted_at": "2026-11-15T08:00:00Z",
}
FOLLOW_EXAMPLE = {
    "reference": "@citynews",
    "status": "accepted",
    "request_id": "6f6e2d5e-3f0f-4a7e-9a75-0b6d5a1f2c3d",
    "channel_id": None,
    "why": None,
}
FolderName = Annotated[Storable, Field(min_length=1, max_length=64)]
Days = Annotated[
    int,
    Field(
        ge=0,
        le=EVERYTHING_DAYS,
        description=f"Days of history to read; {EVERYTHING_DAYS}: the whole history.",
    ),
]


class ChannelResponse(ResponseModel):
    """A followed channel.

    While it is suspended, `active` is false, the title is empty, and the username and the newest post are
    null.
    """

    channel_id: int
    title: str
    username: str | None
    folder: str | None
    priority: Priority
    ai_policy: AiPolicy
    history_days: int
    wants_media: bool
    active: bool
    suspended_reason: str | None
    newest_message_id: int | None
    newest_posted_at: datetime | None


class ChannelsResponse(PageResponse):
    """A page of followed channels, ordered by id."""

    items: list[ChannelResponse]


class FollowRequest(RequestModel):
    """Channels to follow, and their settings.

    For a channel that you already follow, omitted settings stay as they are. For a new one, the priority is
    `normal`, 7 days of history and all media are read, and the AI policy is the tenant's default for new
    channels.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"references": ["@citynews", "https://t.me/+AbCdEfGhIjKl"], "folder": "City"}]
        }
    )

    references: Annotated[
        list[Annotated[Storable, Field(min_length=1, max_length=200)]],
        Field(
            min_length=1,
            max_length=100,
            description="@name, https://t.me/name, an invitation https://t.me/+…, "
            "or a folder https://t.me/addlist/…",
        ),
    ]
    folder: FolderName | None = None
    priority: Priority | None = None
    ai_policy: AiPolicy | None = None
    history_days: Days | None = None
    wants_media: bool | None = None


class ChannelUpdateRequest(RequestModel):
    """The settings to change; omitted ones stay as they are.

    `folder: null` takes the channel out of its folder.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"folder": "City", "priority": "high"}]})

    folder: FolderName | None = None
    priority: Priority | None = None
    ai_policy: AiPolicy | None = None
    history_days: Days | None = None
    wants_media: bool | None = None


class FollowStatus(StrEnum):
    """The immediate result for one reference."""

    ACCEPTED = "accepted"
    ALREADY_FOLLOWED = "already_followed"
    REFUSED = "refused"


class FollowResultResponse(ResponseModel):
    """The result for one reference.

    An accepted one becomes a request; `/channels/requests/{request_id}` shows its progress.
    """

    reference: str = Field(
        description="The reference as it was parsed; secrets of invitation links are shortened."
    )
    status: FollowStatus
    request_id: UUID | None
    channel_id: int | None = Field(description="The channel, if you already follow it.")
    why: str | None = Field(description="Why it was refused.")


class FollowResponse(ResponseModel):
    """One result per reference, in the same order."""

    items: list[FollowResultResponse]


class PollResponse(ResponseModel):
    """A poll that was scheduled; `status` is `scheduled`."""

    channel_id: int
    status: str


@area.get("/channels", scope=KeyScope.READ, example={"items": [CHANNEL_EXAMPLE], "next": None})
async def list_channels(
    context: Context,
    q: Annotated[
        Storable | None,
        Query(max_length=100, description="Only channels with this text in the title or name."),
    ] = None,
    folder: Annotated[
        Storable | None, Query(max_length=64, description="Only channels in this folder.")
    ] = None,
    priority: Annotated[Priority | None, Query(description="Only channels with this priority.")] = None,
    active: Annotated[
        bool | None, Query(description="true: only active channels; false: only suspended ones.")
    ] = None,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> ChannelsResponse:
    """List followed channels."""
    filters = ChannelFilter(words=q, folder=folder, priority=priority, active=active)
    position = read_cursor(cursor, CURSOR)
    page = await list_followed(
        filters,
        followed=context.stores.followed,
        limit=limit,
        after_id=ChannelId(position[0]) if position else None,
    )
    return ChannelsResponse(
        items=[_channel_response(channel, context) for channel in page.channels],
        next=write_cursor(page.next) if page.next else None,
    )


@area.post(
    "/channels", scope=KeyScope.WRITE, example={"items": [FOLLOW_EXAMPLE]}, status=202, is_expensive=True
)
async def follow_channels(context: Context, body: FollowRequest) -> FollowResponse:
    """Follow channels.

    Each valid reference becomes a request. When an account has completed the request, its channels are in the
    list of channels. An invalid reference does not affect the others.
    """
    requested_channels = await follow(
        [ListedChannel(reference) for reference in body.references],
        Subscription(channel_id=NOT_KNOWN_YET, **body.model_dump(exclude={"references"})),
        stores=context.stores,
    )
    context.note(
        references=[str(request.written) for request in requested_channels if request.refused is None]
    )
    return FollowResponse(items=[result_response(request, context) for request in requested_channels])


@area.get("/channels/{channel_id}", scope=KeyScope.READ, example=CHANNEL_EXAMPLE)
async def get_channel(context: Context, channel_id: ChannelNumber) -> ChannelResponse:
    """Get a followed channel."""
    return _channel_response(
        await get_followed(ChannelId(channel_id), followed=context.stores.followed), context
    )


@area.patch("/channels/{channel_id}", scope=KeyScope.WRITE, example=CHANNEL_EXAMPLE)
async def change_channel(
    context: Context, channel_id: ChannelNumber, body: ChannelUpdateRequest
) -> ChannelResponse:
    """Change the settings of a followed channel.

    Without an owner's consent, the policy `provider` has the effect of `local`.
    """
    context.note(**body.model_dump(mode="json", exclude_unset=True))
    update = SubscriptionUpdate(
        leaves_folder="folder" in body.model_fields_set and body.folder is None, **body.model_dump()
    )
    return _channel_response(
        await change_followed(ChannelId(channel_id), update, followed=context.stores.followed), context
    )


@area.delete("/channels/{channel_id}", scope=KeyScope.WRITE)
async def unfollow_channel(context: Context, channel_id: ChannelNumber) -> None:
    """Stop following a channel.

    You no longer see its posts; other tenants that follow it still do.
    """
    await unfollow(ChannelId(channel_id), followed=context.stores.followed)


@area.post(
    "/channels/{channel_id}/poll",
    scope=KeyScope.WRITE,
    example={"channel_id": 1234567890, "status": "scheduled"},
    status=202,
)
async def poll_channel(
    context: Context, channel_id: ChannelNumber, body: PollRequest | None = None
) -> PollResponse:
    """Read a channel as soon as possible instead of at its planned time.

    Only your own accounts read it; an account that does not know the channel yet looks it up first. This also
    releases a parked channel.
    """
    poll_request = body or PollRequest()
    context.note(**poll_request.model_dump(mode="json"))
    await poll_own(
        ChannelId(channel_id),
        mode=poll_request.mode,
        first=poll_request.is_first,
        followed=context.stores.followed,
    )
    return PollResponse(channel_id=channel_id, status="scheduled")


def _channel_response(channel: FollowedChannel, context: Context) -> ChannelResponse:
    return ChannelResponse.model_validate(
        {**asdict(channel), "suspended_reason": context.translate(channel.suspended_reason)}
    )


def result_response(requested: RequestedChannel, context: Context) -> FollowResultResponse:
    accepted_status = FollowStatus.ALREADY_FOLLOWED if requested.followed else FollowStatus.ACCEPTED
    return FollowResultResponse(
        reference=context.translate(requested.written),
        status=FollowStatus.REFUSED if requested.refused else accepted_status,
        request_id=requested.request_id,
        channel_id=requested.followed.channel_id if requested.followed else None,
        why=context.translate(requested.refused),
    )
