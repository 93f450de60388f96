"""Requests to follow channels: their state, why they wait, and for how long."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from telegram_assistant.domain.channels.channel_requests import (
    TAKEN,
    TOO_MANY,
    Expectation,
    RequestFate,
    RequestKind,
    RequestState,
    expect,
)
from telegram_assistant.domain.timestamps import MomentCursor
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.channel_requests import (
    ChannelRequest,
    ChannelRequests,
)
from telegram_assistant.stores.postgres.channels.request_fates import RequestFates


@dataclass(frozen=True, slots=True)
class RequestStatus:
    """A request; while it is open, with its expected course."""

    request: ChannelRequest
    expected: Expectation | None

    @property
    def reason(self) -> Reason | None:
        """Why it waits, or its outcome."""
        return self.expected.reason if self.expected else self.request.outcome


@dataclass(frozen=True, slots=True)
class RequestPage:
    """A page of requests, newest first; `next` is None on the last page."""

    requests: tuple[RequestStatus, ...]
    next: MomentCursor | None


@dataclass(frozen=True, slots=True)
class WaitingKind:
    """The open requests of one kind, with the expected course of the first and the last of them."""

    kind: RequestKind
    requests: int
    first: Expectation
    last: Expectation


@dataclass(frozen=True, slots=True)
class FateSummary:
    """How many requests have each fate, and when the last waiting one is expected to be answered; None:
    unknown.
    """

    counts: Mapping[RequestFate, int]
    expected_end: datetime | None

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def waiting(self) -> int:
        return self.counts[RequestFate.WAITING]


async def summarize_fates(*, requests: ChannelRequests, fates: RequestFates, now: datetime) -> FateSummary:
    counts = await fates.counts()
    waiting_kinds = await waiting_requests(requests=requests, now=now) if counts[RequestFate.WAITING] else ()
    ends = [status.last.estimated_end for status in waiting_kinds]
    known_ends = [end for end in ends if end is not None]
    return FateSummary(counts, max(known_ends) if known_ends and len(known_ends) == len(ends) else None)


async def list_requests(
    wanted_state: RequestState | RequestFate | None,
    *,
    requests: ChannelRequests,
    now: datetime,
    limit: int,
    before: MomentCursor | None = None,
) -> RequestPage:
    state = wanted_state.state if isinstance(wanted_state, RequestFate) else wanted_state
    was_followed = (
        wanted_state is RequestFate.ALREADY_FOLLOWED
        if isinstance(wanted_state, RequestFate) and state is RequestState.DONE
        else None
    )
    channel_requests = await requests.page(state, limit=limit + 1, before=before, was_followed=was_followed)
    page = channel_requests[:limit]
    next_cursor = (
        MomentCursor(page[-1].created_at, page[-1].request_id) if len(channel_requests) > limit else None
    )
    return RequestPage(await _statuses(page, requests=requests, now=now), next_cursor)


async def get_request(request_id: UUID, *, requests: ChannelRequests, now: datetime) -> RequestStatus:
    statuses = await some_requests([request_id], requests=requests, now=now)
    if not statuses:
        raise Missing(Reason("request_unknown", "there is no such request"))
    return statuses[0]


async def some_requests(
    request_ids: Collection[UUID], *, requests: ChannelRequests, now: datetime
) -> tuple[RequestStatus, ...]:
    return await _statuses(await requests.some(request_ids), requests=requests, now=now)


async def try_again(
    request_id: UUID, *, requests: ChannelRequests, fates: RequestFates, now: datetime
) -> RequestStatus:
    """Opens a failed request again, behind the tenant's other requests.

    Returns the open request for its reference.
    """
    failed_status = await get_request(request_id, requests=requests, now=now)
    if failed_status.request.state is not RequestState.FAILED:
        raise Conflicting(
            Reason("request_not_failed", "this request did not fail; only failed requests can be tried again")
        )
    if not failed_status.request.may_try_again:
        raise Conflicting(
            Reason("line_cannot_be_tried_again", "this line has no channel; correct it and add it again")
        )
    if await fates.try_again(request_id):
        return await get_request(request_id, requests=requests, now=now)
    merged_id = await requests.open_like(failed_status.request)
    if merged_id is None:
        raise Rejected(TOO_MANY)
    return await get_request(merged_id, requests=requests, now=now)


async def try_all_again(*, fates: RequestFates) -> int:
    """Opens all failed requests again; returns how many. Lines that name no channel stay as they are."""
    return await fates.try_again()


async def waiting_requests(*, requests: ChannelRequests, now: datetime) -> tuple[WaitingKind, ...]:
    """Returns the waiting requests by kind."""
    waiting = await requests.waiting()
    if not waiting:
        return ()
    capacity = await requests.capacity()
    at = partial(expect, capacity=capacity, now=now)
    return tuple(WaitingKind(kind, count, at(kind, 1), at(kind, count)) for kind, count in waiting.items())


async def _statuses(
    channel_requests: Collection[ChannelRequest], *, requests: ChannelRequests, now: datetime
) -> tuple[RequestStatus, ...]:
    if all(request.position is None for request in channel_requests):
        return tuple(RequestStatus(request, None) for request in channel_requests)
    capacity = await requests.capacity()

    def estimate_request(request: ChannelRequest) -> Expectation | None:
        if request.position is None:
            return None
        if request.next_try_at > now:  # an account is serving it, or has postponed it
            return Expectation(request.outcome or TAKEN, request.next_try_at, max(request.next_try_at, now))
        return expect(request.kind, request.position, capacity, now=now)

    return tuple(RequestStatus(request, estimate_request(request)) for request in channel_requests)
