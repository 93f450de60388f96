"""Single flight: concurrent equal questions share one call.

A waiter whose time is up leaves, and the call continues without it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from telegram_assistant.ai.paid_call import CallOrder, Progress, ProviderCaller, Withheld
from telegram_assistant.domain.understanding.policy import FallbackReason, Urgency


@dataclass(slots=True)
class _Flight:
    task: asyncio.Task[object]
    progress: Progress
    waiters: int = 0

    @property
    def can_be_joined(self) -> bool:
        return not self.task.done() and not self.task.cancelling()


@dataclass(slots=True)
class SingleFlight:
    """Running calls of this process, by the key of their answer."""

    caller: ProviderCaller
    _under_way: dict[bytes, _Flight] = field(default_factory=dict)

    async def join[T](
        self, key: bytes, order: CallOrder, fly: Callable[[Progress], Awaitable[T]], *, until: float
    ) -> tuple[T, int]:
        """The answer and its price.

        Raises Withheld at `until` (loop clock); an unsent call that nobody waits for is cancelled.
        """
        flight = self._under_way.get(key)
        if flight is None or not flight.can_be_joined:
            progress = Progress()
            flight = _Flight(asyncio.create_task(_run(fly, progress)), progress)
            flight.task.add_done_callback(partial(self._forget_task, key))
            self._under_way[key] = flight
        flight.waiters += 1
        try:
            async with asyncio.timeout_at(until):
                value = await asyncio.shield(flight.task)
        except TimeoutError as error:
            if flight.progress.sent and order.urgency is Urgency.LIVE:
                self.caller.late(order)
            raise Withheld(FallbackReason.AWAY if flight.progress.sent else FallbackReason.BUSY) from error
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.progress.sent:
                flight.task.cancel()
        return value, flight.progress.cost_micro  # type: ignore[return-value]  # one type per key

    def _forget_task(self, key: bytes, task: asyncio.Task[object]) -> None:
        if self._under_way.get(key, None) is not None and self._under_way[key].task is task:
            del self._under_way[key]
        if not task.cancelled():
            task.exception()  # retrieve the exception, because no waiter may be left to do so

    async def close(self) -> None:
        """Cancels all calls. The reservations of sent calls expire."""
        tasks = [flight.task for flight in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run[T](fly: Callable[[Progress], Awaitable[T]], progress: Progress) -> object:
    return await fly(progress)
