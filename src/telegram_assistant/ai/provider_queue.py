"""This process's queue for a provider: the most urgent first,
and only as many reach the shared stores as there are streams.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count

from telegram_assistant.domain.understanding.policy import Urgency


class ProviderQueue:
    """One per provider."""

    def __init__(self, streams: int) -> None:
        self._streams = streams
        self._served = 0
        self._arrivals = count()
        self._waiting: list[tuple[Urgency, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def turn(self, urgency: Urgency) -> AsyncIterator[None]:
        """Waits for a turn and holds it during the block.

        Questions and digests skip this queue: the shared queue lets them pass.
        """
        if urgency > Urgency.DIGEST and (self._waiting or self._served >= self._streams):
            waiter = asyncio.get_running_loop().create_future()
            heappush(self._waiting, (urgency, next(self._arrivals), waiter))
            try:
                await waiter
            except asyncio.CancelledError:
                if not waiter.cancelled():  # its turn came, but it was cancelled before it noticed
                    self._free_place()
                raise
        else:
            self._served += 1
        try:
            yield
        finally:
            self._free_place()

    def _free_place(self) -> None:
        """Frees a place and gives it to the next waiter, who holds it from that moment on."""
        self._served -= 1
        while self._waiting and self._served < self._streams:
            _, _, waiter = heappop(self._waiting)
            if not waiter.done():  # otherwise it was cancelled
                self._served += 1
                waiter.set_result(None)
