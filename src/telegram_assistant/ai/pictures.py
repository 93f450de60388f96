"""Sanitises strangers' pictures: refuses large or broken ones, and re-encodes the others for providers and
OCR, or as thumbnails.

Runs as a separate process, which `picture_readers` starts and kills: a decoder that crashes affects nothing
else.
"""

import io
import json
import resource
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from PIL import Image, ImageOps, ImageSequence

MAX_PIXELS = 50_000_000
MAX_MEMORY_BYTES = 1_000_000_000
MAX_SIDE = 2000
"""Models see no more in a larger picture; it would only cost more."""
MAX_FRAMES = 20
QUALITY = 90
THUMBNAIL_QUALITY = 80
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
COARSE, FINE = 8, 16


class NoPicture(Exception):
    """The data is no usable picture; the message says why."""


class OversizedPicture(NoPicture):
    """It would exceed a limit."""


@dataclass(frozen=True, slots=True)
class SanitizedPicture:
    """A re-encoded picture, which contains no block of the original.

    `width` and `height` are those of the original.
    """

    width: int
    height: int
    coarse: int
    fine: int
    mime: str
    data: bytes


def make(data: bytes) -> SanitizedPicture:
    """The first good frame, upright, of a limited size and without metadata."""
    with _open(data) as image:
        return _sanitize(image)


def shrink(data: bytes, max_side: int) -> bytes:
    """The same as a thumbnail: a JPEG whose longer side has at most so many pixels."""
    with _open(data) as image:
        output = io.BytesIO()
        _upright(image, max_side).save(output, "JPEG", quality=THUMBNAIL_QUALITY)
        return output.getvalue()


@contextmanager
def _open(data: bytes) -> Iterator[Image.Image]:
    """Raises NoPicture for everything that goes wrong before the picture is closed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the limits are ours
            Image.MAX_IMAGE_PIXELS = None
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                yield image
    except NoPicture:
        raise
    except MemoryError as error:
        raise OversizedPicture("it takes too much memory") from error
    except Exception as error:
        raise NoPicture("this is no picture that can be read") from error


def _sanitize(image: Image.Image) -> SanitizedPicture:
    width, height = image.size
    is_exact = image.format == "PNG" and getattr(image, "n_frames", 1) == 1 and max(width, height) <= MAX_SIDE
    frame = _upright(image, MAX_SIDE)
    output = io.BytesIO()
    if is_exact:
        frame.save(output, "PNG")
        return SanitizedPicture(width, height, *_look(frame), "image/png", output.getvalue())
    frame.save(output, "JPEG", quality=QUALITY)
    return SanitizedPicture(width, height, *_look(frame), "image/jpeg", output.getvalue())


def _upright(image: Image.Image, max_side: int) -> Image.Image:
    """The first good frame, as people see it, without metadata."""
    if image.width * image.height > MAX_PIXELS:
        raise OversizedPicture("it has too many pixels")
    image.draft("RGB", (max_side, max_side))
    frame = _opaque(ImageOps.exif_transpose(_first_good(image)))
    frame.thumbnail((max_side, max_side))
    frame.info = {}  # comments and profiles, which Pillow would write again
    return frame


def _first_good(image: Image.Image) -> Image.Image:
    """The first frame that is not of one colour, because films begin dark."""
    first_good_frame: Image.Image | None = None
    for frame in _frames(image):
        first_good_frame = first_good_frame or frame
        grey = frame.convert("L").getextrema()
        if grey[0] != grey[1]:
            return frame
    if first_good_frame is None:
        raise NoPicture("it has no frame")
    return first_good_frame


def _frames(image: Image.Image) -> Iterator[Image.Image]:
    """Yields frames up to the first broken one; the frames before it are usable."""
    frame_count = 0
    frames = iter(ImageSequence.Iterator(image))
    while frame_count < MAX_FRAMES:
        try:
            frame = next(frames).convert("RGBA" if image.has_transparency_data else "RGB")
        except StopIteration:
            return
        except Exception:
            if not frame_count:
                raise
            return
        frame_count += 1
        yield frame


def _opaque(image: Image.Image) -> Image.Image:
    """The picture on a white background, as people see it."""
    if image.mode != "RGBA":
        return image.convert("RGB")
    ground = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(ground, image).convert("RGB")


def _look(image: Image.Image) -> tuple[int, int]:
    grey = image.convert("L")
    return _brighter(grey, COARSE), _brighter(grey, FINE)


def _brighter(grey: Image.Image, side: int) -> int:
    """A bit for each point of a grid: whether its right neighbour is brighter (a difference hash)."""
    points = grey.resize((side + 1, side), Image.Resampling.BOX).tobytes()
    bit_count = 0
    for row in range(0, len(points), side + 1):
        for index in range(row, row + side):
            bit_count = bit_count << 1 | (points[index] < points[index + 1])
    return bit_count


def _answer(data: bytes, max_side: int | None) -> tuple[dict[str, object], bytes]:
    try:
        if max_side is not None:
            thumbnail = shrink(data, max_side)
            return {"size": len(thumbnail)}, thumbnail
        sanitized_picture = make(data)
    except NoPicture as error:
        return {"why": str(error), "is_oversized": isinstance(error, OversizedPicture)}, b""
    header = {
        "width": sanitized_picture.width,
        "height": sanitized_picture.height,
        "coarse": sanitized_picture.coarse,
        "fine": str(sanitized_picture.fine),
        "mime": sanitized_picture.mime,
        "size": len(sanitized_picture.data),
    }
    return header, sanitized_picture.data


def main() -> None:
    """Reads pictures from standard input, each a line and then its bytes; writes a line of JSON and the
    result for each.

    The line says how many bytes follow and, if a thumbnail is wanted, how many pixels its longer side may
    have.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    Image.preinit()
    out = sys.stdout.buffer
    out.write(b"ready\n")
    out.flush()
    for line in sys.stdin.buffer:
        size, *max_side = map(int, line.split())
        header, body = _answer(sys.stdin.buffer.read(size), max_side[0] if max_side else None)
        out.write(json.dumps(header).encode() + b"\n" + body)
        out.flush()


if __name__ == "__main__":
    main()
