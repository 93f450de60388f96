"""Thumbnails of stored pictures: made when somebody first looks, in a sandboxed process,
and kept in the store.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from telegram_assistant.ai.picture_readers import PictureReaders
from telegram_assistant.domain.media.content_types import FIRST_BYTES, sniff_content_type
from telegram_assistant.domain.media.showing import NoThumbnail, ThumbnailKey
from telegram_assistant.domain.media.vision import MAX_BYTES
from telegram_assistant.errors import Busy
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.files import Files

AT_ONCE = 2
"""Each holds a whole file in memory."""
MAX_UNDER_WAY = 500
MAX_SECONDS = 30.0
RETRY_AFTER_SECONDS = 5.0
FAILED_SECONDS = 600.0
"""How long a picture without a thumbnail is not tried again:
it may cost a reader ten seconds and its life.
"""
MAX_FAILED = 10_000
TOO_MANY = Reason("too_many_thumbnails", "too many thumbnails are being created")


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why there is no thumbnail. The error itself would keep the picture's bytes in memory."""

    until: float
    """On the clock of the event loop."""
    why: str
    may_show_original: bool


class Thumbnails:
    """One per process. Those who want the same thumbnail at the same time share its making."""

    def __init__(
        self, files: Files, picture_readers: PictureReaders, *, max_seconds: float = MAX_SECONDS
    ) -> None:
        self._files = files
        self._picture_readers = picture_readers
        self._max_seconds = max_seconds
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._under_way: dict[ThumbnailKey, asyncio.Task[bytes]] = {}
        self._failed: dict[ThumbnailKey, _Failure] = {}

    async def get(self, key: ThumbnailKey) -> bytes:
        """A JPEG. Raises NoThumbnail, Rejected if the file is not in the store, and Busy if it must be tried
        again later.

        A caller that leaves does not stop the work: the next caller finds the thumbnail.
        """
        if (thumbnail := await self._files.thumbnail(key)) is not None:
            return thumbnail
        if (
            failure := self._failed.get(key)
        ) is not None and asyncio.get_running_loop().time() < failure.until:
            raise NoThumbnail(failure.why, may_show_original=failure.may_show_original)
        if key not in self._under_way:
            self._start(key)
        try:
            async with asyncio.timeout(self._max_seconds):
                return await asyncio.shield(self._under_way[key])
        except TimeoutError as error:
            raise Busy(TOO_MANY, retry_after_seconds=RETRY_AFTER_SECONDS) from error

    def _start(self, key: ThumbnailKey) -> None:
        if len(self._under_way) >= MAX_UNDER_WAY:
            raise Busy(TOO_MANY, retry_after_seconds=RETRY_AFTER_SECONDS)
        task = self._under_way[key] = asyncio.create_task(self._make(key))
        task.add_done_callback(partial(self._end, key))

    async def _make(self, key: ThumbnailKey) -> bytes:
        async with self._turns:
            first_bytes, size_bytes = await self._files.first_bytes(key.sha256, FIRST_BYTES)
            if not sniff_content_type(first_bytes).is_picture:
                raise NoThumbnail("it is no picture")
            if size_bytes > MAX_BYTES:
                raise NoThumbnail("it is too large")
            original = b"".join(
                [piece async for piece in self._files.read_range(key.sha256, 0, size_bytes - 1)]
            )
            thumbnail = await self._picture_readers.shrink(original, max_side=key.size.max_side)
            with suppress(Busy):  # on a full disk it is shown all the same, and made again for the next one
                await self._files.put_thumbnail(key, thumbnail)
        return thumbnail

    def _end(self, key: ThumbnailKey, task: asyncio.Task[bytes]) -> None:
        del self._under_way[key]
        if task.cancelled() or not isinstance(error := task.exception(), NoThumbnail):
            return
        if len(self._failed) >= MAX_FAILED:
            del self._failed[next(iter(self._failed))]
        until = asyncio.get_running_loop().time() + FAILED_SECONDS
        self._failed[key] = _Failure(until, str(error), may_show_original=error.may_show_original)

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
