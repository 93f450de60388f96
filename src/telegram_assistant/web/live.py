"""Counts of new posts, sent to open pages. Never content: what a page shows does not move.

Each page has a stream. Whether a tenant has anything new is asked once for all of its streams; only then each
stream counts for itself.

A new stream is never refused. If a person, a tenant or the process has too many, it takes the place of an
older one of those who have most, and the page of that one asks again every minute.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.responses import StreamingResponse

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.telemetry.metrics import STREAMS_CLOSED

POLL_SECONDS = 2.0
SESSION_SECONDS = 4.0
"""An ended session's stream closes within this time."""
SILENCE_SECONDS = 15.0
"""Then a comment is sent, so that proxies keep the connection and a lost browser is noticed."""
MAX_STREAMS, MAX_STREAMS_PER_TENANT, MAX_STREAMS_PER_PERSON = 1000, 250, 10
AGAIN_MILLISECONDS = 60_000
EVENT_STREAM = "text/event-stream"
OVER_EVENT = "event: over\ndata:\n\n"
"""The session has ended: the page loads itself again, and its reader logs in."""
DISPLACED_EVENT = f"retry: {AGAIN_MILLISECONDS}\n\n"
"""Tells the browser to connect again only after a while.

Without it, it would displace the next one after three seconds.
"""


@dataclass(frozen=True, slots=True, eq=False)
class LiveStream:
    """One open stream."""

    tenant_id: TenantId
    user_id: UserId
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def pause(self) -> bool:
        """Waits for the next turn. Returns False if the stream must end."""
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self.ended.wait()
        except TimeoutError:
            return True
        return False


class LiveHub:
    """One per process."""

    def __init__(self) -> None:
        self._states: dict[TenantId, tuple[float, asyncio.Future[int]]] = {}
        self._streams: dict[LiveStream, None] = {}
        """The oldest first."""
        self._is_closing = False

    def close(self) -> None:
        """Ends all streams."""
        self._is_closing = True
        for stream in self._streams:
            stream.ended.set()

    @contextmanager
    def open_stream(self, tenant_id: TenantId, user_id: UserId) -> Iterator[LiveStream]:
        """A stream inside the block. It takes the place of an older one if there are too many."""
        self._make_room(tenant_id, user_id)
        stream = LiveStream(tenant_id, user_id)
        self._streams[stream] = None
        if self._is_closing:
            stream.ended.set()
        try:
            yield stream
        finally:
            self._streams.pop(stream, None)

    def _make_room(self, tenant_id: TenantId, user_id: UserId) -> None:
        by_tenant = Counter(stream.tenant_id for stream in self._streams)
        of_person = [stream for stream in self._streams if stream.user_id == user_id]
        if len(of_person) >= MAX_STREAMS_PER_PERSON:
            self._displace(of_person[0], limit="person")
        elif by_tenant[tenant_id] >= MAX_STREAMS_PER_TENANT:
            self._displace(self._oldest_of_greediest(tenant_id), limit="tenant")
        elif len(self._streams) >= MAX_STREAMS:
            self._displace(self._oldest_of_greediest(by_tenant.most_common(1)[0][0]), limit="process")

    def _oldest_of_greediest(self, tenant_id: TenantId) -> LiveStream:
        """The oldest stream of the person of this tenant who has most."""
        streams = [stream for stream in self._streams if stream.tenant_id == tenant_id]
        [(user_id, _)] = Counter(stream.user_id for stream in streams).most_common(1)
        return next(stream for stream in streams if stream.user_id == user_id)

    def _displace(self, stream: LiveStream, *, limit: str) -> None:
        del self._streams[stream]
        stream.ended.set()
        STREAMS_CLOSED.labels(limit).inc()

    def is_displaced(self, stream: LiveStream) -> bool:
        return stream not in self._streams

    async def state(self, tenant_id: TenantId, ask: Callable[[], Awaitable[int]]) -> int:
        """A number that changes when the tenant's channels get new posts.

        Asked at most once per POLL_SECONDS.
        """
        asked_at, state = self._states.get(tenant_id, (0.0, None))
        if state is None or time.monotonic() - asked_at >= POLL_SECONDS:
            self._forget_old()
            state = asyncio.ensure_future(ask())
            self._states[tenant_id] = (time.monotonic(), state)
        return await asyncio.shield(state)

    def _forget_old(self) -> None:
        now = time.monotonic()
        self._states = {
            tenant_id: state
            for tenant_id, state in self._states.items()
            if now - state[0] < POLL_SECONDS or not state[1].done()
        }


async def live_counts(
    hub: LiveHub,
    tenant_id: TenantId,
    user_id: UserId,
    *,
    ask_state: Callable[[], Awaitable[int]],
    count: Callable[[], Awaitable[str]],
    is_valid: Callable[[], Awaitable[bool]],
) -> AsyncIterator[str]:
    """Server-sent events: `new` with a sentence for the page, `over` when the session has ended."""
    with hub.open_stream(tenant_id, user_id) as opened_stream:
        last_sentence, last_state, checked_at, spoken_at = "", -1, time.monotonic(), time.monotonic()
        yield ": hello\n\n"
        while await opened_stream.pause():
            if time.monotonic() - checked_at >= SESSION_SECONDS:
                checked_at = time.monotonic()
                if not await is_valid():
                    yield OVER_EVENT
                    return
            state = await hub.state(tenant_id, ask_state)
            if state != last_state:
                last_state, sentence = state, await count()
                if sentence != last_sentence:
                    last_sentence, spoken_at = sentence, time.monotonic()
                    yield f"event: new\ndata: {sentence}\n\n"
            if time.monotonic() - spoken_at >= SILENCE_SECONDS:
                spoken_at = time.monotonic()
                yield ": still here\n\n"
        if hub.is_displaced(opened_stream):
            yield DISPLACED_EVENT


def stream(events: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(
        events, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )
