"""Sandboxed processes that open untrusted content: few, reused, and killed if one is busy for too long.

Such a process writes a line when it is ready. Then it reads a header line and a body, and answers with a line
of JSON. If the JSON names a `size`, that many bytes follow.
"""

import asyncio
import json
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from telegram_assistant.sandbox.launching import start
from telegram_assistant.sandbox.parsers import parser_rules
from telegram_assistant.sandbox.rules import Rules

STARTING_SECONDS = 60.0
MAX_LINE_BYTES = 4_000_000


class IsolatedProcesses:
    """A pool of processes that run one module. Each starts when it is first needed."""

    def __init__(
        self, module: str, *, at_once: int, max_seconds: float, max_uses: int, rules: Rules | None = None
    ) -> None:
        """A process is replaced after `max_uses`, which frees the memory that its libraries leak."""
        self._module = module
        self._rules = rules or parser_rules()
        self._max_seconds = max_seconds
        self._max_uses = max_uses
        self._size = at_once
        self._free: asyncio.Queue[_Worker | None] = asyncio.Queue()
        for _ in range(at_once):
            self._free.put_nowait(None)

    async def ask(self, header: str, body: bytes) -> tuple[Any, bytes]:
        """Send a request.

        Raises TimeoutError if it takes too long, and OSError, EOFError or ValueError if it kills its process.
        """
        async with self._worker() as worker, asyncio.timeout(self._max_seconds):
            answer = await worker.ask(header, body)
            worker.uses += 1
        return answer

    @asynccontextmanager
    async def _worker(self) -> AsyncIterator["_Worker"]:
        """Borrow a worker.

        If the caller leaves before an answer, the process cannot be used again and is killed.
        """
        worker = await self._free.get()
        try:
            worker = worker or await _start_worker(self._module, self._rules)
            use_count = worker.uses
            yield worker
        finally:
            if worker is not None and (worker.uses == use_count or worker.uses >= self._max_uses):
                worker.kill()
                worker = None
            self._free.put_nowait(worker)

    async def close(self) -> None:
        for _ in range(self._size):
            worker = await self._free.get()
            if worker is not None:
                worker.kill()
                await worker.process.wait()


class _Worker:
    def __init__(self, process: Process) -> None:
        self.process = process
        self.uses = 0

    async def line(self) -> bytes:
        assert self.process.stdout is not None  # it is a pipe
        line = await self.process.stdout.readline()
        if not line:
            raise EOFError
        return line

    async def ask(self, header: str, body: bytes) -> tuple[Any, bytes]:
        assert self.process.stdin is not None  # both are pipes
        assert self.process.stdout is not None
        self.process.stdin.write(header.encode() + b"\n" + body)
        await self.process.stdin.drain()
        answer = json.loads(await self.line())
        size = int(answer.get("size", 0)) if isinstance(answer, dict) else 0
        return answer, await self.process.stdout.readexactly(size)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()


async def _start_worker(module: str, rules: Rules) -> _Worker:
    """Start a worker and wait until it has loaded its libraries, so that no request pays for that."""
    worker = _Worker(await start(rules, "-m", module, max_line_bytes=MAX_LINE_BYTES))
    try:
        async with asyncio.timeout(STARTING_SECONDS):
            await worker.line()
    except BaseException:
        worker.kill()
        raise
    return worker
