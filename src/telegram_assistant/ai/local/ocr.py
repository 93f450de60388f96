"""Reads text in pictures with tesseract, in a sandbox with limits, because pictures come from strangers."""

import asyncio
import shutil
import subprocess
from functools import cache
from itertools import groupby

from telegram_assistant.ai.protocols import Picture
from telegram_assistant.domain.understanding.policy import Failure, ProviderFailed
from telegram_assistant.sandbox.launching import start
from telegram_assistant.sandbox.rules import DEVICES, LOADERS, SYSTEM_LIBRARIES, Rules

LANGUAGES = ("rus", "eng")
MAX_BYTES = 20_000_000
MAX_MEMORY_BYTES = 2_000_000_000
MAX_CPU_SECONDS = 20
MAX_CHARACTERS = 10_000
MIN_CONFIDENCE = 60.0
"""The lowest accepted confidence of a line in percent, averaged over its letters.

Below it tesseract mostly sees letters where there are none.
"""
DATA = (
    "/usr/share/tesseract-ocr",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
)
LISTING_SECONDS = 30
WORD_LEVEL = "5"
COLUMNS = 12


def ocr_command() -> str | None:
    """The path of tesseract; None if it is not installed."""
    return shutil.which("tesseract")


@cache
def missing_languages(command: str) -> tuple[str, ...]:
    """Required languages for which tesseract has no data. Cached; blocks for some milliseconds."""
    try:
        language_list = subprocess.run(  # noqa: S603 -- it is given no stranger's bytes
            [command, "--list-langs"], capture_output=True, text=True, check=True, timeout=LISTING_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return LANGUAGES
    return tuple(language for language in LANGUAGES if language not in language_list.stdout.split())


def ocr_rules(command: str) -> Rules:
    """Sandbox rules: tesseract may read its own libraries and language data."""
    return Rules(
        read=(*SYSTEM_LIBRARIES, *DATA, *DEVICES),
        execute=(command, *LOADERS),
        max_memory_bytes=MAX_MEMORY_BYTES,
        max_cpu_seconds=MAX_CPU_SECONDS,
    )


async def read_text(picture: Picture, *, command: str, timeout_seconds: float = 20.0) -> str:
    """The text that tesseract reads with confidence.

    Raises ProviderFailed if it cannot read the picture or lacks a language.
    """
    missing = await asyncio.to_thread(missing_languages, command)
    if missing:  # with the letters of another language it would read nonsense
        raise ProviderFailed(Failure.REFUSED, f"tesseract has no data for {' and '.join(missing)}")
    if len(picture.data) > MAX_BYTES:
        raise ProviderFailed(Failure.UNUSABLE, "the picture is too large to be read")
    arguments = ("stdin", "stdout", "-l", "+".join(LANGUAGES), "--psm", "3", "tsv")
    process = await start(ocr_rules(command), command, *arguments, environment={"OMP_THREAD_LIMIT": "1"})
    try:
        async with asyncio.timeout(timeout_seconds):
            table, _ = await process.communicate(picture.data)
    except TimeoutError as error:
        raise ProviderFailed(Failure.LATE, "the picture took too long to be read") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ProviderFailed(Failure.UNUSABLE, "tesseract cannot read this picture")
    return confident_text(table.decode("utf-8", "replace"))[:MAX_CHARACTERS]


def confident_text(table: str) -> str:
    """The lines of tesseract's word table with enough average confidence."""
    rows = [
        row
        for row in (line.split("\t") for line in table.splitlines())
        if len(row) == COLUMNS and row[0] == WORD_LEVEL and row[11].strip()
    ]
    lines = []
    for _, words in groupby(rows, key=lambda row: row[1:5]):
        line = list(words)
        letters = sum(len(row[11]) for row in line)
        if sum(float(row[10]) * len(row[11]) for row in line) / letters >= MIN_CONFIDENCE:
            lines.append(" ".join(row[11] for row in line))
    return "\n".join(lines)
