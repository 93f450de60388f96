"""Requests to follow channels and their outcome, and the joined channels that a tenant picks from."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.endpoints.channels.channels import (
    FOLLOW_EXAMPLE,
    Days,
    FolderName,
    FollowResponse,
    result_response,
)
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    CursorText,
    Id,
    Limit,
    PageResponse,
    RequestModel,
    ResponseModel,
    read_moment_cursor,
    write_moment_cursor,
)
from telegram_assistant.domain.channels.channel_requests import RequestKind, RequestState
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.features.channels.channel_requests import (
    RequestStatus,
    get_request,
    list_requests,
    try_again,
    try_all_again,
)
from telegram_assistant.features.channels.joined_channels import (
    JoinedList,
    ask_for_joined,
    follow_picked,
    list_joined,
)
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription

area = Area(
    "Channel requests",
    "Requests to follow channels: each waits until an account or a public preview resolves its reference. "
    "Joined channels, to pick from.",
)

REQUEST_EXAMPLE = {
    "request_id": "6f6e2d5e-3f0f-4a7e-9a75-0b6d5a1f2c3d",
    "reference": "@citynews",
    "kind": "username",
    "state": "open",
    "reason": "the account has used up its name look-ups for now",
    "next_try_at": "2026-11-15T08:01:30Z",
    "estimated_end": "2026-11-15T08:10:30Z",
    "channel_id": None,
    "already_followed": False,
    "created_at": "2026-11-15T08:00:00Z",
    "answered_at": None,
}
LISTING_EXAMPLE = {
    **REQUEST_EXAMPLE,
    "reference": "the list of what the account has joined",
    "kind": "listing",
    "reason": "it is next",
}
LIST_EXAMPLE = {
    "items": [
        {
            "channel_id": 1234567890,
            "title": "City news",
            "username": "citynews",
            "is_private": False,
            "is_followed": False,
            "accounts": ["3f0f2d5e-6f6e-4a7e-9a75-0b6d5a1f2c3d"],
            "listed_at": "2026-11-15T08:00:00Z",
        }
    ],
    "listed_at": "2026-11-15T08:00:00Z",
    "requests": [LISTING_EXAMPLE],
}
RequestId = Annotated[
    UUID, Path(description="`request_id` of the request.", examples=["6f6e2d5e-3f0f-4a7e-9a75-0b6d5a1f2c3d"])
]


class ChannelRequestResponse(ResponseModel):
    """A request to follow a channel. Secrets of invitation links are shortened."""

    request_id: UUID
    reference: str
    kind: RequestKind
    state: RequestState
    reason: str | None = Field(
        description="While the request is open, why it waits; then what was found, or why it failed."
    )
    next_try_at: datetime | None = Field(
        description="When it is tried next; null: it has been answered, or the time is unknown."
    )
    estimated_end: datetime | None = Field(
        description="When it will be answered, estimated from the accounts' budgets and its place in the "
        "queue; null: unknown."
    )
    channel_id: int | None = Field(description="The channel that was found; null if none or several were.")
    already_followed: bool = Field(description="Whether you followed all that was found before.")
    created_at: datetime
    answered_at: datetime | None


class ChannelRequestsResponse(PageResponse):
    """A page of requests, newest first."""

    items: list[ChannelRequestResponse]


class RetriedRequestsResponse(ResponseModel):
    """How many failed requests are open again."""

    retried: int


class JoinedChannelResponse(ResponseModel):
    """A channel that an account of yours has joined."""

    channel_id: int
    title: str
    username: str | None
    is_private: bool
    is_followed: bool
    accounts: list[UUID] = Field(description="The accounts that have joined it.")
    listed_at: datetime


class JoinedChannelsResponse(ResponseModel):
    """The last list, by title. It is kept until a newer one is complete."""

    items: list[JoinedChannelResponse]
    listed_at: datetime | None = Field(
        description="When the newest list was complete; null: there was none yet."
    )
    requests: list[ChannelRequestResponse] = Field(
        description="The newest request for the list of each active account."
    )


class PickRequest(RequestModel):
    """Channels from the list, and their settings; omitted settings are as in `POST /channels`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"channel_ids": [1234567890], "folder": "City"}]}
    )

    channel_ids: Annotated[list[Id], Field(min_length=1, max_length=1000)]
    folder: FolderName | None = None
    priority: Priority | None = None
    ai_policy: AiPolicy | None = None
    history_days: Days | None = None
    wants_media: bool | None = None


@area.get("/channels/requests", scope=KeyScope.READ, example={"items": [REQUEST_EXAMPLE], "next": None})
async def list_channel_requests(
    context: Context,
    state: Annotated[RequestState | None, Query(description="Only requests in this state.")] = None,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> ChannelRequestsResponse:
    """List requests to follow channels, open and answered, newest first.

    Tenants take fair turns at name look-ups: Telegram allows about 100 of them per account per day. Folders
    and invitations have their own limits and do not wait for name look-ups. Answered requests are deleted
    after 30 days.
    """
    page = await list_requests(
        state,
        requests=context.stores.requests,
        now=context.now,
        limit=limit,
        before=read_moment_cursor(cursor),
    )
    return ChannelRequestsResponse(
        items=[_response(request, context) for request in page.requests],
        next=write_moment_cursor(page.next),
    )


@area.get("/channels/requests/{request_id}", scope=KeyScope.READ, example=REQUEST_EXAMPLE)
async def get_channel_request(context: Context, request_id: RequestId) -> ChannelRequestResponse:
    """Get a request to follow a channel."""
    return _response(
        await get_request(request_id, requests=context.stores.requests, now=context.now), context
    )


@area.post("/channels/requests/retry", scope=KeyScope.WRITE, example={"retried": 12})
async def retry_channel_requests(context: Context) -> RetriedRequestsResponse:
    """Try all failed requests again.

    They wait behind your other requests. Of several failed requests for the same reference, the newest stays.
    Lines of a list that name no channel stay failed; correct them and add them again.
    """
    retried_count = await try_all_again(fates=context.stores.request_fates)
    context.note(retried=retried_count)
    return RetriedRequestsResponse(retried=retried_count)


@area.post("/channels/requests/{request_id}/retry", scope=KeyScope.WRITE, example=REQUEST_EXAMPLE)
async def retry_channel_request(context: Context, request_id: RequestId) -> ChannelRequestResponse:
    """Try a failed request again.

    It waits behind your other requests. If the same reference is already open in another request, this one is
    deleted and the other returned.
    """
    stores = context.stores
    return _response(
        await try_again(request_id, requests=stores.requests, fates=stores.request_fates, now=context.now),
        context,
    )


@area.get("/channels/joined", scope=KeyScope.READ, example=LIST_EXAMPLE)
async def list_joined_channels(context: Context) -> JoinedChannelsResponse:
    """List what your accounts have joined.

    The list is the one that was last read; `POST /channels/joined` asks for a newer one.
    """
    return _joined_response(await list_joined(stores=context.stores, now=context.now), context)


@area.post("/channels/joined", scope=KeyScope.WRITE, example=LIST_EXAMPLE, status=202)
async def read_joined_channels(context: Context) -> JoinedChannelsResponse:
    """Ask your accounts for what they have joined.

    Nothing is followed. Each account reads its list within its limits. 409: the lists are on their way, or
    younger than ten minutes.
    """
    return _joined_response(await ask_for_joined(stores=context.stores, now=context.now), context)


@area.post(
    "/channels/joined/follow",
    scope=KeyScope.WRITE,
    example={"items": [FOLLOW_EXAMPLE]},
    status=202,
    is_expensive=True,
)
async def follow_joined_channels(context: Context, body: PickRequest) -> FollowResponse:
    """Follow channels from the list.

    This needs no request to Telegram. A channel that is not in the list is refused, and does not affect the
    others.
    """
    subscription = Subscription(channel_id=NOT_KNOWN_YET, **body.model_dump(exclude={"channel_ids"}))
    requested_channels = await follow_picked(
        [ChannelId(channel_id) for channel_id in body.channel_ids], subscription, stores=context.stores
    )
    context.note(channel_ids=list(body.channel_ids))
    return FollowResponse(items=[result_response(request, context) for request in requested_channels])


def _response(status: RequestStatus, context: Context) -> ChannelRequestResponse:
    request, expected = status.request, status.expected
    return ChannelRequestResponse(
        request_id=request.request_id,
        reference=context.translate(request.display_text),
        kind=request.kind,
        state=request.state,
        reason=context.translate(status.reason),
        next_try_at=expected.next_try_at if expected else None,
        estimated_end=expected.estimated_end if expected else None,
        channel_id=request.channel_id,
        already_followed=request.was_followed,
        created_at=request.created_at,
        answered_at=request.answered_at,
    )


def _joined_response(joined_list: JoinedList, context: Context) -> JoinedChannelsResponse:
    return JoinedChannelsResponse(
        items=[
            JoinedChannelResponse(
                channel_id=channel.channel_id,
                title=channel.title,
                username=channel.username,
                is_private=channel.is_private,
                is_followed=channel.is_followed,
                accounts=list(channel.accounts),
                listed_at=channel.listed_at,
            )
            for channel in joined_list.channels
        ],
        listed_at=joined_list.listed_at,
        requests=[
            _response(account.status, context)
            for account in joined_list.accounts
            if account.status is not None
        ],
    )
