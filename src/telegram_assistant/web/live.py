"""Counts of new posts, sent to open pages. Never content: what a page shows does not move.

Each page has a stream. Whether a tenant has anything new is asked once for all of its streams; only then each stream counts for itself.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.responses import StreamingResponse

from telegram_assistant.domain.ids import TenantId

POLL_SECONDS = 2.0
SESSION_SECONDS = 4.0
"""An ended session's stream closes within this time."""
SILENCE_SECONDS = 15.0
"""Then a comment is sent, so that proxies keep the connection and a lost browser is noticed."""
MAX_STREAMS = 1000
EVENTS = "text/event-stream"
OVER = "event: over\ndata:\n\n"
"""The session has ended: the page loads itself again, and its reader logs in."""


class LiveHub:
    """One per process."""

    def __init__(self) -> None:
        self._states: dict[TenantId, tuple[float, asyncio.Future[int]]] = {}
        self._closing = asyncio.Event()
        self.streams = 0

    def close(self) -> None:
        """Ends all streams."""
        self._closing.set()

    async def state(self, tenant_id: TenantId, ask: Callable[[], Awaitable[int]]) -> int:
        """A number that changes when the tenant's channels get new posts. Asked at most once per POLL_SECONDS."""
        asked_at, state = self._states.get(tenant_id, (0.0, None))
        if state is None or time.monotonic() - asked_at >= POLL_SECONDS:
            self._forget_old()
            state = asyncio.ensure_future(ask())
            self._states[tenant_id] = (time.monotonic(), state)
        return await asyncio.shield(state)

    async def pause(self) -> bool:
        """Waits for the next turn. Returns False if the streams must end."""
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._closing.wait()
        except TimeoutError:
            return True
        return False

    def _forget_old(self) -> None:
        now = time.monotonic()
        self._states = {tenant: known for tenant, known in self._states.items() if now - known[0] < POLL_SECONDS or not known[1].done()}


async def live_counts(
    hub: LiveHub,
    tenant_id: TenantId,
    *,
    ask_state: Callable[[], Awaitable[int]],
    count: Callable[[], Awaitable[str]],
    is_valid: Callable[[], Awaitable[bool]],
) -> AsyncIterator[str]:
    """Server-sent events: `new` with a sentence for the page, `over` when the session has ended."""
    hub.streams += 1
    try:
        said, state, checked_at, spoken_at = "", -1, time.monotonic(), time.monotonic()
        yield ": hello\n\n"
        while await hub.pause():
            if time.monotonic() - checked_at >= SESSION_SECONDS:
                checked_at = time.monotonic()
                if not await is_valid():
                    yield OVER
                    return
            found = await hub.state(tenant_id, ask_state)
            if found != state:
                state, sentence = found, await count()
                if sentence != said:
                    said, spoken_at = sentence, time.monotonic()
                    yield f"event: new\ndata: {said}\n\n"
            if time.monotonic() - spoken_at >= SILENCE_SECONDS:
                spoken_at = time.monotonic()
                yield ": still here\n\n"
    finally:
        hub.streams -= 1


def stream(events: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(events, media_type=EVENTS, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
