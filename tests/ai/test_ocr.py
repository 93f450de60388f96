"""Text in pictures: read in both languages, in a sandbox, and only where tesseract is sure."""

import asyncio
import io
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from telegram_assistant.ai.local.ocr import MAX_CPU_SECONDS, MAX_MEMORY_BYTES, confident_text, read_text
from telegram_assistant.ai.local.understanding import PICTURES_AT_ONCE, LocalModels, examine_ocr
from telegram_assistant.ai.outputs import PictureFacts
from telegram_assistant.ai.protocols import Picture
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.domain.understanding.policy import ProviderFailed
from telegram_assistant.errors import Busy

RUSSIAN_FONT = str(Path(__file__).parents[2] / "src/telegram_simulator/world/fonts/DejaVuSans.ttf")


def draw_words(words: str, *, height: int = 120, font: str | None = None) -> bytes:
    image = Image.new("RGB", (700, height), "white")
    ImageDraw.Draw(image).text(
        (20, 30),
        words,
        fill="black",
        font=ImageFont.truetype(font, 48) if font else ImageFont.load_default(48),
    )
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
async def test_text_in_a_picture_is_read_and_what_is_no_picture_is_said_so(tmp_path: Path) -> None:
    local = LocalModels(models=tmp_path)
    assert (
        "Breaking news 2026"
        in (await local.picture(Picture(draw_words("Breaking news 2026"), "image/png"))).text
    )
    with pytest.raises(ProviderFailed, match="cannot read this picture"):
        await local.picture(Picture(b"GIF89a nonsense", "image/gif"))


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
async def test_russian_in_a_picture_is_read_as_russian(tmp_path: Path) -> None:
    text = (
        await LocalModels(models=tmp_path).picture(
            Picture(draw_words("Пожар на складе", font=RUSSIAN_FONT), "image/png")
        )
    ).text
    assert text == "Пожар на складе"


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
async def test_pictures_that_wait_for_their_turn_are_given_up_at_the_end(tmp_path: Path) -> None:
    local, picture = LocalModels(models=tmp_path), Picture(draw_words("Any"), "image/png")
    readings = [asyncio.create_task(local.picture(picture)) for _ in range(PICTURES_AT_ONCE + 9)]
    await asyncio.sleep(0)  # each has its turn or waits for it
    local.stop_reading()
    outcomes = await asyncio.gather(*readings, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [PictureFacts] * PICTURES_AT_ONCE + [Busy] * 9


def tesseract_with(folder: Path, *languages: str) -> str:
    """A program that has these languages and would read anything."""
    program = folder / "tesseract"
    listed = "\n".join(["List of available languages", *languages])
    program.write_text(f'#!/bin/sh\necho "{listed}"\n', encoding="utf-8")
    program.chmod(0o755)
    return str(program)


async def test_without_a_language_that_is_asked_for_nothing_is_read_and_doctor_says_so(
    tmp_path: Path,
) -> None:
    english_only = tesseract_with(tmp_path, "eng", "osd")
    with pytest.raises(ProviderFailed, match="tesseract has no data for rus"):
        await read_text(Picture(draw_words("Пожар"), "image/png"), command=english_only)
    finding = examine_ocr(english_only)
    assert (finding.verdict, str(finding.remedy)) == (
        Severity.WARNING,
        "install it: apt install tesseract-ocr-rus",
    )
    assert "rus" in str(finding.what)


def table_of(*words: tuple[int, float, str]) -> str:
    """As tesseract writes it: line, confidence, word."""
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    return "\n".join(
        [head, *(f"5\t1\t1\t1\t{line}\t1\t0\t0\t9\t9\t{sure}\t{word}" for line, sure, word in words)]
    )


def test_lines_that_tesseract_only_guesses_are_left_out() -> None:
    """The second line is Russian as it was read with English data."""
    seen = table_of(
        (1, 96.6, "Breaking"),
        (1, 96.5, "news"),
        (2, 21.8, "Cpounbie"),
        (2, 72.1, "HOBOCTH:"),
        (2, 55.6, "NOKap"),
        (2, 0.0, "CKJla"),
    )
    assert confident_text(seen) == "Breaking news"
    assert confident_text(table_of()) == ""


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("tesseract") is None,
    reason="tesseract is not installed, or nothing shows its limits",
)
async def test_what_reads_pictures_has_its_limits_and_is_sandboxed() -> None:
    reading = asyncio.create_task(
        read_text(
            Picture(draw_words("Breaking news 2026", height=4000), "image/png"),
            command=shutil.which("tesseract") or "",
        )
    )
    limits, status = await _limits_and_status("tesseract")
    await reading
    assert limits["Max address space"] == str(MAX_MEMORY_BYTES)
    assert limits["Max cpu time"] == str(MAX_CPU_SECONDS)
    assert (status["NoNewPrivs"], status["Seccomp"], int(status["CapEff"], 16)) == ("1", "2", 0)


async def _limits_and_status(name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Of our child of that name, as soon as there is one."""
    async with asyncio.timeout(60):
        while True:
            for process in await asyncio.to_thread(lambda: list(Path("/proc").glob("[0-9]*"))):
                with suppress(OSError):
                    lines = (process / "status").read_text(encoding="utf-8").splitlines()
                    status = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
                    if (status["Name"], status["PPid"]) == (name, str(os.getpid())):
                        limits = (process / "limits").read_text(encoding="ascii").splitlines()[1:]
                        return {line[:26].strip(): line[26:].split()[0] for line in limits}, status
            await asyncio.sleep(0.01)
