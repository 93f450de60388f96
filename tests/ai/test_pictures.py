"""Pictures of strangers: what is made of them, and what becomes of those that mean harm."""

import io
import struct
import time
import zlib
from collections.abc import AsyncIterator

import pytest
from PIL import Image, ImageChops, ImageDraw
from PIL.PngImagePlugin import PngInfo

from telegram_assistant.ai.picture_readers import PictureReaders
from telegram_assistant.ai.protocols import Picture
from telegram_assistant.domain.understanding.policy import ProviderFailed

JFIF, QUANTISATION, HUFFMAN, BASELINE, START_OF_SCAN = 0xE0, 0xDB, 0xC4, 0xC0, 0xDA


@pytest.fixture(scope="module")
async def readers() -> AsyncIterator[PictureReaders]:
    running = PictureReaders(at_once=1)
    yield running
    await running.close()


def encode_image(image: Image.Image, form: str, **more: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **more)
    return out.getvalue()


def draw_stripes(size: tuple[int, int] = (200, 100), mode: str = "RGB") -> Image.Image:
    image = Image.new(mode, size, "white")
    for number in range(0, size[0], 20):
        ImageDraw.Draw(image).rectangle((number, 0, number + 9, size[1]), fill="navy")
    return image


def open_picture(picture: Picture) -> Image.Image:
    return Image.open(io.BytesIO(picture.data))


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
async def test_what_providers_take_stays_what_it_is(readers: PictureReaders, form: str) -> None:
    opened = await readers.open(encode_image(draw_stripes(), form))
    assert (opened.picture.mime, opened.width, opened.height) == (f"image/{form.lower()}", 200, 100)
    apart = ImageChops.difference(open_picture(opened.picture).convert("L"), draw_stripes().convert("L"))
    assert max(apart.tobytes()) <= (0 if form == "PNG" else 60)


GPS = b"<x:xmpmeta><exif:GPSLatitude>55,45.3N</exif:GPSLatitude></x:xmpmeta> hidden"


def jpeg_with_everything() -> bytes:
    """Blocks of every kind that Pillow writes, one that it does not know, and bytes after the end."""
    exif = Image.Exif()
    exif[0x010E] = "hidden"
    data = encode_image(
        draw_stripes(), "JPEG", exif=exif, xmp=GPS, comment=b"hidden", icc_profile=b"hidden" * 40
    )
    own = b"hidden"
    unknown = b"\xff\xec" + struct.pack(">H", len(own) + 2) + own
    return data[:2] + unknown + data[2:] + b"hidden after the end"


def png_with_everything() -> bytes:
    about, exif = PngInfo(), Image.Exif()
    exif[0x010E] = "hidden"
    about.add_text("Comment", "hidden")
    about.add_text("More", "hidden", zip=True)
    about.add_itxt("XML:com.adobe.xmp", GPS.decode())
    about.add(b"prVt", b"hidden")
    return (
        encode_image(draw_stripes(), "PNG", pnginfo=about, exif=exif, icc_profile=b"hidden" * 40)
        + b"hidden after the end"
    )


def jpeg_blocks(data: bytes) -> list[int]:
    """The markers up to the picture's points."""
    at, markers = 2, []
    while data[at + 1] != START_OF_SCAN:
        markers.append(data[at + 1])
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return markers


def png_blocks(data: bytes) -> list[bytes]:
    at, kinds = 8, []
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        kinds.append(kind)
        at += 12 + size
    return kinds


async def test_small_pictures_lose_every_block_that_is_not_the_picture(readers: PictureReaders) -> None:
    jpeg = (await readers.open(jpeg_with_everything())).picture.data
    assert set(jpeg_blocks(jpeg)) <= {JFIF, QUANTISATION, HUFFMAN, BASELINE}
    assert jpeg.endswith(b"\xff\xd9")
    png = (await readers.open(png_with_everything())).picture.data
    assert set(png_blocks(png)) == {b"IHDR", b"IDAT", b"IEND"}
    assert b"hidden" not in jpeg + png


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
async def test_png_of_every_kind_can_be_seen_afterwards(readers: PictureReaders, mode: str) -> None:
    picture = (
        await readers.open(
            encode_image(
                draw_stripes().convert("L").convert(mode) if mode == "I;16" else draw_stripes().convert(mode),
                "PNG",
            )
        )
    ).picture
    assert min(open_picture(picture).convert("L").tobytes()) < 200


@pytest.mark.parametrize("form", ["WEBP", "GIF", "BMP", "TIFF"])
async def test_everything_else_becomes_jpeg(readers: PictureReaders, form: str) -> None:
    opened = await readers.open(encode_image(draw_stripes(), form))
    assert opened.picture.mime == "image/jpeg"
    assert (open_picture(opened.picture).format, open_picture(opened.picture).size) == ("JPEG", (200, 100))


async def test_of_a_film_the_first_frame_that_shows_something_is_taken(readers: PictureReaders) -> None:
    dark = Image.new("RGB", (200, 100), "black")
    opened = await readers.open(
        encode_image(dark, "GIF", save_all=True, append_images=[dark.copy(), draw_stripes()], duration=100)
    )
    assert open_picture(opened.picture).convert("L").getextrema() != (0, 0)


async def test_what_is_transparent_stands_on_white(readers: PictureReaders) -> None:
    opened = await readers.open(encode_image(Image.new("RGBA", (100, 100), (0, 0, 0, 0)), "WEBP"))
    assert open_picture(opened.picture).getpixel((50, 50)) == (255, 255, 255)


async def test_large_pictures_become_smaller_and_what_cameras_write_is_left_out(
    readers: PictureReaders,
) -> None:
    assert open_picture(
        (await readers.open(encode_image(draw_stripes((5000, 1000)), "JPEG"))).picture
    ).size == (2000, 400)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Camera of Ivan"
    opened = await readers.open(encode_image(draw_stripes(), "JPEG", exif=exif))
    assert b"Ivan" not in opened.picture.data
    assert open_picture(opened.picture).size == (100, 200)  # upright


def huge_png(side: int) -> bytes:
    """It claims to be enormous, and its data go on for ever."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(20_000_000), 9))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        b"\xff\xd8\xff\xe0" + b"\x00" * 100,
        encode_image(draw_stripes(), "PNG")[:120],
        encode_image(draw_stripes(), "WEBP")[:60],
        huge_png(60_000),
        huge_png(7_000),
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(/etc/passwd) (r) file\n",
        b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
    ],
)
async def test_what_is_broken_or_means_harm_is_refused_and_the_next_picture_is_read(
    readers: PictureReaders, data: bytes
) -> None:
    with pytest.raises(ProviderFailed, match="refused"):
        await readers.open(data)
    assert (await readers.open(encode_image(draw_stripes(), "JPEG"))).width == 200


async def test_a_picture_that_takes_too_long_costs_only_its_reader() -> None:
    slow = encode_image(
        Image.new("1", (7000, 7000)), "PNG"
    )  # a few kilobytes, and 49 million pixels to look at
    readers = PictureReaders(at_once=1, max_seconds=0.2)
    try:
        began = time.monotonic()
        with pytest.raises(ProviderFailed, match="late: opening it takes longer"):
            await readers.open(slow)
        assert time.monotonic() - began < 10
        assert (await readers.open(encode_image(draw_stripes((20, 20)), "JPEG"))).width == 20
    finally:
        await readers.close()
