"""Channels that are followed."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import ConfigDict, Field, TypeAdapter

from telegram_assistant.api.ingest import PollRequest
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
    cursor_text,
    read_cursor,
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
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, NOT_KNOWN_YET, ChannelFilter, FollowedChannel, Subscription

area = Area("Channels", "What is followed, and how.")

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
Days = Annotated[int, Field(ge=0, le=EVERYTHING_DAYS, description=f"How much of the past is wanted; {EVERYTHING_DAYS}: everything.")]


class ChannelResponse(ResponseModel):
    """A followed channel. While it is suspended, nothing of it is shown but why."""

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
    """A page of followed channels, in the order of their ids."""

    items: list[ChannelResponse]


class FollowRequest(RequestModel):
    """Channels to follow, and how.

    What is left out stays as it is where you follow a channel already. Of a new one, priority is `normal`, 7 days of history and all
    media are wanted, and the AI policy is what the tenant has chosen for channels to come.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"references": ["@citynews", "https://t.me/+AbCdEfGhIjKl"], "folder": "City"}]})

    references: Annotated[
        list[Annotated[Storable, Field(min_length=1, max_length=200)]],
        Field(
            min_length=1, max_length=100, description="@name, https://t.me/name, an invitation https://t.me/+…, or a folder https://t.me/addlist/…"
        ),
    ]
    folder: FolderName | None = None
    priority: Priority | None = None
    ai_policy: AiPolicy | None = None
    history_days: Days | None = None
    wants_media: bool | None = None


class ChannelUpdateRequest(RequestModel):
    """What shall be different; what is left out stays. `folder: null` takes the channel out of its folder."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"folder": "City", "priority": "high"}]})

    folder: FolderName | None = None
    priority: Priority | None = None
    ai_policy: AiPolicy | None = None
    history_days: Days | None = None
    wants_media: bool | None = None


class FollowStatus(StrEnum):
    """What has become of a reference at once."""

    ACCEPTED = "accepted"
    ALREADY_FOLLOWED = "already_followed"
    REFUSED = "refused"


class FollowedReferenceResponse(ResponseModel):
    """One reference. What is accepted becomes a request, and `/channels/requests/{request_id}` tells its fate."""

    reference: str = Field(description="As it was understood; secrets of invitations are shortened.")
    status: FollowStatus
    request_id: UUID | None
    channel_id: int | None = Field(description="The channel that you follow already.")
    why: str | None = Field(description="Why it is refused.")


class FollowResponse(ResponseModel):
    """One for each reference, in their order."""

    items: list[FollowedReferenceResponse]


class PollResponse(ResponseModel):
    """The channel that will be read."""

    channel_id: int
    status: str


@area.get("/channels", scope=KeyScope.READ, example={"items": [CHANNEL_EXAMPLE], "next": None})
async def list_channels(
    context: Context,
    q: Annotated[Storable | None, Query(max_length=100, description="Words in title or name.")] = None,
    folder: Annotated[Storable | None, Query(max_length=64, description="Only this folder.")] = None,
    priority: Annotated[Priority | None, Query(description="Only this priority.")] = None,
    active: Annotated[bool | None, Query(description="true: without suspended ones; false: only those.")] = None,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> ChannelsResponse:
    """The channels that are followed."""
    which = ChannelFilter(words=q, folder=folder, priority=priority, active=active)
    read = read_cursor(cursor, CURSOR)
    page = await list_followed(which, followed=context.stores.followed, limit=limit, after=ChannelId(read[0]) if read else None)
    return ChannelsResponse(items=[_shown(one) for one in page.channels], next=cursor_text(page.next) if page.next else None)


@area.post("/channels", scope=KeyScope.WRITE, example={"items": [FOLLOW_EXAMPLE]}, status=202)
async def follow_channels(context: Context, wish: FollowRequest) -> FollowResponse:
    """Follow channels.

    Each reference becomes a request, which an account serves when its turn comes; then its channels are in the list of channels. One
    wrong reference does not stop the others.
    """
    requested = await follow(
        [ListedChannel(one) for one in wish.references],
        Subscription(channel_id=NOT_KNOWN_YET, **wish.model_dump(exclude={"references"})),
        stores=context.stores,
    )
    context.note(references=[one.written for one in requested if one.refused is None])
    return FollowResponse(items=[_followed(one) for one in requested])


@area.get("/channels/{channel_id}", scope=KeyScope.READ, example=CHANNEL_EXAMPLE)
async def get_channel(context: Context, channel_id: ChannelNumber) -> ChannelResponse:
    """One followed channel."""
    return _shown(await get_followed(ChannelId(channel_id), followed=context.stores.followed))


@area.patch("/channels/{channel_id}", scope=KeyScope.WRITE, example=CHANNEL_EXAMPLE)
async def change_channel(context: Context, channel_id: ChannelNumber, wish: ChannelUpdateRequest) -> ChannelResponse:
    """Follow a channel differently.

    Without an owner's consent, the policy `provider` means `local`.
    """
    context.note(**wish.model_dump(mode="json", exclude_unset=True))
    wanted = SubscriptionUpdate(leaves_folder="folder" in wish.model_fields_set and wish.folder is None, **wish.model_dump())
    return _shown(await change_followed(ChannelId(channel_id), wanted, followed=context.stores.followed))


@area.delete("/channels/{channel_id}", scope=KeyScope.WRITE)
async def unfollow_channel(context: Context, channel_id: ChannelNumber) -> None:
    """Stop following a channel."""
    await unfollow(ChannelId(channel_id), followed=context.stores.followed)


@area.post("/channels/{channel_id}/poll", scope=KeyScope.WRITE, example={"channel_id": 1234567890, "status": "asked for"}, status=202)
async def poll_channel(context: Context, channel_id: ChannelNumber, wish: PollRequest | None = None) -> PollResponse:
    """Read a channel now.

    Only an account of your own reads it; one that does not know the channel yet looks it up first. Releases a parked channel.
    """
    wanted = wish or PollRequest()
    context.note(**wanted.model_dump(mode="json"))
    await poll_own(
        ChannelId(channel_id),
        mode=wanted.mode,
        first=wanted.first,
        followed=context.stores.followed,
    )
    return PollResponse(channel_id=channel_id, status="asked for")


def _shown(channel: FollowedChannel) -> ChannelResponse:
    return ChannelResponse.model_validate(channel, from_attributes=True)


def _followed(requested: RequestedChannel) -> FollowedReferenceResponse:
    accepted = FollowStatus.ALREADY_FOLLOWED if requested.followed else FollowStatus.ACCEPTED
    return FollowedReferenceResponse(
        reference=requested.written,
        status=FollowStatus.REFUSED if requested.refused else accepted,
        request_id=requested.request_id,
        channel_id=requested.followed.channel_id if requested.followed else None,
        why=requested.refused,
    )
