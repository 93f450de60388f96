"""Entries that wait for a worker of this process: fresh news first, history in small portions and by half of the workers.

So a person's news wait for a little piece of somebody's backfill at most, never for all of it. While others of the stage are at
work a batch that is not full waits a moment for more: a call costs about as much for ten as for one.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterable

from telegram_assistant.domain.lane import Lane
from telegram_assistant.streams.entries import Entry
from telegram_assistant.streams.stage import AnyStage

BULK_SHARE = 8
"""A portion of history is this part of a batch of news."""
NEWS_ARE_RECENT_SECONDS = 1.0
GATHER_SECONDS = 0.05
MAX_REST_SECONDS = 1.0
"""A portion that took longer has waited for a server, not used one."""


class LocalQueue:
    """Between those who read and those who work."""

    def __init__(self, stage: AnyStage) -> None:
        batch = stage.batch or 1
        self._portions = {Lane.LIVE: batch, Lane.BULK: max(batch // BULK_SHARE, 1)}
        self._max_at_bulk = max(stage.concurrency // 2, 1)
        self._at_bulk = 0
        self._lanes: dict[Lane, deque[Entry]] = {lane: deque() for lane in Lane}
        self._at_work = 0
        self._waiting_since = dict.fromkeys(Lane, 0.0)
        self._alarm: asyncio.TimerHandle | None = None
        self._sleeping: deque[asyncio.Future[None]] = deque()
        self._waking = False
        self._closed = False
        self._news_at = 0.0

    def put(self, lane: Lane, entries: Iterable[Entry]) -> None:
        if not self._lanes[lane]:
            self._waiting_since[lane] = time.monotonic()
        self._lanes[lane].extend(entries)
        self._wake()

    def news_wait(self) -> bool:
        return bool(self._lanes[Lane.LIVE])

    async def take(self) -> list[Entry]:
        """Some work of one lane; empty when there is none and will be none. Followed by done()."""
        while True:
            lane = self._next_lane()
            if lane is not None and not self._gathers(lane):
                entries = self._lanes[lane]
                taken = [entries.popleft() for _ in range(min(self._portions[lane], len(entries)))]
                self._waiting_since[lane] = time.monotonic()
                self._at_work += 1
                self._at_bulk += lane is Lane.BULK
                if self._next_lane() is not None:
                    self._wake()
                return taken
            if self._closed and lane is None:
                self._wake()
                return []
            sleeper = asyncio.get_running_loop().create_future()
            self._sleeping.append(sleeper)
            await sleeper
            self._waking = False

    async def done(self, taken: list[Entry], seconds: float) -> None:
        """It took so long. While news come in, whoever worked at history rests for as long: half of the machine is theirs."""
        self._at_work -= 1
        if taken[0].source.lane is Lane.LIVE:
            self._news_at = time.monotonic()
            return
        if time.monotonic() - self._news_at < NEWS_ARE_RECENT_SECONDS and not self._closed:
            await asyncio.sleep(min(seconds, MAX_REST_SECONDS))
        self._at_bulk -= 1

    def close(self) -> None:
        """Nothing more will be put in; what is there is still worked on."""
        self._closed = True
        self._wake()

    def _next_lane(self) -> Lane | None:
        if self._lanes[Lane.LIVE]:
            return Lane.LIVE
        return Lane.BULK if self._lanes[Lane.BULK] and self._at_bulk < self._max_at_bulk else None

    def _gathers(self, lane: Lane) -> bool:
        """Whether it is worth to wait for more; somebody is woken when it no longer is."""
        if not self._at_work or self._closed or len(self._lanes[lane]) >= self._portions[lane]:
            return False
        left = self._waiting_since[lane] + GATHER_SECONDS - time.monotonic()
        if left > 0 and self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(left, self._ring)
        return left > 0

    def _ring(self) -> None:
        self._alarm = None
        self._wake()

    def _wake(self) -> None:
        """One worker at a time: whoever wakes wakes the next, so handlers that never wait are all called by the first."""
        while self._sleeping and not self._waking:
            sleeper = self._sleeping.popleft()
            if not sleeper.done():
                sleeper.set_result(None)
                self._waking = True
