"""Drawings as files: the same drawing in the same format is the same file, whoever shows it."""

from telegram_simulator.world.chance import number64
from telegram_simulator.world.load import SECOND_DC
from telegram_simulator.world.post import Drawing, File, FileKind
from telegram_simulator.world.world import HOME_DC

SIZES = {
    FileKind.JPEG: 90_000,
    FileKind.PNG: 160_000,
    FileKind.WEBP: 60_000,
    FileKind.GIF: 150_000,
    FileKind.MP4: 450_000,
    FileKind.PDF: 420_000,
}
"""The least size of each: larger than what is drawn, whatever is drawn."""


def file_of(drawing: Drawing, kind: FileKind) -> File:
    number = number64("demo", repr(drawing), kind.value) & (2**62 - 1)
    size_bytes = SIZES[kind] + number % (SIZES[kind] // 2)
    dc_id = SECOND_DC if number % 5 == 0 else HOME_DC
    return File(
        number,
        kind,
        size_bytes,
        dc_id,
        width=640,
        height=400,
        drawing=drawing,
        seconds=3.0 if kind is FileKind.MP4 else 1.0,
    )
