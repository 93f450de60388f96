"""Processes that the demo starts, and ends again: also those that a killed demo has left behind."""

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from telegram_assistant.demo.folder import PROCESSES, DemoFolder, replace_file
from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason

STOP_SECONDS = 15.0
LOOK_SECONDS = 0.05
SHOWN_LINES = 5
PROCESS_ENDED = Reason("process_ended", "ended by itself")


@dataclass(frozen=True, slots=True)
class SystemUser:
    """The user that a process runs as, if not as this one."""

    name: str
    user_id: int
    group_id: int


@dataclass(frozen=True, slots=True)
class Program:
    """A program that the demo starts. `stop_signal` asks it to end."""

    name: str
    command: Sequence[str]
    stop_signal: signal.Signals = signal.SIGTERM
    user: SystemUser | None = None
    folder: Path | None = None
    reads_input: bool = False
    uses_others: bool = False
    """Ends before the others do."""


@dataclass(frozen=True, slots=True)
class StartedProcess:
    """A process that reads its input."""

    process: asyncio.subprocess.Process

    async def send(self, line: str) -> None:
        assert self.process.stdin is not None  # it was started so
        self.process.stdin.write(f"{line}\n".encode())
        with contextlib.suppress(ConnectionError):  # it has ended, which its watcher reports
            await self.process.stdin.drain()


class ChildProcesses:
    """The running processes. At the end of the block all of them have ended.

    Each is in a session of its own, so that Ctrl-C in a terminal reaches this process alone and they end in
    order. Their ids are in a file: if this process is killed, the next start ends what is left.
    """

    def __init__(self, folder: DemoFolder, *, report_end: Callable[[str], None]) -> None:
        self._folder = folder
        self._report_end = report_end
        self._running: dict[str, tuple[Program, asyncio.subprocess.Process]] = {}
        self._watchers: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(end_leftovers, self._folder)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for watcher in self._watchers:
            watcher.cancel()
        for is_first_round in (True, False):
            await asyncio.gather(
                *(
                    _end(program, process)
                    for program, process in self._running.values()
                    if program.uses_others is is_first_round
                )
            )
        (self._folder.path / PROCESSES).unlink(missing_ok=True)

    async def start(self, program: Program) -> StartedProcess:
        process = await self._spawn(program)
        self._running[program.name] = (program, process)
        process_records = {
            name: [process.pid, int(program.stop_signal), started_at(process.pid)]
            for name, (program, process) in self._running.items()
        }
        replace_file(self._folder.path / PROCESSES, json.dumps(process_records))
        self._watchers.append(asyncio.create_task(self._watch(program, process)))
        return StartedProcess(process)

    async def run_to_end(self, program: Program) -> None:
        """Runs a program that ends by itself. Raises CannotStart if it fails."""
        process = await self._spawn(program)
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await _end(program, process)
            raise
        if code:
            raise CannotStart(
                self.describe(
                    program.name,
                    Reason("process_failed", "failed with exit code {exit_code}", exit_code=code),
                ),
                remedy=self.remedy(program.name),
            )

    def check(self, name: str) -> None:
        """Raises CannotStart if the process has ended."""
        if self._running[name][1].returncode is not None:
            raise CannotStart(self.describe(name, PROCESS_ENDED), remedy=self.remedy(name))

    def describe(self, name: str, what: Reason) -> Reason:
        lines = self._folder.log(name).read_text(encoding="utf-8", errors="replace").splitlines()
        return Reason(
            "demo_process",
            "{name} {what}\n  {lines}",
            name=name,
            what=what,
            lines="\n  ".join(lines[-SHOWN_LINES:]),
        )

    def remedy(self, name: str) -> Reason:
        return Reason(
            "see_demo_log",
            "See {log}; `tga demo --remove` deletes this demo, and the next start creates a new one",
            log=str(self._folder.log(name)),
        )

    async def _spawn(self, program: Program) -> asyncio.subprocess.Process:
        with self._folder.log(program.name).open("wb") as output:
            return await asyncio.create_subprocess_exec(
                *program.command,
                stdin=asyncio.subprocess.PIPE if program.reads_input else asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=program.folder,
                user=None if program.user is None else program.user.user_id,
                group=None if program.user is None else program.user.group_id,
                extra_groups=None if program.user is None else [],
            )

    async def _watch(self, program: Program, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        self._report_end(program.name)


async def _end(program: Program, process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(program.stop_signal)
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


def end_leftovers(folder: DemoFolder) -> None:
    """Ends processes of a demo that was killed.

    A process id that another program has got meanwhile is left alone.
    """
    file = folder.path / PROCESSES
    if not file.exists():
        return
    process_records = list(json.loads(file.read_bytes()).values())
    deadline = time.monotonic() + STOP_SECONDS
    for pid, number, start in process_records:
        if start is not None and started_at(pid) == start:
            os.kill(pid, number)
    for pid, _, start in process_records:
        while start is not None and started_at(pid) == start:
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(LOOK_SECONDS)
    file.unlink()


def started_at(pid: int) -> str | None:
    """When the kernel started a process; None if it is gone, or the system does not say."""
    try:
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]
