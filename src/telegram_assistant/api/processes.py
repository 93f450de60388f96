"""Further processes of the api role. They answer on the port of the first process, which starts them, starts
them again when they end, and stops them.
"""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from telegram_assistant.settings import Settings
from telegram_assistant.supervision import Loop, cancel_and_wait

LEAVING_SECONDS = 10.0
"""A process may take so much longer than SHUTDOWN_GRACE_SECONDS to end; then it is killed."""
STDIN = 0


@dataclass(frozen=True, slots=True)
class FurtherProcess:
    """The arguments of a further process."""

    number: int
    """2 is the second process of the role."""
    listener_fd: int
    """The listening socket, which it inherits."""

    @property
    def arguments(self) -> tuple[str, ...]:
        return ("run", "--roles", "api", "--process", str(self.number), "--listener", str(self.listener_fd))

    def listen(self) -> socket.socket:
        return socket.socket(fileno=self.listener_fd)

    def own_settings(self, settings: Settings) -> Settings:
        """It starts no processes, and has an operations port of its own, if there are such ports."""
        port = settings.http.api_operations_port
        own = {"api_processes": 1, "api_operations_port": port and port + self.number - 1}
        return settings.model_copy(update={"http": settings.http.model_copy(update=own)})


def further_processes(listener: socket.socket, settings: Settings) -> tuple[Loop, ...]:
    """One loop for each further process that API_PROCESSES asks for."""
    numbers = range(2, settings.http.api_processes + 1)
    return tuple(
        Loop(
            f"api process {number}",
            partial(
                _run_process,
                further=FurtherProcess(number, listener.fileno()),
                max_seconds=settings.process.shutdown_grace_seconds + LEAVING_SECONDS,
            ),
        )
        for number in numbers
    )


async def _run_process(stopping: asyncio.Event, *, further: FurtherProcess, max_seconds: float) -> None:
    """Raises RuntimeError if the process ends by itself."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "telegram_assistant",
        *further.arguments,
        stdin=PIPE,  # closes when this process ends, however it does
        pass_fds=[further.listener_fd],
        start_new_session=True,  # Ctrl-C reaches this process alone, which then stops the others
    )
    tasks = [asyncio.create_task(process.wait()), asyncio.create_task(stopping.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_and_wait(tasks)
        await _stop(process, max_seconds=max_seconds)
    if not stopping.is_set():
        raise RuntimeError(f"it ended with code {process.returncode}")


async def _stop(process: Process, *, max_seconds: float) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(max_seconds):
            await process.wait()
    finally:
        with suppress(ProcessLookupError):
            process.kill()


async def wait_for_first_process() -> None:
    """Returns when the process that has started this one has ended, so that none stays behind."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        if not os.read(STDIN, 1):
            ended.set()

    loop.add_reader(STDIN, read)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(STDIN)
