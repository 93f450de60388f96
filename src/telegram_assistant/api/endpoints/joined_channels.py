"""Channels that the tenant's accounts have joined, to pick from."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field

from telegram_assistant.api.endpoints.channel_requests import REQUEST_EXAMPLE, ChannelRequestResponse, request_response
from telegram_assistant.api.endpoints.channels import FOLLOW_EXAMPLE, Days, FolderName, FollowResponse, result_response
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import Id, RequestModel, ResponseModel
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.features.channels.joined_channels import JoinedList, ask_for_joined, follow_picked, list_joined
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription

area = Area("Joined channels", "What your accounts have joined at Telegram. A listed channel is followed only if you pick it.")

LISTING_EXAMPLE = {**REQUEST_EXAMPLE, "reference": "the list of what the account has joined", "kind": "listing", "reason": "it is next"}
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
    listed_at: datetime | None = Field(description="When the newest list was complete; null: there was none yet.")
    requests: list[ChannelRequestResponse] = Field(description="The newest request for the list of each active account.")


class PickRequest(RequestModel):
    """Channels from the list, and their settings; omitted settings are as in `POST /channels`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"channel_ids": [1234567890], "folder": "City"}]})

    channel_ids: Annotated[list[Id], Field(min_length=1, max_length=1000)]
    folder: FolderName | None = None
    priority: Priority | None = None
    ai_policy: AiPolicy | None = None
    history_days: Days | None = None
    wants_media: bool | None = None


@area.get("/channels/joined", scope=KeyScope.READ, example=LIST_EXAMPLE)
async def list_joined_channels(context: Context) -> JoinedChannelsResponse:
    """List what your accounts have joined.

    The list is the one that was last read; `POST /channels/joined` asks for a newer one.
    """
    return _response(await list_joined(stores=context.stores, now=context.now), context)


@area.post("/channels/joined", scope=KeyScope.WRITE, example=LIST_EXAMPLE, status=202)
async def read_joined_channels(context: Context) -> JoinedChannelsResponse:
    """Ask your accounts for what they have joined.

    Nothing is followed. Each account reads its list within its limits. 409: the lists are on their way, or younger than ten minutes.
    """
    return _response(await ask_for_joined(stores=context.stores, now=context.now), context)


@area.post("/channels/joined/follow", scope=KeyScope.WRITE, example={"items": [FOLLOW_EXAMPLE]}, status=202)
async def follow_joined_channels(context: Context, body: PickRequest) -> FollowResponse:
    """Follow channels from the list.

    This needs no request to Telegram. A channel that is not in the list is refused, and does not affect the others.
    """
    wanted = Subscription(channel_id=NOT_KNOWN_YET, **body.model_dump(exclude={"channel_ids"}))
    requested = await follow_picked([ChannelId(one) for one in body.channel_ids], wanted, stores=context.stores)
    context.note(channel_ids=list(body.channel_ids))
    return FollowResponse(items=[result_response(one, context) for one in requested])


def _response(joined: JoinedList, context: Context) -> JoinedChannelsResponse:
    return JoinedChannelsResponse(
        items=[
            JoinedChannelResponse(
                channel_id=one.channel_id,
                title=one.title,
                username=one.username,
                is_private=one.is_private,
                is_followed=one.is_followed,
                accounts=list(one.accounts),
                listed_at=one.listed_at,
            )
            for one in joined.channels
        ],
        listed_at=joined.listed_at,
        requests=[request_response(one.status, context) for one in joined.accounts if one.status is not None],
    )
