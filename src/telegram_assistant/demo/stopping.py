"""When the demo must end: a signal came, or one of its processes has ended."""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DemoStopped(Exception):
    """The demo ends before it is open. Nobody has to be told."""


class Stopping:
    """Is set once, and stays set."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.ended_by: str | None = None
        """The process that has ended by itself."""

    def stop(self) -> None:
        self._event.set()

    def report_end(self, name: str) -> None:
        if not self._event.is_set():
            self.ended_by = name
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()

    async def unless_stopped[T](self, work: Coroutine[None, None, T]) -> T:
        """The result of the work. If the demo must end before, cancels the work and raises DemoStopped."""
        task, stop_task = asyncio.create_task(work), asyncio.create_task(self.wait())
        try:
            await asyncio.wait((task, stop_task), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop_task.cancel()
            task.cancel()
            await asyncio.wait((task, stop_task))
        if task.cancelled():
            raise DemoStopped
        return task.result()


@contextmanager
def catch_signals() -> Iterator[Stopping]:
    """Catches signals until the block ends. Further signals change nothing: the end is bounded in time."""
    stopping, loop = Stopping(), asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopping.stop)
    try:
        yield stopping
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
