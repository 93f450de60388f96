"""Queue of entries that wait for a worker of this process: live entries first, history in small batches and
by half of the workers.

So live posts wait for one small batch of a backfill at most, never for all of it. While other batches of the
stage are running, a partial batch waits up to 50 ms to fill, because a call costs about as much for ten
entries as for one.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterable

from telegram_assistant.domain.lane import Lane
from telegram_assistant.streams.batch_limit import BatchLimit
from telegram_assistant.streams.entries import Entry
from telegram_assistant.streams.stage import AnyStage

BULK_SHARE = 8
"""A batch of history is a batch of live entries divided by this number."""
RECENT_LIVE_SECONDS = 1.0
MAX_FILL_SECONDS = 0.05
MAX_REST_SECONDS = 1.0
"""Upper limit of the pause after a batch of history.

A batch that took longer was waiting for a server, not using one.
"""


class LocalQueue:
    """The queue between the stream readers and the workers of one stage."""

    def __init__(self, stage: AnyStage, batch_limit: BatchLimit) -> None:
        batch = stage.batch or 1
        self._batch_limit = batch_limit
        self._batch_sizes = {Lane.LIVE: batch, Lane.BULK: max(batch // BULK_SHARE, 1)}
        self._max_bulk_workers = max(stage.concurrency // 2, 1)
        self._bulk_workers = 0
        self._lanes: dict[Lane, deque[Entry]] = {lane: deque() for lane in Lane}
        self._busy_workers = 0
        self._waiting_since = dict.fromkeys(Lane, 0.0)
        self._timer: asyncio.TimerHandle | None = None
        self._idle_workers: deque[asyncio.Future[None]] = deque()
        self._is_waking = False
        self._closed = False
        self._live_batch_at = 0.0

    def put(self, lane: Lane, entries: Iterable[Entry]) -> None:
        if not self._lanes[lane]:
            self._waiting_since[lane] = time.monotonic()
        self._lanes[lane].extend(entries)
        self._wake()

    def has_live_entries(self) -> bool:
        return bool(self._lanes[Lane.LIVE])

    async def take(self) -> list[Entry]:
        """Return the next batch, of one lane.

        Returns an empty list once the queue is closed and empty. Call `done()` after each batch.
        """
        while True:
            lane = self._next_lane()
            if lane is not None and not self._should_wait_for_more(lane):
                entries = self._lanes[lane]
                batch = [entries.popleft() for _ in range(min(self._batch_size(lane), len(entries)))]
                self._waiting_since[lane] = time.monotonic()
                self._busy_workers += 1
                self._bulk_workers += lane is Lane.BULK
                if self._next_lane() is not None:
                    self._wake()
                return batch
            if self._closed and lane is None:
                self._wake()
                return []
            waiter = asyncio.get_running_loop().create_future()
            self._idle_workers.append(waiter)
            await waiter
            self._is_waking = False

    async def finish_batch(self, batch: list[Entry], seconds: float) -> None:
        """Report that a batch took `seconds`.

        While live entries arrive, a worker pauses as long after history, so live work gets half the time.
        """
        self._busy_workers -= 1
        if batch[0].source.lane is Lane.LIVE:
            self._live_batch_at = time.monotonic()
            return
        if time.monotonic() - self._live_batch_at < RECENT_LIVE_SECONDS and not self._closed:
            await asyncio.sleep(min(seconds, MAX_REST_SECONDS))
        self._bulk_workers -= 1

    def close(self) -> None:
        """Accept no more entries. Queued entries are still handled."""
        self._closed = True
        self._wake()

    def _batch_size(self, lane: Lane) -> int:
        return min(self._batch_sizes[lane], self._batch_limit.size)

    def _next_lane(self) -> Lane | None:
        if self._lanes[Lane.LIVE]:
            return Lane.LIVE
        return Lane.BULK if self._lanes[Lane.BULK] and self._bulk_workers < self._max_bulk_workers else None

    def _should_wait_for_more(self, lane: Lane) -> bool:
        """Tell whether a partial batch should wait for more entries.

        If so, a timer wakes a worker when the wait is over.
        """
        if not self._busy_workers or self._closed or len(self._lanes[lane]) >= self._batch_size(lane):
            return False
        seconds_left = self._waiting_since[lane] + MAX_FILL_SECONDS - time.monotonic()
        if seconds_left > 0 and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds_left, self._on_timer)
        return seconds_left > 0

    def _on_timer(self) -> None:
        self._timer = None
        self._wake()

    def _wake(self) -> None:
        """Wake one worker at a time, and let it wake the next.

        If handlers never wait, the first worker calls them all.
        """
        while self._idle_workers and not self._is_waking:
            waiter = self._idle_workers.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._is_waking = True
