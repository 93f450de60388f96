"""Opens pictures in separate sandboxed processes."""

from dataclasses import dataclass

from telegram_assistant.ai.protocols import Picture
from telegram_assistant.domain.media.showing import NoThumbnail
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.domain.understanding.policy import Failure, ProviderFailed
from telegram_assistant.isolation import IsolatedProcesses

AT_ONCE = 2
MAX_SECONDS = 10.0
MAX_PICTURES = 1000


@dataclass(frozen=True, slots=True)
class OpenedPicture:
    """A picture in a format for providers and OCR, with its size and perceptual hashes."""

    picture: Picture
    width: int
    height: int
    look: Look


class PictureReaders:
    """One per process."""

    def __init__(self, *, at_once: int = AT_ONCE, max_seconds: float = MAX_SECONDS) -> None:
        self._max_seconds = max_seconds
        self._isolated = IsolatedProcesses(
            "telegram_assistant.ai.pictures", at_once=at_once, max_seconds=max_seconds, max_uses=MAX_PICTURES
        )

    async def open(self, data: bytes) -> OpenedPicture:
        """Opens a picture. Raises ProviderFailed if it is no picture, takes too long, or kills its reader."""
        try:
            header, body = await self._isolated.ask(str(len(data)), data)
        except TimeoutError as error:
            raise ProviderFailed(
                Failure.LATE, f"opening it takes longer than {self._max_seconds:g} s"
            ) from error
        except (OSError, EOFError, ValueError) as error:
            raise ProviderFailed(Failure.REFUSED, "its reader died over it") from error
        if "why" in header:
            raise ProviderFailed(Failure.REFUSED, str(header["why"]))
        look = Look(int(header["coarse"]), int(header["fine"]))
        return OpenedPicture(
            Picture(body, str(header["mime"])), int(header["width"]), int(header["height"]), look
        )

    async def shrink(self, data: bytes, *, max_side: int) -> bytes:
        """A thumbnail of a picture, as JPEG.

        Raises NoThumbnail if it is no picture, takes too long, or kills its reader.
        """
        try:
            header, body = await self._isolated.ask(f"{len(data)} {max_side}", data)
        except TimeoutError as error:
            raise NoThumbnail(f"opening it takes longer than {self._max_seconds:g} s") from error
        except (OSError, EOFError, ValueError) as error:
            raise NoThumbnail("its reader died over it") from error
        if "why" in header:
            raise NoThumbnail(str(header["why"]), may_show_original=not header["is_oversized"])
        return body

    async def close(self) -> None:
        await self._isolated.close()
