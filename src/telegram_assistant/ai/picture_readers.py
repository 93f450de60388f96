"""The processes in which pictures are opened: few, reused, and killed when a picture keeps one busy too long."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from telegram_assistant.ai.protocols import Picture
from telegram_assistant.domain.likeness import Look
from telegram_assistant.domain.understanding import Failure
from telegram_assistant.errors import ProviderFailed

AT_ONCE = 2
LONGEST_SECONDS = 10.0
STARTING_SECONDS = 60.0
MOST_PICTURES = 1000
"""Then a process is replaced: what a decoder never gives back goes with it."""
KNOWN = ("PATH", "PYTHONPATH", "LANG")
"""All that such a process learns of its environment."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A picture as providers and readers take it, and what it looks like."""

    picture: Picture
    width: int
    height: int
    look: Look


class PictureReaders:
    """One per process; the readers are started when they are first needed."""

    def __init__(self, *, at_once: int = AT_ONCE, longest_seconds: float = LONGEST_SECONDS, most_pictures: int = MOST_PICTURES) -> None:
        self._longest_seconds = longest_seconds
        self._most_pictures = most_pictures
        self._free: asyncio.Queue[_Reader | None] = asyncio.Queue()
        for _ in range(at_once):
            self._free.put_nowait(None)
        self._places = at_once

    async def open(self, data: bytes) -> Opened:
        """ProviderFailed for what is no picture, takes too long, or kills its reader."""
        try:
            async with self._reader() as reader, asyncio.timeout(self._longest_seconds):
                told, made = await reader.ask(data)
                reader.pictures += 1
        except TimeoutError as error:
            raise ProviderFailed(Failure.LATE, f"opening it takes longer than {self._longest_seconds:g} s") from error
        except (OSError, EOFError, ValueError) as error:
            raise ProviderFailed(Failure.REFUSED, "its reader died over it") from error
        if "why" in told:
            raise ProviderFailed(Failure.REFUSED, str(told["why"]))
        look = Look(int(told["coarse"]), int(told["fine"]))
        return Opened(Picture(made or data, str(told["mime"])), int(told["width"]), int(told["height"]), look)

    @asynccontextmanager
    async def _reader(self) -> AsyncIterator["_Reader"]:
        """Whoever leaves in the middle of a picture leaves a reader that cannot be used again."""
        reader = await self._free.get()
        try:
            reader = reader or await _started()
            pictures = reader.pictures
            yield reader
        finally:
            if reader is not None and (reader.pictures == pictures or reader.pictures >= self._most_pictures):
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
        self.pictures = 0

    async def say_ready(self) -> None:
        assert self.process.stdout is not None  # it is a pipe
        if not await self.process.stdout.readline():
            raise EOFError

    async def ask(self, data: bytes) -> tuple[dict[str, str | int], bytes]:
        assert self.process.stdin is not None  # both are pipes
        assert self.process.stdout is not None
        self.process.stdin.write(b"%d\n" % len(data) + data)
        await self.process.stdin.drain()
        line = await self.process.stdout.readline()
        if not line:
            raise EOFError
        told: dict[str, str | int] = json.loads(line)
        return told, await self.process.stdout.readexactly(int(told.get("size", 0)))

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()


async def _started() -> _Reader:
    """A reader that has loaded what it needs, so that no picture pays for it."""
    environment = {name: os.environ[name] for name in KNOWN if name in os.environ}
    module = ["-m", "telegram_assistant.ai.pictures"]
    process = await asyncio.create_subprocess_exec(sys.executable, *module, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment)
    reader = _Reader(process)
    try:
        async with asyncio.timeout(STARTING_SECONDS):
            await reader.say_ready()
    except BaseException:
        reader.kill()
        raise
    return reader
