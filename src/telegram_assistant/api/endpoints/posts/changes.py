"""Edits and deletions of published posts."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Annotated

from fastapi import Query
from pydantic import Field, TypeAdapter

from telegram_assistant.api.endpoints.posts.posts import TextPieceResponse
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    MAX_ID,
    CursorText,
    Id,
    Limit,
    Micros,
    Moment,
    PageResponse,
    ResponseModel,
    read_cursor,
    write_cursor,
)
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.meaning import MeaningKind
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.timestamps import micros, moment
from telegram_assistant.features.posts.caught import FIRST_DAY, LAST_DAY, caught_changes
from telegram_assistant.features.posts.changes import DescribedChange, quiet_changes
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.posts.changes import ChangeCursor, ChangeKind, ChangeOrder

area = Area("Quiet changes", "Posts that channels edited or deleted after publishing them.")

CURSOR = TypeAdapter(
    tuple[
        Annotated[int, Field(ge=0, le=MAX_ID)],
        Micros,
        Id,
        Id,
        bool,
        Annotated[int, Field(ge=0, le=2**31 - 1)],
    ]
)
WEEK = timedelta(days=7)


class MeaningChangeResponse(ResponseModel):
    """How the meaning changed: what stood there before and after (empty: it was added, or removed),
    and both as words.
    """

    kind: MeaningKind
    before: str
    after: str
    words: str


class QuietChangeResponse(ResponseModel):
    """One edit or deletion. `changed_at` is when we noticed it, `views` the post's view count before it."""

    post_id: str
    channel: str
    link: str
    kind: ChangeKind
    changed_at: datetime
    posted_at: datetime
    before: str
    after: str
    views: int | None
    difference: list[TextPieceResponse]
    meaning: list[MeaningChangeResponse]


class QuietChangesResponse(PageResponse):
    """A page of changes."""

    items: list[QuietChangeResponse]


EXAMPLE = {
    "post_id": "1234567890/42",
    "channel": "City news",
    "link": "https://t.me/citynews/42",
    "kind": "edited",
    "changed_at": "2026-11-15T09:00:00Z",
    "posted_at": "2026-11-15T08:00:00Z",
    "before": "Bridges open at night",
    "after": "Bridges open at noon",
    "views": 1500,
    "difference": [
        {"change": "same", "text": "Bridges open at "},
        {"change": "removed", "text": "night"},
        {"change": "added", "text": "noon"},
    ],
    "meaning": [],
}


class CaughtChangesResponse(ResponseModel):
    """The quiet changes of a week with the most views, the most viewed first. `until` is the end of it."""

    since: datetime
    until: datetime
    items: list[QuietChangeResponse]


LastDay = Annotated[
    date | None,
    Query(
        ge=FIRST_DAY,
        le=LAST_DAY,
        description="The last of the seven days, in UTC. Default: today.",
    ),
]


@area.get("/changes", scope=KeyScope.READ, example={"items": [EXAMPLE], "next": None})
async def list_changes(
    context: Context,
    since: Annotated[
        Moment | None,
        Query(description="Only changes noticed since this time. Default: the last seven days."),
    ] = None,
    order: Annotated[
        ChangeOrder, Query(description="`newest`, `reach` (most views) or `meaning` (most changed) first.")
    ] = ChangeOrder.NEWEST,
    kind: Annotated[ChangeKind | None, Query(description="Only edits, or only deletions.")] = None,
    meaning: Annotated[MeaningKind | None, Query(description="Only edits that changed this.")] = None,
    channel_id: Annotated[
        Id | None,
        Query(description="Only changes in this channel. The list is empty if you do not follow it."),
    ] = None,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> QuietChangesResponse:
    """List edits with their differences, and deletions with the deleted text."""
    page = await quiet_changes(
        since or context.now - WEEK,
        stores=context.stores,
        order=order,
        kinds=(kind,) if kind else tuple(ChangeKind),
        meanings=(meaning,) if meaning else (),
        channel_ids=None if channel_id is None else [ChannelId(channel_id)],
        limit=limit,
        after=_read_cursor(cursor),
    )
    return QuietChangesResponse(
        items=[_response(change, context.translate) for change in page.changes],
        next=_write_cursor(page.next) if page.next else None,
    )


@area.get(
    "/changes/caught",
    scope=KeyScope.READ,
    example={"since": "2026-11-09T00:00:00Z", "until": "2026-11-16T00:00:00Z", "items": [EXAMPLE]},
)
async def list_caught_changes(context: Context, last_day: LastDay = None) -> CaughtChangesResponse:
    """List the five edits and deletions of a week with the most views.

    Only edits that changed the meaning count, a post counts once, and advertising does not count.
    """
    caught = await caught_changes(last_day or context.now.date(), stores=context.stores)
    return CaughtChangesResponse(
        since=caught.since,
        until=caught.until,
        items=[_response(change, context.translate) for change in caught.changes],
    )


def _response(described_change: DescribedChange, translate: Callable[[Reason], str]) -> QuietChangeResponse:
    change = described_change.change
    return QuietChangeResponse(
        post_id=str(change.post_id),
        channel=described_change.channel,
        link=described_change.link,
        kind=change.kind,
        changed_at=change.changed_at,
        posted_at=change.posted_at,
        before=change.before,
        after=change.after,
        views=change.views,
        difference=[
            TextPieceResponse(change=piece.change, text=piece.text) for piece in described_change.pieces
        ],
        meaning=[
            MeaningChangeResponse(
                kind=meaning.kind, before=meaning.before, after=meaning.after, words=translate(meaning.words)
            )
            for meaning in described_change.meaning
        ],
    )


def _read_cursor(text: str | None) -> ChangeCursor | None:
    position = read_cursor(text, CURSOR)
    if position is None:
        return None
    score, changed_at, channel_id, message_id, is_deletion, revision = position
    return ChangeCursor(
        score, moment(changed_at), ChannelId(channel_id), MessageId(message_id), is_deletion, revision
    )


def _write_cursor(cursor: ChangeCursor) -> str:
    return write_cursor(
        cursor.score,
        micros(cursor.changed_at),
        cursor.channel_id,
        cursor.message_id,
        cursor.is_deletion,
        cursor.revision,
    )
