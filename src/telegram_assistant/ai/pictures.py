"""Pictures as providers take them: webp and gif become jpeg."""

import asyncio
import io

from PIL import Image

from telegram_assistant.ai.protocols import Picture
from telegram_assistant.domain.understanding import Failure
from telegram_assistant.errors import ProviderFailed

MOST_PIXELS = 50_000_000
QUALITY = 90
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")


async def as_jpeg(picture: Picture) -> Picture:
    """The first frame. ProviderFailed for what is no picture, or one that would fill the memory."""
    return Picture(await asyncio.to_thread(_convert, picture.data), "image/jpeg")


def _convert(data: bytes) -> bytes:
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ProviderFailed(Failure.REFUSED, "the picture has too many pixels")
            written = io.BytesIO()
            image.convert("RGB").save(written, "JPEG", quality=QUALITY)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ProviderFailed(Failure.REFUSED, "this is no picture that can be read") from error
    return written.getvalue()
