"""The files of posts for people: the original, or a thumbnail.

Row-level security decides first whether there is anything to see.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.media.content_types import (
    FIRST_BYTES,
    ContentType,
    safe_file_name,
    sniff_content_type,
)
from telegram_assistant.domain.media.files import MediaState
from telegram_assistant.domain.media.showing import (
    MediaUnavailable,
    NoThumbnail,
    ThumbnailKey,
    ThumbnailSize,
    Unavailability,
    unavailable,
)
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.media.thumbnails import Thumbnails
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.files import Files
from telegram_assistant.stores.postgres.stores import TenantStores

NO_FILE = Reason("media_unknown", "your channels have no such file")
SMALL_BYTES = 1_000_000
"""A picture below this size may be shown itself where its thumbnail cannot be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedMedia:
    """A file that can be read, or its thumbnail."""

    etag: str
    """The same for the same bytes, and for no others."""
    size_bytes: int
    content_type: ContentType
    download_name: str
    """Safe as a file name; not yet as a header."""
    is_private: bool
    """Whether its channel is private."""
    read: Callable[[int, int], AsyncIterator[bytes]]
    """Reads from the first to the last byte, both included.

    Raises Busy or Rejected if the store loses it meanwhile.
    """


@dataclass(frozen=True, slots=True)
class _StoredFile:
    """A file that the tenant may see and whose bytes are stored."""

    post_id: PostId
    ordinal: int
    sha256: bytes
    file_name: str | None
    is_private: bool

    def name(self, content_type: ContentType) -> str:
        return safe_file_name(
            self.file_name,
            content_type,
            otherwise=f"{self.post_id.channel_id}-{self.post_id.message_id}-{self.ordinal}",
        )


async def open_media(
    post_id: PostId, ordinal: int, *, stores: TenantStores, files: Files | None
) -> OpenedMedia:
    """Opens a file of a post.

    Raises Missing if the tenant does not see it, MediaUnavailable if it is not stored, Busy while the store
    is away.
    """
    file = await _find(post_id, ordinal, stores)
    if files is None:
        raise MediaUnavailable(Unavailability.NO_PLACE)
    return await _open_original(file, files)


async def open_thumbnail(
    post_id: PostId,
    ordinal: int,
    size: ThumbnailSize,
    *,
    stores: TenantStores,
    files: Files | None,
    thumbnails: Thumbnails | None,
) -> OpenedMedia:
    """Opens a thumbnail like `open_media`.

    A small picture in a format that only browsers can read is shown itself.
    """
    file = await _find(post_id, ordinal, stores)
    if files is None or thumbnails is None:
        raise MediaUnavailable(Unavailability.NO_PLACE)
    try:
        thumbnail = await thumbnails.get(ThumbnailKey(file.sha256, size))
    except NoThumbnail as error:
        if (
            error.may_show_original
            and (original := await _open_original(file, files)).size_bytes < SMALL_BYTES
        ):
            return original
        raise MediaUnavailable(Unavailability.NO_THUMBNAIL) from error
    except Rejected as error:
        raise MediaUnavailable(Unavailability.LOST) from error
    return OpenedMedia(
        etag=f"{file.sha256.hex()}-{size}",
        size_bytes=len(thumbnail),
        content_type=ContentType.JPEG,
        download_name=file.name(ContentType.JPEG),
        is_private=file.is_private,
        read=partial(_slice, thumbnail),
    )


async def _find(post_id: PostId, ordinal: int, stores: TenantStores) -> _StoredFile:
    file = await stores.media.showable(post_id, ordinal)
    if file is None:
        raise Missing(NO_FILE)
    if file.state is not MediaState.STORED:
        raise unavailable(file.state, file.reason)
    assert file.sha256 is not None  # a stored file has a hash
    return _StoredFile(post_id, ordinal, file.sha256, file.file_name, file.is_private)


async def _open_original(file: _StoredFile, files: Files) -> OpenedMedia:
    try:
        first_bytes, size_bytes = await files.first_bytes(file.sha256, FIRST_BYTES)
    except Rejected as error:
        raise MediaUnavailable(Unavailability.LOST) from error
    content_type = sniff_content_type(first_bytes)
    return OpenedMedia(
        etag=file.sha256.hex(),
        size_bytes=size_bytes,
        content_type=content_type,
        download_name=file.name(content_type),
        is_private=file.is_private,
        read=partial(files.read_range, file.sha256),
    )


async def _slice(data: bytes, first_byte: int, last_byte: int) -> AsyncIterator[bytes]:
    yield data[first_byte : last_byte + 1]
