"""Pictures, films and papers of the demo: real formats, words that can be read,
and reuse that leaves traces.
"""

import io
import os
import random
import re
import shutil
import subprocess
import zlib

import pytest
from PIL import Image, ImageChops, ImageStat

from telegram_simulator.world.demo.demo import Demo
from telegram_simulator.world.drawing import SCENES, draw
from telegram_simulator.world.files import FRAMES_PER_SECOND, make_file
from telegram_simulator.world.post import Document, Drawing, File, FileKind, Photo

NOW = 1_794_700_000
ONE_THREAD = {**os.environ, "OMP_THREAD_LIMIT": "1"}
LINES = ("Старый мост: проезд закрыт", "Объезд 12 дней")


@pytest.fixture(scope="module")
def files() -> list[File]:
    """The drawn files of two days of the demo."""
    demo = Demo(seed=1, present=NOW, clock=lambda: NOW, days=2)
    media = [
        past.post(number, number + 1).media for past in demo.pasts for number in range(1, len(past.posts))
    ]
    return [file.file for file in media if isinstance(file, Photo | Document)]


def file_of(kind: FileKind, size: int, *, scene: str = "map", lines: tuple[str, ...] = LINES) -> File:
    return File(
        7,
        kind,
        size,
        2,
        width=640,
        height=400,
        drawing=Drawing(scene, lines, 5),
        seconds=3.0 if kind is FileKind.MP4 else 1.0,
    )


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower().replace("ё", "е")))


@pytest.mark.skipif(
    shutil.which("tesseract") is None,
    reason="tesseract is not installed (apt-get install tesseract-ocr tesseract-ocr-rus)",
)
def test_tesseract_reads_four_fifths_of_the_words_on_clean_pictures(
    files: list[File], request: pytest.FixtureRequest
) -> None:
    clean = [
        file
        for file in files
        if file.kind is FileKind.JPEG and file.drawing is not None and file.drawing.change == "original"
    ]
    wanted = read = 0
    for file in random.Random(1).sample(clean, 100 if request.config.getoption("full") else 6):
        assert file.drawing is not None
        recognized = subprocess.run(
            ["tesseract", "-", "-", "-l", "rus+eng"],
            input=make_file(file),
            capture_output=True,
            check=True,
            env=ONE_THREAD,
        ).stdout
        drawn = words(" ".join(file.drawing.lines))
        wanted, read = wanted + len(drawn), read + len(drawn & words(recognized.decode()))
    assert read / wanted >= 0.8


@pytest.mark.parametrize("kind", [FileKind.JPEG, FileKind.PNG, FileKind.WEBP, FileKind.GIF])
@pytest.mark.parametrize("scene", sorted(SCENES))
def test_every_scene_is_a_picture_of_its_format(kind: FileKind, scene: str) -> None:
    made = make_file(file_of(kind, 250_000, scene=scene))
    with Image.open(io.BytesIO(made)) as picture:
        assert (picture.format, picture.size) == (kind.partition("/")[2].upper(), (640, 400))
        moves = kind is FileKind.GIF and scene not in {"notice", "paper", "screenshot"}
        assert getattr(picture, "n_frames", 1) == (FRAMES_PER_SECOND if moves else 1)
    assert made == make_file(file_of(kind, 250_000, scene=scene))


@pytest.mark.parametrize("change", ["recompressed", "cropped", "watermarked"])
def test_a_picture_that_was_taken_over_is_the_same_to_the_eye_and_another_to_the_byte(change: str) -> None:
    original = draw(Drawing("photo", LINES, 5), 640, 400)
    changed = draw(Drawing("photo", LINES, 5, change, "@srochno_24"), 640, 400)
    other = draw(Drawing("photo", LINES, 6), 640, 400)

    def distance(compared: Image.Image) -> float:
        small = [picture.convert("L").resize((16, 10)) for picture in (original, compared)]
        difference = ImageChops.difference(*small)
        return ImageStat.Stat(difference).mean[0]

    assert original.tobytes() != changed.tobytes()
    assert distance(changed) < distance(other) / 2


def test_a_film_has_frames_that_can_be_taken_out(files: list[File]) -> None:
    film = next(file for file in files if file.kind is FileKind.MP4 and file.drawing is not None)
    made = make_file(film)
    assert made[4:8] == b"ftyp"
    start = made.index(b"mdat") + 4
    table = made.index(b"stsz") + 12
    count = int.from_bytes(made[table : table + 4], "big")
    assert count == film.seconds * FRAMES_PER_SECOND
    sizes = [
        int.from_bytes(made[table + 4 * place : table + 4 * place + 4], "big")
        for place in range(1, count + 1)
    ]
    for size in sizes:
        with Image.open(io.BytesIO(made[start : start + size])) as frame:
            assert frame.size == (640, 400)
        start += size


def test_text_can_be_taken_out_of_a_paper() -> None:
    """With the page's own table of letters, as a reader of PDFs does it."""
    made = make_file(
        file_of(
            FileKind.PDF,
            450_000,
            lines=("Слит план мэрии Туманска", "План касается 120 домов.", "Plan: 120 houses"),
        )
    )
    places = [int(place) for place in re.findall(rb"(\d{10}) 00000 n", made)]
    assert [made[place:].split(b" ", 1)[0] for place in places] == [b"%d" % number for number in range(1, 10)]
    streams = [
        zlib.decompress(packed)
        for packed in re.findall(rb"/FlateDecode >>\nstream\n(.*?)\nendstream", made, re.DOTALL)
    ]
    page, letters = streams[0].decode(), streams[1].decode()
    meaning = {
        glyph: bytes.fromhex(code).decode("utf-16-be")
        for glyph, code in re.findall(r"<(\w{4})> <(\w{4})>", letters)
    }
    lines = [
        "".join(meaning[glyph] for glyph in re.findall("....", glyphs))
        for glyphs in re.findall(r"<(\w+)> Tj", page)
    ]
    assert lines == ["Слит план мэрии Туманска", "План касается 120 домов.", "Plan: 120 houses"]


def test_no_file_is_larger_than_its_post_promises(files: list[File]) -> None:
    for file in random.Random(2).sample(files, 25):
        assert len(make_file(file)) == file.size
