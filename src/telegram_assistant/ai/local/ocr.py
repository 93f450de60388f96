"""Text in pictures, read by tesseract in a process of its own with limits: pictures come from strangers."""

import asyncio
import os
import resource
import shutil
import sys
from contextlib import suppress

from telegram_assistant.ai.protocols import Picture
from telegram_assistant.domain.understanding import Failure
from telegram_assistant.errors import ProviderFailed

LANGUAGES = "rus+eng"
MOST_BYTES = 20_000_000
MOST_MEMORY_BYTES = 2_000_000_000
MOST_CPU_SECONDS = 20
NICENESS = 10
"""Reading pictures takes the processor when nothing else does."""
MOST_CHARACTERS = 10_000


def ocr_command() -> str | None:
    """Where tesseract is; None when it is not installed."""
    return shutil.which("tesseract")


def _limit(process_id: int) -> None:
    """From outside, before it is given anything to read: a function to call in the child would copy this process's memory first."""
    if sys.platform == "linux":
        resource.prlimit(process_id, resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
        resource.prlimit(process_id, resource.RLIMIT_CPU, (MOST_CPU_SECONDS, MOST_CPU_SECONDS))
    os.setpriority(os.PRIO_PROCESS, process_id, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)


async def read_text(picture: Picture, *, command: str, timeout_seconds: float = 20.0) -> str:
    """What is written in the picture; ProviderFailed when it cannot be read."""
    if len(picture.data) > MOST_BYTES:
        raise ProviderFailed(Failure.UNUSABLE, "the picture is too large to be read")
    process = await asyncio.create_subprocess_exec(
        command,
        *("stdin", "stdout", "-l", LANGUAGES, "--psm", "3"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"OMP_THREAD_LIMIT": "1", "PATH": "/usr/bin:/bin:/usr/local/bin"},
    )
    try:
        with suppress(ProcessLookupError):  # it ended at once, which its return code tells
            _limit(process.pid)
        async with asyncio.timeout(timeout_seconds):
            text, _ = await process.communicate(picture.data)
    except TimeoutError as error:
        raise ProviderFailed(Failure.LATE, "the picture took too long to be read") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ProviderFailed(Failure.UNUSABLE, "tesseract cannot read this picture")
    lines = (line.strip() for line in text.decode("utf-8", "replace").splitlines())
    return "\n".join(line for line in lines if line)[:MOST_CHARACTERS]
