"""Requests to follow channels, and what becomes of them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from pydantic import Field, TypeAdapter

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import CursorText, Limit, Micros, PageResponse, ResponseModel, cursor_text, read_cursor
from telegram_assistant.domain.channels.channel_requests import RequestKind, RequestState
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.timestamps import micros, moment
from telegram_assistant.features.channels.channel_requests import RequestStatus, get_request, list_requests
from telegram_assistant.stores.postgres.channels.channel_requests import RequestCursor

area = Area("Channel requests", "Channels that you have asked for, until an account or a public preview has found them, and the outcome.")

CURSOR = TypeAdapter(tuple[Micros, UUID])
REQUEST_EXAMPLE = {
    "request_id": "6f6e2d5e-3f0f-4a7e-9a75-0b6d5a1f2c3d",
    "reference": "@citynews",
    "kind": "username",
    "state": "open",
    "reason": "the account has used up its name look-ups for now",
    "next_try_at": "2026-11-15T08:01:30Z",
    "estimated_end": "2026-11-15T08:10:30Z",
    "channel_id": None,
    "created_at": "2026-11-15T08:00:00Z",
    "answered_at": None,
}
RequestId = Annotated[UUID, Path(description="`request_id` of the request.", examples=["6f6e2d5e-3f0f-4a7e-9a75-0b6d5a1f2c3d"])]


class ChannelRequestResponse(ResponseModel):
    """A request to follow. Secrets of invitations are shortened."""

    request_id: UUID
    reference: str
    kind: RequestKind
    state: RequestState
    reason: str | None = Field(description="While it is open, why it waits; then what was found, or why it failed.")
    next_try_at: datetime | None = Field(description="When it is tried next; null: it is answered, or nobody can say.")
    estimated_end: datetime | None = Field(
        description="When it is answered if nothing changes, by the budget of the accounts and its place in the queue; null: nobody can say."
    )
    channel_id: int | None = Field(description="The channel that was found, if it was one.")
    created_at: datetime
    answered_at: datetime | None


class ChannelRequestsResponse(PageResponse):
    """A page of requests, newest first."""

    items: list[ChannelRequestResponse]


@area.get("/channels/requests", scope=KeyScope.READ, example={"items": [REQUEST_EXAMPLE], "next": None})
async def list_channel_requests(
    context: Context,
    state: Annotated[RequestState | None, Query(description="Only these.")] = None,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> ChannelRequestsResponse:
    """Requests to follow, open and answered.

    Names are looked up in fair turns with other tenants, within what Telegram allows an account: about 100 a day. Folders and
    invitations have their own limits and do not wait for names. Answered requests are kept for 30 days.
    """
    page = await list_requests(state, requests=context.stores.requests, now=context.now, limit=limit, before=_cursor(cursor))
    return ChannelRequestsResponse(items=[_response(one) for one in page.requests], next=_text(page.next) if page.next else None)


@area.get("/channels/requests/{request_id}", scope=KeyScope.READ, example=REQUEST_EXAMPLE)
async def get_channel_request(context: Context, request_id: RequestId) -> ChannelRequestResponse:
    """One request to follow."""
    return _response(await get_request(request_id, requests=context.stores.requests, now=context.now))


def _response(status: RequestStatus) -> ChannelRequestResponse:
    request, expected = status.request, status.expected
    return ChannelRequestResponse(
        request_id=request.request_id,
        reference=request.shown,
        kind=request.kind,
        state=request.state,
        reason=status.reason,
        next_try_at=expected.next_try_at if expected else None,
        estimated_end=expected.estimated_end if expected else None,
        channel_id=request.channel_id,
        created_at=request.created_at,
        answered_at=request.answered_at,
    )


def _cursor(text: str | None) -> RequestCursor | None:
    read = read_cursor(text, CURSOR)
    return None if read is None else RequestCursor(moment(read[0]), read[1])


def _text(cursor: RequestCursor) -> str:
    return cursor_text(micros(cursor.created_at), str(cursor.request_id))
