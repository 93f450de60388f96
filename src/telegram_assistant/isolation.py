"""Sandboxed processes in which what strangers made is opened: few, reused, and killed when one is kept busy too long.

Such a process says a line when it is ready. Then it reads a header line and a body, and answers with a line of JSON; where that
names a `size`, so many bytes follow.
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


class Isolated:
    """Processes of one module; they are started when they are first needed."""

    def __init__(self, module: str, *, at_once: int, max_seconds: float, max_uses: int, rules: Rules | None = None) -> None:
        """After so many uses a process is replaced: what a library never gives back goes with it."""
        self._module = module
        self._rules = rules or parser_rules()
        self._max_seconds = max_seconds
        self._max_uses = max_uses
        self._places = at_once
        self._free: asyncio.Queue[_Worker | None] = asyncio.Queue()
        for _ in range(at_once):
            self._free.put_nowait(None)

    async def ask(self, header: str, body: bytes) -> tuple[Any, bytes]:
        """TimeoutError when it takes too long; OSError, EOFError or ValueError when it kills its process."""
        async with self._worker() as worker, asyncio.timeout(self._max_seconds):
            answer = await worker.ask(header, body)
            worker.uses += 1
        return answer

    @asynccontextmanager
    async def _worker(self) -> AsyncIterator["_Worker"]:
        """Whoever leaves in the middle leaves a process that cannot be used again."""
        worker = await self._free.get()
        try:
            worker = worker or await _started(self._module, self._rules)
            uses = worker.uses
            yield worker
        finally:
            if worker is not None and (worker.uses == uses or worker.uses >= self._max_uses):
                worker.kill()
                worker = None
            self._free.put_nowait(worker)

    async def close(self) -> None:
        for _ in range(self._places):
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
        told = json.loads(await self.line())
        size = int(told.get("size", 0)) if isinstance(told, dict) else 0
        return told, await self.process.stdout.readexactly(size)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()


async def _started(module: str, rules: Rules) -> _Worker:
    """One that has loaded what it needs, so that nobody pays for it later."""
    worker = _Worker(await start(rules, "-m", module, max_line_bytes=MAX_LINE_BYTES))
    try:
        async with asyncio.timeout(STARTING_SECONDS):
            await worker.line()
    except BaseException:
        worker.kill()
        raise
    return worker
