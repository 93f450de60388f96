"""Watches: what the tenant wants to be told about."""

from datetime import datetime, time
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

from fastapi import Path, Query
from pydantic import AfterValidator, ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import RequestModel, ResponseModel, Storable
from telegram_assistant.domain.search.parsing import MAX_CHARACTERS
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.watches.watch import (
    MAX_NAME_LETTERS,
    MAX_SILENT_HOURS,
    MAX_STORY_POSTS,
    AlertKind,
    AlertSeverity,
    Watch,
    WatchKind,
    WatchOptions,
    WatchTarget,
)
from telegram_assistant.features.watches import previews, watches
from telegram_assistant.settings import check_zone

area = Area("Watches", "What the tenant wants to be told about. A watch raises one alert per story.")

EXAMPLE = {
    "watch_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f11",
    "name": "Snow in the underground",
    "kind": "words",
    "query": "снег метро -реклама",
    "hours": None,
    "posts": None,
    "severity": "normal",
    "quiet_from": "22:00:00",
    "quiet_until": "07:00:00",
    "zone": "Europe/Moscow",
    "receivers": ["0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f12"],
    "created_by": "anna",
    "created_at": "2026-11-15T08:00:00Z",
    "paused_at": None,
    "alerts": 14,
    "unread": 2,
    "recent": 3,
    "recent_days": [0, 1, 0, 0, 2, 0, 0],
}
PREVIEW_EXAMPLE = {
    "days": 30,
    "count": 14,
    "is_complete": True,
    "items": [
        {
            "kind": "posted",
            "happened_at": "2026-11-15T08:00:00Z",
            "channel_id": 1234567890,
            "post_id": "1234567890/42",
            "channel": "City news",
            "link": "https://t.me/citynews/42",
            "text": "Snow closes two stations",
        }
    ],
    "trouble": None,
}
WatchId = Annotated[
    UUID, Path(description="`watch_id` of the watch.", examples=["0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f11"])
]
ZoneName = Annotated[Storable, Field(max_length=64), AfterValidator(check_zone)]


class WatchRequest(RequestModel):
    """A watch. `query` is in the query language of search, without days; `hours` is for silence, `posts` for
    stories.

    Outside of quiet hours, and for critical alerts always, alerts go to the receivers at once.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "Snow",
                    "query": "снег",
                    "quiet_from": "22:00",
                    "quiet_until": "07:00",
                    "zone": "Europe/Moscow",
                }
            ]
        }
    )

    name: Annotated[Storable, Field(min_length=1, max_length=MAX_NAME_LETTERS)]
    kind: WatchKind = WatchKind.WORDS
    query: Annotated[Storable, Field(max_length=MAX_CHARACTERS)] = ""
    hours: Annotated[int, Field(ge=1, le=MAX_SILENT_HOURS)] | None = None
    posts: Annotated[int, Field(ge=2, le=MAX_STORY_POSTS)] | None = None
    severity: AlertSeverity = AlertSeverity.NORMAL
    quiet_from: time | None = None
    quiet_until: time | None = None
    zone: ZoneName = "UTC"
    receivers: Annotated[list[UUID], Field(max_length=50)] = Field(default_factory=list)

    def target(self) -> WatchTarget:
        return WatchTarget(kind=self.kind, query=self.query, hours=self.hours, posts=self.posts)

    def options(self) -> WatchOptions:
        quiet = watches.quiet_hours(_plain(self.quiet_from), _plain(self.quiet_until))
        return WatchOptions(
            severity=self.severity,
            quiet=quiet,
            zone=self.zone,
            receivers=tuple(dict.fromkeys(self.receivers)),
        )


class WatchResponse(ResponseModel):
    """A watch. `alerts` counts what it has raised, `unread` what nobody has seen yet,
    `recent` what it has raised about the last seven days.
    """

    watch_id: UUID
    name: str
    kind: WatchKind
    query: str
    hours: int | None
    posts: int | None
    severity: AlertSeverity
    quiet_from: time | None
    quiet_until: time | None
    zone: str
    receivers: list[UUID]
    created_by: str
    created_at: datetime
    paused_at: datetime | None
    alerts: int
    unread: int
    recent: int
    recent_days: list[int] = Field(
        description="`recent` by the last seven times 24 hours, the newest at the end."
    )


class WatchesResponse(ResponseModel):
    """All watches of the tenant, by name."""

    items: list[WatchResponse]


class PreviewLineResponse(ResponseModel):
    """An alert that the watch would have raised. `post_id` is null for a silence."""

    kind: AlertKind
    happened_at: datetime
    channel_id: int
    post_id: str | None
    channel: str
    link: str
    text: str


class WatchPreviewResponse(ResponseModel):
    """How often the watch would have fired, and the newest of those alerts.

    `trouble` says why there is no preview.
    """

    days: int
    count: int
    is_complete: bool = Field(description="False: there would have been more alerts than `count`.")
    items: list[PreviewLineResponse]
    trouble: str | None


@area.get("/watches", scope=KeyScope.READ, example={"items": [EXAMPLE]})
async def list_watches(context: Context) -> WatchesResponse:
    """List all watches."""
    own_watches = await watches.list_watches(stores=context.stores)
    return WatchesResponse(items=[watch_response(watch) for watch in own_watches])


@area.post("/watches", scope=KeyScope.WRITE, example=EXAMPLE, status=201, also=(404,))
async def create_watch(context: Context, body: WatchRequest) -> WatchResponse:
    """Create a watch. It looks at what happens from now on."""
    context.note(name=body.name, kind=body.kind)
    created_watch = await watches.create_watch(
        body.name,
        body.target(),
        body.options(),
        stores=context.stores,
        created_by=context.caller.actor,
        now=context.now,
        zone=ZoneInfo(body.zone),
    )
    return watch_response(created_watch)


@area.get("/watches/preview", scope=KeyScope.READ, example=PREVIEW_EXAMPLE, is_expensive=True)
async def preview_watch(
    context: Context,
    kind: Annotated[WatchKind, Query(description="What the watch looks for.")] = WatchKind.WORDS,
    query: Annotated[
        Storable,
        Query(max_length=MAX_CHARACTERS, description="In the query language of search, without days."),
    ] = "",
    hours: Annotated[
        int | None,
        Query(ge=1, le=MAX_SILENT_HOURS, description="For silence: how long a channel must be silent."),
    ] = None,
    posts: Annotated[
        int | None,
        Query(ge=2, le=MAX_STORY_POSTS, description="For stories: how many posts a story must have."),
    ] = None,
) -> WatchPreviewResponse:
    """Count the alerts that a watch would have raised in the last 30 days, without saving it."""
    preview = await previews.preview_watch(
        WatchTarget(kind=kind, query=query, hours=hours, posts=posts),
        tenant_id=context.caller.tenant_id,
        stores=context.stores,
        index=context.app.meaning_search,
        now=context.now,
        zone=ZoneInfo(context.app.settings.telemetry.time_zone),
    )
    return _preview_response(preview, trouble=context.translate(preview.trouble))


@area.get("/watches/{watch_id}", scope=KeyScope.READ, example=EXAMPLE)
async def get_watch(context: Context, watch_id: WatchId) -> WatchResponse:
    """Return one watch."""
    return watch_response(await watches.find_watch(watch_id, stores=context.stores))


@area.put("/watches/{watch_id}", scope=KeyScope.WRITE, example=EXAMPLE)
async def change_watch(context: Context, watch_id: WatchId, body: WatchRequest) -> WatchResponse:
    """Replace a watch. Its alerts stay; from now on it looks for what the request says."""
    context.note(name=body.name, kind=body.kind)
    zone = ZoneInfo(body.zone)
    changed_watch = await watches.change_watch(
        watch_id, body.name, body.target(), body.options(), stores=context.stores, now=context.now, zone=zone
    )
    return watch_response(changed_watch)


@area.post(
    "/watches/{watch_id}/pause", scope=KeyScope.WRITE, example=EXAMPLE | {"paused_at": "2026-11-15T09:00:00Z"}
)
async def pause_watch(context: Context, watch_id: WatchId) -> WatchResponse:
    """Pause a watch. Events during the pause raise no alert later."""
    return watch_response(await watches.pause_watch(watch_id, stores=context.stores, is_paused=True))


@area.post("/watches/{watch_id}/resume", scope=KeyScope.WRITE, example=EXAMPLE)
async def resume_watch(context: Context, watch_id: WatchId) -> WatchResponse:
    """Resume a paused watch."""
    return watch_response(await watches.pause_watch(watch_id, stores=context.stores, is_paused=False))


@area.delete("/watches/{watch_id}", scope=KeyScope.WRITE)
async def delete_watch(context: Context, watch_id: WatchId) -> None:
    """Delete a watch with its alerts."""
    await watches.delete_watch(watch_id, stores=context.stores)


def watch_response(watch: Watch) -> WatchResponse:
    target, options = watch.target, watch.options
    return WatchResponse(
        watch_id=watch.watch_id,
        name=watch.name,
        kind=target.kind,
        query=target.query,
        hours=target.hours,
        posts=target.posts,
        severity=options.severity,
        quiet_from=options.quiet.begins if options.quiet else None,
        quiet_until=options.quiet.ends if options.quiet else None,
        zone=options.zone,
        receivers=list(options.receivers),
        created_by=watch.created_by,
        created_at=watch.created_at,
        paused_at=watch.paused_at,
        alerts=watch.alerts,
        unread=watch.unread,
        recent=watch.recent,
        recent_days=list(watch.recent_days),
    )


def _preview_response(preview: previews.WatchPreview, *, trouble: str | None) -> WatchPreviewResponse:
    return WatchPreviewResponse(
        days=preview.days,
        count=preview.count,
        is_complete=preview.is_complete,
        items=[
            PreviewLineResponse(
                kind=line.kind,
                happened_at=line.happened_at,
                channel_id=line.channel_id,
                post_id=None if line.post_id is None else str(line.post_id),
                channel=line.channel,
                link=line.link,
                text=line.text,
            )
            for line in preview.lines
        ],
        trouble=trouble,
    )


def _plain(moment: time | None) -> time | None:
    """The time of day without an offset: the zone is a field of its own."""
    return None if moment is None else moment.replace(tzinfo=None)
