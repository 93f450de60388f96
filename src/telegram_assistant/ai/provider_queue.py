"""Who waits in this process for a provider: the urgent first, and only as many ask the shared stores as there are streams."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count

from telegram_assistant.domain.understanding.policy import Urgency


class ProviderQueue:
    """One for each provider."""

    def __init__(self, streams: int) -> None:
        self._streams = streams
        self._served = 0
        self._arrivals = count()
        self._waiting: list[tuple[Urgency, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def turn(self, urgency: Urgency) -> AsyncIterator[None]:
        """A person's question and a digest do not stand here: the shared queue lets them pass."""
        if urgency > Urgency.DIGEST and (self._waiting or self._served >= self._streams):
            called = asyncio.get_running_loop().create_future()
            heappush(self._waiting, (urgency, next(self._arrivals), called))
            try:
                await called
            except asyncio.CancelledError:
                if not called.cancelled():  # called, and gone before it heard it
                    self._left()
                raise
        else:
            self._served += 1
        try:
            yield
        finally:
            self._left()

    def _left(self) -> None:
        """Whoever is called has its place from that moment on."""
        self._served -= 1
        while self._waiting and self._served < self._streams:
            _, _, called = heappop(self._waiting)
            if not called.done():  # else it has given up
                self._served += 1
                called.set_result(None)
