"""The processes in which pages are taken apart: few, reused, and killed when a page keeps one busy too long."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from telegram_assistant.domain.pages import Extracted, PageStatus
from telegram_assistant.errors import Unreadable
from telegram_assistant.pages.fetching import Answer

AT_ONCE = 2
LONGEST_SECONDS = 5.0
STARTING_SECONDS = 60.0
MOST_PAGES = 500
"""Then a process is replaced: what a parser never gives back goes with it."""
LONGEST_ANSWER_BYTES = 4_000_000
KNOWN = ("PATH", "PYTHONPATH", "LANG")
"""All that such a process learns of its environment."""


class Readers:
    """One per process; the readers are started when they are first needed."""

    def __init__(self, *, at_once: int = AT_ONCE, longest_seconds: float = LONGEST_SECONDS, most_pages: int = MOST_PAGES) -> None:
        self._longest_seconds = longest_seconds
        self._most_pages = most_pages
        self._free: asyncio.Queue[_Reader | None] = asyncio.Queue()
        for _ in range(at_once):
            self._free.put_nowait(None)
        self._places = at_once

    async def extract(self, answer: Answer) -> Extracted:
        """What is on the page; Unreadable when it takes too long or kills its reader."""
        try:
            async with self._reader() as reader, asyncio.timeout(self._longest_seconds):
                found = await reader.ask(answer)
                reader.pages += 1
        except TimeoutError as error:
            raise Unreadable(PageStatus.FAILED, f"taking it apart takes longer than {self._longest_seconds:g} s") from error
        except (OSError, EOFError, ValueError) as error:
            raise Unreadable(PageStatus.FAILED, "its reader died over it") from error
        if found is None:
            raise Unreadable(PageStatus.FAILED, "it cannot be taken apart")
        return found

    @asynccontextmanager
    async def _reader(self) -> AsyncIterator["_Reader"]:
        """Whoever leaves in the middle of a page leaves a reader that cannot be used again."""
        reader = await self._free.get()
        try:
            reader = reader or await _started()
            pages = reader.pages
            yield reader
        finally:
            if reader is not None and (reader.pages == pages or reader.pages >= self._most_pages):
                reader.kill()
                reader = None
            self._free.put_nowait(reader)

    async def close(self) -> None:
        for _ in range(self._places):
            reader = await self._free.get()
            if reader is not None:
                reader.kill()
                await reader.process.wait()


class _Reader:
    def __init__(self, process: Process) -> None:
        self.process = process
        self.pages = 0

    async def say_ready(self) -> None:
        assert self.process.stdout is not None  # it is a pipe
        if not await self.process.stdout.readline():
            raise EOFError

    async def ask(self, answer: Answer) -> Extracted | None:
        assert self.process.stdin is not None  # both are pipes
        assert self.process.stdout is not None
        asked = {"url": answer.target.url, "charset": answer.charset, "size": len(answer.body)}
        self.process.stdin.write(json.dumps(asked).encode() + b"\n" + answer.body)
        await self.process.stdin.drain()
        line = await self.process.stdout.readline()
        if not line:
            raise EOFError
        found = json.loads(line)
        return None if found is None else Extracted(**found)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()


async def _started() -> _Reader:
    """A reader that has loaded what it needs, so that no page pays for it."""
    environment = {name: os.environ[name] for name in KNOWN if name in os.environ}
    module = ["-m", "telegram_assistant.pages.extraction"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *module, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, limit=LONGEST_ANSWER_BYTES
    )
    reader = _Reader(process)
    try:
        async with asyncio.timeout(STARTING_SECONDS):
            await reader.say_ready()
    except BaseException:
        reader.kill()
        raise
    return reader
