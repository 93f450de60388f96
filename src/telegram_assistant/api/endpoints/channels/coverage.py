"""Coverage: how complete the followed channels are."""

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import TypeAdapter

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    ChannelNumber,
    CursorText,
    Id,
    Limit,
    PageResponse,
    ResponseModel,
    read_cursor,
    write_cursor,
)
from telegram_assistant.domain.channels.coverage import CoverageState, IdRange
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.channels.coverage import (
    CoveragePlace,
    FullCoverage,
    coverage_of_all,
    describe_coverage,
    load_coverage,
)
from telegram_assistant.stores.postgres.channels.coverage import ChannelCoverage, Coverage

area = Area("Coverage", "Which message ids are verified as read, which are missing, and why.")

CURSOR = TypeAdapter(tuple[str, Id])
LINE_EXAMPLE = {
    "channel_id": 1234567890,
    "title": "City news",
    "state": "complete",
    "complete": True,
    "why": "",
    "until": None,
    "floor_at": "2026-11-08T00:00:00Z",
    "newest_posted_at": "2026-11-15T08:00:00Z",
    "checked_at": "2026-11-15T08:05:00Z",
    "missing_ids": 0,
    "summary": "Complete: everything posted since 2026-11-08 is stored; last checked 2026-11-15 08:05.",
}


class CoverageSummaryResponse(ResponseModel):
    """The coverage of one channel. `summary` describes it in a sentence.

    `until` is when the state may change by itself; for an unreadable channel, when it became unreadable.
    `floor_at` is the time from which the channel is to be complete for you; null: from its first post.
    """

    channel_id: int
    title: str
    state: CoverageState
    complete: bool
    why: str
    until: datetime | None
    floor_at: datetime | None
    newest_posted_at: datetime | None
    checked_at: datetime | None
    missing_ids: int
    summary: str


class CoverageResponse(PageResponse):
    """A page of channels ordered by title.

    `complete`, `states` and `missing_ids` cover all followed channels, whatever the filter.
    """

    items: list[CoverageSummaryResponse]
    complete: bool
    states: dict[CoverageState, int]
    missing_ids: int


class CoverageRangeResponse(ResponseModel):
    """Message ids from `low` to `high`, both included."""

    low: int
    high: int


class CoverageLedgerResponse(ResponseModel):
    """The verified and the missing message ids, newest first; at most 1,000 ranges of each kind."""

    floor_id: int
    newest_id: int
    verified_at: datetime
    verified: list[CoverageRangeResponse]
    gaps: list[CoverageRangeResponse]


class ChannelCoverageResponse(ResponseModel):
    """A channel with its ledger. `ledger` is null until an account has read the channel."""

    channel: CoverageSummaryResponse
    ledger: CoverageLedgerResponse | None


@area.get(
    "/coverage",
    scope=KeyScope.READ,
    example={
        "items": [LINE_EXAMPLE],
        "next": None,
        "complete": True,
        "states": {"complete": 1, "filling": 0, "missing": 0, "waiting": 0, "unreadable": 0, "preview": 0},
        "missing_ids": 0,
    },
)
async def list_coverage(
    context: Context,
    state: Annotated[
        list[CoverageState] | None,
        Query(description="Only channels in one of these states.", max_length=len(CoverageState)),
    ] = None,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> CoverageResponse:
    """List how complete each followed channel is, and why posts are missing."""
    position = read_cursor(cursor, CURSOR)
    after_place = CoveragePlace(position[0], ChannelId(position[1])) if position else None
    page = await coverage_of_all(stores=context.stores, states=state or (), limit=limit, after=after_place)
    return CoverageResponse(
        items=[coverage_response(channel, context) for channel in page.channels],
        next=write_cursor(page.next.title, page.next.channel_id) if page.next else None,
        complete=page.complete,
        states=dict(page.states),
        missing_ids=page.missing_ids,
    )


@area.get(
    "/channels/{channel_id}/coverage",
    scope=KeyScope.READ,
    example={
        "channel": LINE_EXAMPLE,
        "ledger": {
            "floor_id": 1,
            "newest_id": 42,
            "verified_at": "2026-11-15T08:05:00Z",
            "verified": [{"low": 1, "high": 42}],
            "gaps": [],
        },
    },
)
async def get_channel_coverage(context: Context, channel_id: ChannelNumber) -> ChannelCoverageResponse:
    """Get the verified and the missing message ids of a channel."""
    return _in_full(await load_coverage(ChannelId(channel_id), stores=context.stores), context)


def _in_full(coverage: FullCoverage, context: Context) -> ChannelCoverageResponse:
    return ChannelCoverageResponse(
        channel=coverage_response(coverage.channel, context),
        ledger=_ledger(coverage.ledger) if coverage.ledger else None,
    )


def coverage_response(coverage: ChannelCoverage, context: Context) -> CoverageSummaryResponse:
    return CoverageSummaryResponse(
        channel_id=coverage.channel_id,
        title=coverage.title,
        state=coverage.status.state,
        complete=coverage.status.state is CoverageState.COMPLETE,
        why=context.translate(coverage.status.why) or "",
        until=coverage.status.until,
        floor_at=coverage.floor_at,
        newest_posted_at=coverage.newest_posted_at,
        checked_at=coverage.last_polled_at,
        missing_ids=coverage.missing_ids,
        summary=context.translate(describe_coverage(coverage)),
    )


def _ledger(ledger: Coverage) -> CoverageLedgerResponse:
    return CoverageLedgerResponse(
        floor_id=ledger.floor_id,
        newest_id=ledger.newest_id,
        verified_at=ledger.verified_at,
        verified=[_range(verified_range) for verified_range in ledger.verified],
        gaps=[_range(gap) for gap in ledger.gaps],
    )


def _range(id_range: IdRange) -> CoverageRangeResponse:
    return CoverageRangeResponse(low=id_range.low, high=id_range.high)
