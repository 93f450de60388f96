"""Bytes of files: really JPEG, PNG, WebP, GIF, MP4 and PDF, always the same,
of exactly the size that the post promised.
"""

import hashlib
import io
import struct
from collections import OrderedDict

from PIL import Image, ImageDraw

from telegram_simulator.world.drawing import draw
from telegram_simulator.world.paper import paper
from telegram_simulator.world.post import File, FileKind

FRAMES_PER_SECOND = 4
MAX_KEPT_BYTES = 64 * 1024 * 1024


class Files:
    """Makes files, and keeps the last ones it made: a file is asked for piece by piece."""

    def __init__(self) -> None:
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._kept_bytes = 0

    def read(self, file: File, offset: int, limit: int) -> bytes:
        return self.whole(file)[offset : offset + limit]

    def whole(self, file: File) -> bytes:
        if file.file_id in self._cache:
            self._cache.move_to_end(file.file_id)
            return self._cache[file.file_id]
        content = make_file(file)
        self._cache[file.file_id] = content
        self._kept_bytes += len(content)
        while self._kept_bytes > MAX_KEPT_BYTES and len(self._cache) > 1:
            _, dropped_bytes = self._cache.popitem(last=False)
            self._kept_bytes -= len(dropped_bytes)
        return content


def make_file(file: File) -> bytes:
    """The file's bytes, filled up to its size in a way that its format allows."""
    match file.kind:
        case FileKind.MP4:
            content = _mp4(_frames(file, round(file.seconds * FRAMES_PER_SECOND)), file)
        case FileKind.PDF:
            content = (
                _save_picture(_picture(file), "PDF") if file.drawing is None else paper(file.drawing.lines)
            )
        case FileKind.GIF if file.drawing is not None:
            content = _moving(_frames(file, FRAMES_PER_SECOND))
        case _:
            content = _save_picture(_picture(file), file.kind.partition("/")[2].upper())
    missing_bytes = file.size - len(content)
    if missing_bytes < 0:
        raise ValueError(
            f"a file of {file.size} bytes is too small for a {file.kind} of {file.width}x{file.height}"
        )
    if file.kind is FileKind.MP4 and missing_bytes >= 8:
        return content + struct.pack(">I4s", missing_bytes, b"free") + _noise(file, missing_bytes - 8)
    if file.kind is FileKind.PDF:
        return (
            content + b"%" + _noise(file, missing_bytes).hex().encode()[: missing_bytes - 1]
            if missing_bytes
            else content
        )
    return content + _noise(file, missing_bytes)  # readers of pictures stop at the picture's end


def _noise(file: File, size: int) -> bytes:
    return hashlib.shake_128(str(file.file_id).encode()).digest(size)


def _frames(file: File, count: int) -> list[Image.Image]:
    if file.drawing is None:
        return [_picture(file)]
    return [draw(file.drawing, file.width, file.height, moment=number / count) for number in range(count)]


def _picture(file: File) -> Image.Image:
    if file.drawing is not None:
        return draw(file.drawing, file.width, file.height)
    first_colour, second = (tuple(_noise(file, 6)[at : at + 3]) for at in (0, 3))
    image = Image.new("RGB", (file.width, file.height), first_colour)
    pen = ImageDraw.Draw(image)
    for number in range(8):
        corner = _noise(file, 64)[number * 4 : number * 4 + 4]
        x, y = corner[0] * file.width // 256, corner[1] * file.height // 256
        pen.rectangle((x, y, x + corner[2] // 2, y + corner[3] // 4), fill=second)
    pen.text((8, 8), f"file {file.file_id % 10**6}", fill=(255, 255, 255))
    return image


def _save_picture(picture: Image.Image, image_format: str) -> bytes:
    out = io.BytesIO()
    options = {"resolution": 72.0, "creationDate": None, "modDate": None} if image_format == "PDF" else {}
    picture.save(out, image_format, **options)
    return out.getvalue()


def _moving(pictures: list[Image.Image]) -> bytes:
    out = io.BytesIO()
    first_picture, *later_pictures = [
        picture.quantize(64, method=Image.Quantize.FASTOCTREE) for picture in pictures
    ]
    first_picture.save(
        out, "GIF", save_all=True, append_images=later_pictures, duration=1000 // len(pictures), loop=0
    )
    return out.getvalue()


def _mp4(pictures: list[Image.Image], file: File) -> bytes:
    """A short film: frames of motion JPEG in an ISO container."""
    frames = [_save_picture(picture, "JPEG") for picture in pictures]
    start = _box(b"ftyp", b"isom" + struct.pack(">I", 512) + b"isomiso2mp41")
    moov = _moov(file, [len(frame) for frame in frames], len(start) + 8)
    return start + _box(b"mdat", b"".join(frames)) + moov


def _box(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content) + 8, name) + content


def _full_box(name: bytes, content: bytes, flags: int = 0) -> bytes:
    return _box(name, struct.pack(">I", flags) + content)


def _moov(file: File, frame_sizes: list[int], frames_at: int) -> bytes:
    matrix = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
    second, frame_count = 1000, len(frame_sizes)
    length = round(file.seconds * second)
    mvhd = _full_box(
        b"mvhd",
        struct.pack(">4I", 0, 0, second, length)
        + struct.pack(">IH10x", 0x10000, 0x100)
        + matrix
        + bytes(24)
        + struct.pack(">I", 2),
    )
    tkhd = _full_box(
        b"tkhd",
        struct.pack(">5I8x", 0, 0, 1, 0, length)
        + struct.pack(">hhhH", 0, 0, 0, 0)
        + matrix
        + struct.pack(">II", file.width << 16, file.height << 16),
        flags=3,
    )
    mdhd = _full_box(b"mdhd", struct.pack(">4IHH", 0, 0, second, length, 0x55C4, 0))
    hdlr = _full_box(b"hdlr", struct.pack(">I4s12x", 0, b"vide") + b"video\0")
    jpeg = struct.pack(
        ">6xH16xHHIIIH32sHh", 1, file.width, file.height, 0x480000, 0x480000, 0, 1, b"\x04jpeg", 24, -1
    )
    stsd = _full_box(b"stsd", struct.pack(">I", 1) + _box(b"jpeg", jpeg))
    tables = (
        stsd
        + _full_box(b"stts", struct.pack(">III", 1, frame_count, length // frame_count))
        + _full_box(b"stsc", struct.pack(">IIII", 1, 1, frame_count, 1))
        + _full_box(b"stsz", struct.pack(f">II{frame_count}I", 0, frame_count, *frame_sizes))
        + _full_box(b"stco", struct.pack(">II", 1, frames_at))
    )
    dinf = _box(b"dinf", _full_box(b"dref", struct.pack(">I", 1) + _full_box(b"url ", b"", flags=1)))
    minf = _box(b"minf", _full_box(b"vmhd", bytes(8), flags=1) + dinf + _box(b"stbl", tables))
    return _box(b"moov", mvhd + _box(b"trak", tkhd + _box(b"mdia", mdhd + hdlr + minf)))
