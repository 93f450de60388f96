"""Runs the demo: starts its processes, then the program itself, until stopped,
and ends everything in order.
"""

import asyncio
import socket
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from telegram_assistant.demo.environment import DemoEnvironment, OpenDemo
from telegram_assistant.demo.folder import DemoFolder, open_folder
from telegram_assistant.demo.processes import PROCESS_ENDED, ChildProcesses, Program, StartedProcess
from telegram_assistant.demo.progress import DemoProgress, DemoStep, report
from telegram_assistant.demo.servers import (
    LOOPBACK,
    DemoServers,
    OwnPrograms,
    ServerSettings,
    choose_servers,
    free_port,
    open_servers,
)
from telegram_assistant.demo.simulator import SimulatedTelegram, start_simulator
from telegram_assistant.demo.stopping import DemoStopped, catch_signals
from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason

WEB_PORTS = range(8446, 8466)
BACKGROUND = Program(
    "roles", (sys.executable, "-m", "telegram_assistant.demo"), reads_input=True, uses_others=True
)


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The choices of the person who starts a demo. `seed` None means the seed of the folder."""

    folder: Path
    port: int
    host: str = LOOPBACK
    seed: int | None = None


async def run_demo(
    options: DemoOptions,
    *,
    environ: Mapping[str, str],
    progress: DemoProgress,
    announce: Callable[[OpenDemo], None],
) -> None:
    """Runs until SIGINT, SIGTERM or SIGHUP.

    Raises CannotStart if it cannot start, or if one of its processes ends by itself.
    """
    servers = choose_servers(environ)
    _require_free(options.port)
    has_own_servers = isinstance(servers, OwnPrograms)
    with open_folder(
        options.folder, seed=options.seed, has_own_servers=has_own_servers, web_port=free_port(*WEB_PORTS)
    ) as folder:
        with catch_signals() as stopping:
            async with ChildProcesses(folder, report_end=stopping.report_end) as children:
                with suppress(DemoStopped):
                    opened_settings, telegram, background = await stopping.unless_stopped(
                        _start_processes(servers, folder, children, progress)
                    )
                    run_program = await asyncio.to_thread(_load_program)
                    await run_program(
                        DemoEnvironment(
                            folder,
                            environ,
                            options.host,
                            options.port,
                            opened_settings,
                            telegram,
                            background,
                            stopping,
                            progress,
                            announce,
                        )
                    )
        if stopping.ended_by is not None:
            raise CannotStart(
                children.describe(stopping.ended_by, PROCESS_ENDED), remedy=children.remedy(stopping.ended_by)
            )


async def _start_processes(
    servers: DemoServers, folder: DemoFolder, children: ChildProcesses, progress: DemoProgress
) -> tuple[ServerSettings, SimulatedTelegram, StartedProcess]:
    """Starts all processes at the same time, and loads the program in this one meanwhile."""
    try:
        async with asyncio.TaskGroup() as group:
            opening = group.create_task(
                report(progress, DemoStep.SERVERS, open_servers(servers, folder, children))
            )
            starting = group.create_task(
                report(progress, DemoStep.SIMULATOR, start_simulator(folder, children))
            )
            background = group.create_task(children.start(BACKGROUND))
            group.create_task(asyncio.to_thread(_load_program))
    except* CannotStart as errors:
        raise errors.exceptions[0] from None
    return opening.result(), starting.result(), background.result()


def _load_program() -> Callable[[DemoEnvironment], Coroutine[None, None, None]]:
    from telegram_assistant.demo.program import run_program  # noqa: PLC0415 -- it loads for seconds

    return run_program


def _require_free(port: int) -> None:
    """Looks before anything is started: the api role asks for its port last."""
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError as error:
        raise CannotStart(
            Reason(
                "port_unusable", "port {port} cannot be used ({error})", port=port, error=error.strerror or ""
            ),
            remedy=Reason("choose_port", "Choose another one with --port"),
        ) from error
