"""Pictures of strangers: what is made of them, and what becomes of those that mean harm."""

import io
import struct
import time
import zlib
from collections.abc import AsyncIterator

import pytest
from PIL import Image, ImageDraw

from telegram_assistant.ai.picture_readers import PictureReaders
from telegram_assistant.ai.protocols import Picture
from telegram_assistant.errors import ProviderFailed


@pytest.fixture(scope="module")
async def readers() -> AsyncIterator[PictureReaders]:
    running = PictureReaders(at_once=1)
    yield running
    await running.close()


def written(image: Image.Image, form: str, **more: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **more)
    return out.getvalue()


def striped(size: tuple[int, int] = (200, 100), mode: str = "RGB") -> Image.Image:
    image = Image.new(mode, size, "white")
    for number in range(0, size[0], 20):
        ImageDraw.Draw(image).rectangle((number, 0, number + 9, size[1]), fill="navy")
    return image


def shown(picture: Picture) -> Image.Image:
    return Image.open(io.BytesIO(picture.data))


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
async def test_what_providers_take_is_left_as_it_is(readers: PictureReaders, form: str) -> None:
    data = written(striped(), form)
    opened = await readers.open(data)
    assert (opened.picture.data, opened.picture.mime, opened.width, opened.height) == (data, f"image/{form.lower()}", 200, 100)


@pytest.mark.parametrize("form", ["WEBP", "GIF", "BMP", "TIFF"])
async def test_everything_else_becomes_jpeg(readers: PictureReaders, form: str) -> None:
    opened = await readers.open(written(striped(), form))
    assert opened.picture.mime == "image/jpeg"
    assert (shown(opened.picture).format, shown(opened.picture).size) == ("JPEG", (200, 100))


async def test_of_a_film_the_first_frame_that_shows_something_is_taken(readers: PictureReaders) -> None:
    dark = Image.new("RGB", (200, 100), "black")
    opened = await readers.open(written(dark, "GIF", save_all=True, append_images=[dark.copy(), striped()], duration=100))
    assert shown(opened.picture).convert("L").getextrema() != (0, 0)


async def test_what_is_transparent_stands_on_white(readers: PictureReaders) -> None:
    opened = await readers.open(written(Image.new("RGBA", (100, 100), (0, 0, 0, 0)), "WEBP"))
    assert shown(opened.picture).getpixel((50, 50)) == (255, 255, 255)


async def test_large_pictures_become_smaller_and_what_cameras_write_is_left_out(readers: PictureReaders) -> None:
    assert shown((await readers.open(written(striped((5000, 1000)), "JPEG"))).picture).size == (2000, 400)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Camera of Ivan"
    opened = await readers.open(written(striped(), "JPEG", exif=exif))
    assert b"Ivan" not in opened.picture.data
    assert shown(opened.picture).size == (100, 200)  # upright


def huge_png(side: int) -> bytes:
    """It claims to be enormous, and its data go on for ever."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(20_000_000), 9)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        b"\xff\xd8\xff\xe0" + b"\x00" * 100,
        written(striped(), "PNG")[:120],
        written(striped(), "WEBP")[:60],
        huge_png(60_000),
        huge_png(7_000),
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(/etc/passwd) (r) file\n",
        b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
    ],
)
async def test_what_is_broken_or_means_harm_is_refused_and_the_next_picture_is_read(readers: PictureReaders, data: bytes) -> None:
    with pytest.raises(ProviderFailed, match="refused"):
        await readers.open(data)
    assert (await readers.open(written(striped(), "JPEG"))).width == 200


async def test_a_picture_that_takes_too_long_costs_only_its_reader() -> None:
    slow = written(Image.new("1", (7000, 7000)), "PNG")  # a few kilobytes, and 49 million pixels to look at
    readers = PictureReaders(at_once=1, longest_seconds=0.2)
    try:
        began = time.monotonic()
        with pytest.raises(ProviderFailed, match="late: opening it takes longer"):
            await readers.open(slow)
        assert time.monotonic() - began < 10
        assert (await readers.open(written(striped((20, 20)), "JPEG"))).width == 20
    finally:
        await readers.close()
