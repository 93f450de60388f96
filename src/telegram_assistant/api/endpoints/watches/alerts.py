"""Alerts that watches have raised."""

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    CursorText,
    Limit,
    Moment,
    PageResponse,
    RequestModel,
    ResponseModel,
    read_moment_cursor,
    write_moment_cursor,
)
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.watches.alert_schema import AlertResponse, alert_response
from telegram_assistant.features.watches.alerts import newest_alerts, see_alerts

area = Area("Alerts", "What watches have found. A post's text is shown as the tenant sees it now.")

EXAMPLE = {
    "alert_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f13",
    "watch_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f11",
    "watch": "Snow in the underground",
    "kind": "posted",
    "severity": "normal",
    "happened_at": "2026-11-15T08:00:00Z",
    "created_at": "2026-11-15T08:00:03Z",
    "seen_at": None,
    "seen_by": None,
    "channel_id": 1234567890,
    "channel": "City news",
    "post_id": "1234567890/42",
    "story_id": "1234567890/40",
    "link": "https://t.me/citynews/42",
    "text": "Snow closes two stations. Trains turn at the third.",
    "headline": "Snow closes two stations.",
    "matches": ["Snow", "stations"],
    "watch_kind": "words",
    "watch_query": "snow station",
}


class AlertsResponse(PageResponse):
    """A page of alerts, newest first."""

    items: list[AlertResponse]


class SeenRequest(RequestModel):
    """The alerts that were seen. Without `alert_ids`, all alerts that were raised until `until`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"alert_ids": ["0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f13"]}]}
    )

    alert_ids: Annotated[list[UUID], Field(max_length=1000)] | None = None
    until: Moment | None = None


class SeenResponse(ResponseModel):
    """How many of them were unread."""

    seen: int


@area.get("/alerts", scope=KeyScope.READ, example={"items": [EXAMPLE], "next": None})
async def list_alerts(
    context: Context,
    watch_id: Annotated[UUID | None, Query(description="Only alerts of this watch.")] = None,
    unread: Annotated[  # noqa: FBT002 -- a query parameter
        bool, Query(description="Only alerts that nobody has seen.")
    ] = False,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> AlertsResponse:
    """List alerts, newest first."""
    page = await newest_alerts(
        stores=context.stores,
        limit=limit,
        watch_id=watch_id,
        unread_only=unread,
        after=read_moment_cursor(cursor),
    )
    return AlertsResponse(
        items=[alert_response(alert, page.stories) for alert in page.alerts],
        next=write_moment_cursor(page.next),
    )


@area.post("/alerts/seen", scope=KeyScope.WRITE, example={"seen": 2})
async def see_alerts_of_tenant(context: Context, body: SeenRequest) -> SeenResponse:
    """Mark alerts as seen, for everybody in the tenant."""
    seen_count = await see_alerts(
        body.alert_ids, stores=context.stores, by=context.caller.actor, until=body.until or context.now
    )
    return SeenResponse(seen=seen_count)
