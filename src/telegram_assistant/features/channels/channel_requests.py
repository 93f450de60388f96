"""Requests to follow channels: their state, why they wait, and for how long."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from telegram_assistant.domain.channels.channel_requests import TAKEN, Expectation, RequestKind, RequestState, expect
from telegram_assistant.errors import Missing
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.channel_requests import ChannelRequest, ChannelRequests, RequestCursor


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
    next: RequestCursor | None


@dataclass(frozen=True, slots=True)
class WaitingKind:
    """The open requests of one kind, with the expected course of the first and the last of them."""

    kind: RequestKind
    requests: int
    first: Expectation
    last: Expectation


async def list_requests(
    state: RequestState | None, *, requests: ChannelRequests, now: datetime, limit: int, before: RequestCursor | None = None
) -> RequestPage:
    found = await requests.page(state, limit=limit + 1, before=before)
    shown = found[:limit]
    more = RequestCursor(shown[-1].created_at, shown[-1].request_id) if len(found) > limit else None
    return RequestPage(await _statuses(shown, requests=requests, now=now), more)


async def get_request(request_id: UUID, *, requests: ChannelRequests, now: datetime) -> RequestStatus:
    found = await some_requests([request_id], requests=requests, now=now)
    if not found:
        raise Missing(Reason("request_unknown", "there is no such request"))
    return found[0]


async def some_requests(request_ids: Collection[UUID], *, requests: ChannelRequests, now: datetime) -> tuple[RequestStatus, ...]:
    return await _statuses(await requests.some(request_ids), requests=requests, now=now)


async def waiting_requests(*, requests: ChannelRequests, now: datetime) -> tuple[WaitingKind, ...]:
    """Returns the waiting requests by kind."""
    waiting = await requests.waiting()
    if not waiting:
        return ()
    capacity = await requests.capacity()
    at = partial(expect, capacity=capacity, now=now)
    return tuple(WaitingKind(kind, count, at(kind, 1), at(kind, count)) for kind, count in waiting.items())


async def _statuses(found: Collection[ChannelRequest], *, requests: ChannelRequests, now: datetime) -> tuple[RequestStatus, ...]:
    if all(one.position is None for one in found):
        return tuple(RequestStatus(one, None) for one in found)
    capacity = await requests.capacity()

    def expected(one: ChannelRequest) -> Expectation | None:
        if one.position is None:
            return None
        if one.next_try_at > now:  # an account is serving it, or has postponed it
            return Expectation(one.outcome or TAKEN, one.next_try_at, max(one.next_try_at, now))
        return expect(one.kind, one.position, capacity, now=now)

    return tuple(RequestStatus(one, expected(one)) for one in found)
